"""Where a log is: in a file, or in a PostgreSQL database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from greedyfirst.service.log import read_only
from greedyfirst.service.log.held_file import is_held
from greedyfirst.service.log.log import Log
from greedyfirst.service.log.sqlite_file import disk
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.log.table_reader import TableReader

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

_EXPECTED = "a file, or postgresql://USER@HOST:PORT/DATABASE"
#: A drive of Windows has one letter.
_URL = re.compile(r"[a-z][a-z0-9+.\-]+:/", re.IGNORECASE)
_POSTGRES = re.compile(r"(postgres(?:ql)?://)(.*)", re.IGNORECASE | re.DOTALL)


def place_of(text: str | Path) -> Path | PostgresUrl:
    """The place that a user names: a URL, or else the path of a file.

    No sentence repeats a URL, which may have a password in it.
    """
    if text == "":
        raise ValueError(f"the place of the log is empty; expected {_EXPECTED}")
    found = _POSTGRES.fullmatch(str(text))
    if found is None:
        if _URL.match(str(text)):
            raise ValueError(f"the place of the log is a URL of another kind; expected {_EXPECTED}")
        return Path(text)
    try:
        from greedyfirst.service.log.postgres_database import PostgresUrl
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed; a log in PostgreSQL needs: "
            "pip install 'greedyfirst[serve,postgres]'"
        ) from None
    return PostgresUrl.parse(found[1].lower() + found[2])


def open_log(place: Path | PostgresUrl, *, address: str = "") -> Log:
    """The log at a place, to be written; made if it is not there.

    ``address`` is where other services on the same log reach this one.
    """
    if isinstance(place, Path):
        return SqliteLog(place)
    from greedyfirst.service.log.postgres_log import PostgresLog

    return PostgresLog(place, address=address)


@contextmanager
def reading(place: Path | PostgresUrl) -> Iterator[TableReader]:
    """The log at a place, to be looked at and not changed; services may use it meanwhile."""
    if isinstance(place, Path):
        with read_only.reading(place) as log:
            yield log
        return
    from greedyfirst.service.log.postgres_database import check_ours, connect, database
    from greedyfirst.service.log.postgres_reader import PostgresReader

    with database(place), closing(connect(place)) as connection:
        connection.read_only = True
        check_ours(connection, place)
        yield PostgresReader(place, connection)


@contextmanager
def reading_one_moment(place: Path | PostgresUrl) -> Iterator[TableReader]:
    """The log at a place as it is now, whatever services add to it meanwhile."""
    if isinstance(place, Path):
        with read_only.reading(place) as log, disk(place), log.connection:  # one transaction
            yield log
        return
    from psycopg import IsolationLevel

    from greedyfirst.service.log.postgres_database import (
        check_ours,
        connect,
        database,
        take_time,
    )
    from greedyfirst.service.log.postgres_reader import PostgresReader

    with database(place), closing(connect(place)) as connection:
        take_time(connection)
        connection.read_only = True
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        with connection.transaction():
            check_ours(connection, place)
            yield PostgresReader(place, connection)


def in_use(place: Path | PostgresUrl) -> bool:
    """Whether a service has the log at a place, or policies of it; not for that service itself."""
    if isinstance(place, Path):
        return is_held(place.resolve())
    from greedyfirst.service.log.postgres_database import statements

    with statements(place) as execute:
        live = "SELECT EXISTS (SELECT FROM leases WHERE until > clock_timestamp())"
        return bool(execute(live, ()).fetchone()[0])
