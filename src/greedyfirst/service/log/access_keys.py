"""The keys, as hashes in the log's file: read and changed also while a service uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from greedyfirst.service.log.sqlite_file import check_ours, disk
from greedyfirst.validation import wrong

_LONGEST_NAME = 200


class AccessKey(NamedTuple):
    """A key that somebody has."""

    name: str
    role: str
    hashed: bytes


def check_name(name: str) -> None:
    """Refuse names that would look strange in the audit list."""
    if not (name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME):
        raise wrong("name", name, f"1 to {_LONGEST_NAME} characters that can be printed")


def all_keys(path: Path) -> list[AccessKey]:
    """Those in the log ``path``, by name."""
    with _opened(path) as connection:
        rows = connection.execute("SELECT name, role, hash FROM access_keys ORDER BY name")
        return [AccessKey(*row) for row in rows]


def add_key(path: Path, key: AccessKey) -> bool:
    """Add a key; False if there is one of that name already."""
    with _opened(path) as connection:
        connection.execute("INSERT OR IGNORE INTO access_keys VALUES (?, ?, ?)", key)
        return bool(connection.changes())


def remove_key(path: Path, name: str) -> bool:
    """Take a key away; False if there was none of that name."""
    with _opened(path) as connection:
        connection.execute("DELETE FROM access_keys WHERE name = ?", (name,))
        return bool(connection.changes())


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    with (
        disk(path),
        closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection,
    ):
        connection.set_busy_timeout(5000)
        connection.pragma("synchronous", "FULL")
        check_ours(connection, path)
        yield connection
