"""Whether a write-ahead log belongs to the file beside it.

SQLite writes to a second file, ``-wal``, and copies it into the main file later. A main file from a
backup beside the ``-wal`` of another time would be mixed with it, silently. So each time that the
``-wal`` begins anew a new token is written into it, together with the one before. The main file
alone has one of the two, if it is the one that the ``-wal`` was written for.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.held_file import CLOSING
from greedyfirst.service.log.sqlite_file import APPLICATION, VERSION, check_ours, disk

_URI = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class WalState(NamedTuple):
    """What a file says of the ``-wal`` that it goes with; None in logs of release 0.1."""

    token: str | None
    before: str | None
    #: Counts changes of the tables. ``VACUUM INTO`` moves all pages, and counts one more.
    schema: int

    def goes_with(self, main: WalState) -> bool:
        """Whether this, seen through a ``-wal``, was written for that main file."""
        return main.token in (self.token, self.before) and main.schema <= self.schema


def read_state(connection: apsw.Connection) -> WalState:
    """The state that a connection sees."""
    schema, found = connection.pragma("schema_version"), _meta(connection)
    return WalState(found.get("token") or None, found.get("token_before") or None, schema)


def _meta(connection: apsw.Connection) -> dict[str, str]:
    """What the file says of itself; nothing in logs of release 0.1."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").get:
        return {}
    rows: Any = connection.execute("SELECT name, value FROM meta")
    return dict(rows)


def begin_wal(connection: apsw.Connection) -> WalState:
    """Write a new token, since the ``-wal`` begins anew."""
    state = read_state(connection)
    with connection:
        connection.execute(
            "INSERT OR REPLACE INTO meta VALUES ('token', ?), ('token_before', ?)",
            (secrets.token_hex(16), state.token or ""),
        )
        # Writes the first page, which says where the tables are: the token is then found where
        # this -wal has it, whatever the main file has there.
        connection.pragma("user_version", VERSION)
    return read_state(connection)


@contextmanager
def main_file(path: Path) -> Iterator[apsw.Connection]:
    """The main file alone, without its ``-wal``; nothing is changed."""
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with closing(apsw.Connection(f"file:{quoted}?immutable=1", flags=_URI)) as connection:
        yield connection


def check_main(path: Path) -> str | None:
    """Refuse a file of another program, which stays as it is; the log's identity, if it has one."""
    with CLOSING, main_file(path) as connection:
        marks = connection.pragma("application_id") or connection.pragma("user_version")
        if marks or connection.execute("SELECT count(*) FROM sqlite_schema").get:
            check_ours(connection, path)
        return _meta(connection).get("identity")


def has_wal(path: Path) -> bool:
    """Whether there is a ``-wal`` with something in it."""
    wal = Path(f"{path}-wal")
    return wal.is_file() and wal.stat().st_size > 0


def check_wal(path: Path, *, name: Path | None = None) -> None:
    """Refuse a log whose ``-wal`` was written for another state of it; both stay as they are.

    ``name`` is what errors call it.
    """
    if not has_wal(path):
        return
    try:
        with CLOSING, main_file(path) as connection:
            alone = read_state(connection)
    except apsw.Error:  # the checks of the whole file say what is wrong with it
        return
    if not _goes_with(path, alone):
        name = name or path
        raise DamagedLogError(
            f"{name} was put back beside a -wal of another state; both are as they were: "
            f"to put back a copy, use greedyfirst restore COPY --db {name}"
        )


def _goes_with(path: Path, alone: WalState) -> bool:
    """Whether what is seen through the ``-wal`` was written for that main file."""
    read_only = apsw.SQLITE_OPEN_READONLY
    with disk(path), CLOSING, closing(apsw.Connection(str(path), flags=read_only)) as connection:
        connection.set_busy_timeout(5000)
        try:
            ours = connection.pragma("application_id") == APPLICATION
            return ours and read_state(connection).goes_with(alone)
        except (apsw.CorruptError, apsw.SQLError):
            return False
