"""A copy of a log in a new file, while it is made."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.backup import new_file
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.sqlite_file import APPLICATION, VERSION, disk, make_tables
from greedyfirst.service.log.sqlite_reader import SqliteReader
from greedyfirst.service.log.wal_state import begin_wal

#: What SQLite may have left of a log that was at this path.
_BESIDE = ("-wal", "-journal")


class FileCopy:
    """A log that is filled in an open file."""

    def __init__(self, target: Path, connection: apsw.Connection) -> None:
        self.reader = SqliteReader(target, connection)
        self._connection = connection

    def execute(self, sql: str, values: tuple[Any, ...]) -> object:
        """Run a statement."""
        return self._connection.execute(sql, values)

    def add_entries(self, entries: Iterable[tuple[Entry, bytes]]) -> None:
        """Add entries with their seals."""
        self._connection.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ((*entry, seal) for entry, seal in entries),
        )

    def add_key_changes(self, changes: list[tuple[int, bytes]]) -> None:
        """Add changes of keys with their numbers; the next one gets a higher number."""
        self._connection.executemany("INSERT INTO key_changes VALUES (?, ?)", changes)


@contextmanager
def new_log_file(target: Path) -> Iterator[FileCopy]:
    """A log that is filled in a file of its owner's alone.

    It takes the name ``target`` as a whole, without a ``-wal``, once that is done; else it is gone.
    """
    _refuse_taken(target)
    with new_file(target) as temporary:
        with disk(target), closing(apsw.Connection(str(temporary))) as connection:
            connection.pragma("journal_mode", "memory")  # nobody will open it half-way
            connection.pragma("synchronous", "OFF")  # it is synced as a whole
            with connection:
                make_tables(connection)
                connection.pragma("application_id", APPLICATION)
                connection.pragma("user_version", VERSION)
                identity = secrets.token_hex(16)
                connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
                yield FileCopy(target, connection)
                begin_wal(connection)
        _refuse_taken(target)  # a service may have made a log there meanwhile


def _refuse_taken(target: Path) -> None:
    """Refuse a path where something is, or where there is no folder for it."""
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {target.absolute().parent}; make it first")
    for path in (target, *(Path(f"{target}{ending}") for ending in _BESIDE)):
        if not path.exists() and not path.is_symlink():
            continue
        if path == target and _is_empty_log(path):
            raise ValueError(
                f"{path} is a log without entries and keys; take another name, or end the service "
                f"that made it and remove it: rm {path}"
            )
        raise ValueError(f"{path} is there already; take another name for the copy")


def _is_empty_log(path: Path) -> bool:
    """Whether it is a log with nothing in it, as a start of a service leaves it."""
    if not path.is_file():
        return False
    try:
        with reading(path) as log:
            return not log.last()[0] and not log.access_keys()
    except (DamagedLogError, LogFailedError):
        return False
