"""A copy of a log in a PostgreSQL database, while it is made: all of it in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.entries import GENESIS, Entry
from greedyfirst.service.log.postgres_database import (
    SCHEMA,
    PostgresUrl,
    connect,
    database,
    format_version,
    prepare,
    take_time,
)
from greedyfirst.service.log.postgres_reader import PostgresReader
from greedyfirst.service.log.postgres_tables import MIGRATIONS
from greedyfirst.service.log.table_reader import TableReader

_TYPES = ("int8", "float8", "text", "text", "int8", "text", "bytea", "bytea")


class PostgresCopy:
    """A log that is filled in an open transaction."""

    def __init__(self, url: PostgresUrl, connection: psycopg.Connection[Any]) -> None:
        self.reader = PostgresReader(url, connection)
        self._connection = connection

    def execute(self, sql: str, values: tuple[Any, ...]) -> object:
        """Run a statement."""
        return self._connection.execute(sql.replace("?", "%s"), values)

    def add_entries(self, entries: Iterable[tuple[Entry, bytes]]) -> None:
        """Add entries with their seals, and the head that they make."""
        last, last_seal = 0, GENESIS
        with (
            self._connection.cursor() as cursor,
            cursor.copy("COPY entries FROM STDIN (FORMAT BINARY)") as rows,
        ):
            rows.set_types(_TYPES)
            for entry, seal in entries:
                _refuse_nul(entry)
                rows.write_row((*entry, seal))
                last, last_seal = entry.seq, seal
        self.execute("UPDATE head SET seq = ?, seal = ?", (last, last_seal))
        self.execute("ANALYZE entries", ())  # what is asked of it next is planned well

    def add_key_changes(self, changes: list[tuple[int, bytes]]) -> None:
        """Add changes of keys with their numbers; the next one gets a higher number."""
        for change in changes:
            self.execute("INSERT INTO key_changes OVERRIDING SYSTEM VALUE VALUES (?, ?)", change)
        if changes:
            sequence = "pg_get_serial_sequence('key_changes', 'number')"
            self.execute(f"SELECT setval({sequence}, ?)", (changes[-1][0],))


def _refuse_nul(entry: Entry) -> None:
    """Refuse the one character that PostgreSQL has in no text."""
    if "\0" in entry.policy or "\0" in (entry.key or ""):
        where = "policy" if "\0" in entry.policy else "idempotency key"
        raise ValueError(
            f"entry {entry.seq} has the character NUL in its {where}, which PostgreSQL cannot "
            "keep; leave this log in a file"
        )


@contextmanager
def new_postgres_log(url: PostgresUrl, source: TableReader) -> Iterator[PostgresCopy]:
    """A log that is filled in a database; it is there as a whole once that is done, or not at all.

    A service that starts there meanwhile waits, and finds the whole log.
    """
    with database(url), closing(connect(url)) as connection:
        take_time(connection)
        with connection.transaction():
            _refuse_taken(connection, url, source)
            prepare(connection, url)
            yield PostgresCopy(url, connection)


def _refuse_taken(
    connection: psycopg.Connection[Any], url: PostgresUrl, source: TableReader
) -> None:
    """Refuse a database that has a log; from now on nobody else makes one until this ends."""
    found = PostgresReader(url, connection)
    ((alone,),) = found.rows("SELECT pg_try_advisory_xact_lock(hashtext(?))", (SCHEMA,))
    if not alone:
        raise LogFailedError(f"another program is making a log in {url}; see what it makes")
    version = format_version(connection, url)
    if not version:
        return
    if version > len(MIGRATIONS):
        raise DamagedLogError(f"{url} has a log of a newer release; take another database")
    of = "SELECT value FROM meta WHERE name = 'identity'"
    if isinstance(source, PostgresReader) and source.rows(of) == found.rows(of):
        raise ValueError(f"{url} is the log itself, or a dump of it; take another database")
    ((entries, keys),) = found.rows("SELECT (SELECT seq FROM head), count(*) FROM access_keys")
    if entries or keys:
        has = f"{entries} entries" if entries else "keys and no entries"
        raise ValueError(f"{url} has a log already, with {has}; take another database")
    raise ValueError(
        f"{url} has a log without entries and keys; take another database, or end the services "
        f"that use it and remove it: psql '{url}' -c 'DROP SCHEMA {SCHEMA} CASCADE'"
    )
