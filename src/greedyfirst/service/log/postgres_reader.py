"""Reading a log in a PostgreSQL database."""

from __future__ import annotations

from typing import Any

import psycopg

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.entries import Head
from greedyfirst.service.log.key_tables import KeyTables
from greedyfirst.service.log.postgres_database import PostgresUrl, database
from greedyfirst.service.log.table_reader import TableReader


class PostgresReader(TableReader):
    """A log that is only read.

    Parameters
    ----------
    url
        The database, as errors name it.
    connection
        Where it is read.
    beside
        Where long reads are done, so that others need not wait for them; there too if not given.
    """

    def __init__(
        self,
        url: PostgresUrl,
        connection: psycopg.Connection[Any],
        beside: psycopg.Connection[Any] | None = None,
    ) -> None:
        self.url, self.name = url, str(url)
        self._reader, self._long_reader = connection, beside or connection

    def rows(
        self, sql: str, values: tuple[object, ...] = (), *, long: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        connection = self._long_reader if long else self._reader
        with database(self.url):
            return connection.execute(sql.replace("?", "%s"), values, binary=True).fetchall()

    @property
    def key_tables(self) -> KeyTables:
        """The tables of keys beside the log."""
        return KeyTables(self.rows)

    def check_storage(self) -> None:
        """Refuse a log that ends before its head; PostgreSQL looks after pages by itself."""
        ((seq, kept),) = self.rows("SELECT seq, seal FROM head")
        if self.head_at(seq) != Head(seq, kept):
            raise DamagedLogError(f"{self.url} has lost its last entries; put back a copy of it")

    def close(self) -> None:
        """Leave the database."""
        self._reader.close()
        self._long_reader.close()
