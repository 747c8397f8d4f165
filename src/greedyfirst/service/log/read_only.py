"""A log that is looked at and not changed by a byte: beside a service, or on read-only media."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from greedyfirst.service.log.held_file import is_held
from greedyfirst.service.log.sqlite_file import check_ours, disk
from greedyfirst.service.log.sqlite_reader import SqliteReader
from greedyfirst.service.log.wal_state import check_wal, has_wal, main_file


@contextmanager
def reading(path: Path) -> Iterator[SqliteReader]:
    """The log in the file ``path``.

    Where a service has it, it is read beside it. Where the last service was killed, the newest
    entries are in the ``-wal``; SQLite would copy them, so a copy of both files is read instead.
    """
    path = path.resolve()
    with disk(path):
        if is_held(path):
            read_only = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            with closing(read_only) as connection:
                connection.set_busy_timeout(5000)
                yield _reader(path, connection)
        elif has_wal(path):
            with TemporaryDirectory(prefix="greedyfirst-") as folder:
                copy = Path(folder, "log.db")
                for ending in ("", "-wal"):
                    shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
                check_wal(copy, name=path)
                with closing(apsw.Connection(str(copy))) as connection:
                    yield _reader(path, connection)
        else:
            with main_file(path) as connection:
                yield _reader(path, connection)


def _reader(path: Path, connection: apsw.Connection) -> SqliteReader:
    check_ours(connection, path)
    return SqliteReader(path, connection)
