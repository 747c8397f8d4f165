"""Backups: whole, checked copies of a log in one file, made beside a running service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.files.outputs import check_free
from greedyfirst.service.log.entries import Head
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.sqlite_file import disk, make_tables
from greedyfirst.service.log.sqlite_reader import SqliteReader
from greedyfirst.service.log.wal_state import begin_wal


def back_up(path: Path, target: Path, *, force: bool = False) -> Head:
    """Write a copy of a log to one file; the head of the copy.

    A service may use the log meanwhile. The copy is for its owner alone. It is at ``target``
    checked, on disk and as a whole, or not at all.
    """
    if target.exists() and target.samefile(path):
        raise ValueError(f"{target} is the log itself; take another name")
    check_free([target], force=force)
    with reading(path) as source, new_file(target) as temporary:
        copy(source, temporary)
        with reading(temporary) as copied:
            copied.check()
            return copied.head()


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """An empty file for its owner alone, which takes the place of ``target`` once it is on disk."""
    with atomic_write(target) as temporary:
        os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary
        _sync(temporary)
    _sync(target.absolute().parent)


def copy(source: SqliteReader, target: Path) -> None:
    """Copy a log, as it is at one moment, into an empty file: in one piece, without a ``-wal``."""
    with disk(target), closing(apsw.Connection(str(target))) as connection:
        with connection.backup("main", source.connection, "main") as copying:
            copying.step()
        connection.pragma("journal_mode", "delete")
        with connection:
            make_tables(connection)
            begin_wal(connection)  # no -wal of the log's goes with the copy


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
