"""The stores that a log can be in, for tests that run on each of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
from log_entries import entries

from greedyfirst.service.log.log import Log
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.log.sqlite_log import SqliteLog
from support.postgres_server import PostgresServer


class FileStore:
    """A log in a file."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "log.db"

    def open(self, *policies: str) -> Log:
        """Open it; a file needs no leases."""
        return SqliteLog(self.place)

    def change(self, *statements: str) -> None:
        """Change it behind the log's back."""
        with sqlite3.connect(self.place) as other:
            for statement in statements:
                other.execute(statement)
        other.close()

    def unguard(self) -> None:
        """Let somebody change entries who may change the tables."""
        self.change("DROP TRIGGER entries_stay", "DROP TRIGGER entries_remain")

    error = sqlite3.Error
    text = "CAST(replace(body, 'counted', 'late') AS BLOB)"


class DatabaseStore:
    """A log in a PostgreSQL database."""

    def __init__(self, server: PostgresServer) -> None:
        self.url = server.emptied()
        self.place = PostgresUrl.parse(self.url)

    def open(self, *policies: str) -> Log:
        """Open it and take the leases of these policies."""
        log = PostgresLog(self.place)
        for policy in policies or ("p",):
            assert log.leases.take(policy)
        return log

    def change(self, *statements: str) -> None:
        """Change it behind the log's back."""
        with psycopg.connect(self.url) as other:
            other.execute("SET search_path = greedyfirst")
            for statement in statements:
                other.execute(statement)

    def unguard(self) -> None:
        """Let somebody change entries who may change the tables."""
        self.change("DROP TRIGGER entries_stay ON entries")

    error = psycopg.Error
    text = "convert_to(replace(convert_from(body, 'UTF8'), 'counted', 'late'), 'UTF8')"


Store = FileStore | DatabaseStore
Place = Path | PostgresUrl


def write(store: Store, last: int = 30) -> None:
    """Write so many entries of the policy "p"."""
    log = store.open()
    log.append(entries(1, last))
    log.close()


def has_log(place: Place) -> bool:
    """Whether anything is there."""
    if isinstance(place, Path):
        return place.exists()
    with psycopg.connect(place.conninfo) as connection:
        found = connection.execute("SELECT FROM pg_namespace WHERE nspname = 'greedyfirst'")
        return found.fetchone() is not None
