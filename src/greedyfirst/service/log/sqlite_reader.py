"""Reading a log in an SQLite file."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.key_tables import KeyTables
from greedyfirst.service.log.sqlite_file import disk
from greedyfirst.service.log.table_reader import TableReader


class SqliteReader(TableReader):
    """A log that is only read.

    Parameters
    ----------
    path
        The file, as errors name it.
    connection
        Where it is read.
    beside
        Where long reads are done, so that others need not wait for them; there too if not given.
    """

    def __init__(
        self, path: Path, connection: apsw.Connection, beside: apsw.Connection | None = None
    ) -> None:
        self.path, self.name = path, str(path)
        self._reader, self._long_reader = connection, beside or connection
        #: A connection serves one thread at a time.
        self._reading = threading.Lock()
        self._reading_on = self._reading if beside is None else threading.Lock()

    @property
    def connection(self) -> apsw.Connection:
        """Where it is read."""
        return self._reader

    def rows(
        self, sql: str, values: tuple[object, ...] = (), *, long: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        free, connection = (
            (self._reading_on, self._long_reader) if long else (self._reading, self._reader)
        )
        with disk(self.path), free:
            found: list[tuple[Any, ...]] = connection.execute(sql, values).fetchall()
        return found

    @property
    def key_tables(self) -> KeyTables:
        """The tables of keys beside the log."""
        return KeyTables.in_file(self.rows)

    def check_storage(self) -> None:
        """SQLite's own check."""
        with disk(self.path):
            self.check_pages(self._reader, "integrity_check")

    def check_pages(self, connection: apsw.Connection, how: str) -> None:
        """Refuse a file whose pages do not fit together, by one of SQLite's own checks."""
        found = connection.pragma(how, 1)
        if found != "ok":
            raise DamagedLogError(f"{self.path} is damaged ({found}); put back a copy of it")

    def close(self) -> None:
        """Free the file."""
        with self._reading:
            self._reader.close(True)
