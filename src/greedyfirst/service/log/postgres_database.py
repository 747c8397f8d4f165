"""A PostgreSQL database that a log is in: its address, its tables, its errors.

All tables are in a schema of their own, ``greedyfirst``. They are made and changed by numbered
migrations, each in the transaction that notes its number.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from greedyfirst.service.errors import DamagedLogError, LogFailedError, LostLeaseError
from greedyfirst.service.log.postgres_connection import BoundedConnection, limit
from greedyfirst.service.log.postgres_tables import LOST_LEASE, MIGRATIONS

SCHEMA = "greedyfirst"
# What it warns of is an error that is raised and told anyway.
logging.getLogger("psycopg").setLevel(logging.ERROR)
_UNREADABLE = (
    "the URL of the database cannot be read; expected postgresql://USER@HOST:PORT/DATABASE, where "
    "@, : and / in a password are percent-encoded: %40, %3A, %2F"
)
#: Seconds to connect, and to wait for an answer of a server that says nothing.
_CONNECT, _SILENT = 5, 10
#: Seconds that a question of a few rows may take.
LONGEST_QUESTION = 2.0
#: Of each connection. PostgreSQL ends a transaction of several statements whose client stands still
#: for two seconds. A ``synchronous_commit`` that promises more than the disk of one server stays.
_SETTINGS = f"""
SET search_path = {SCHEMA};
SET idle_in_transaction_session_timeout = 2000;
SET idle_session_timeout = 0;
SET default_transaction_isolation = 'read committed';
SELECT set_config('synchronous_commit', CASE WHEN setting = 'off' THEN 'on' ELSE setting END, false)
    FROM current_setting('synchronous_commit') AS setting
"""


class PostgresUrl(NamedTuple):
    """The address of a database; as a text it has no password."""

    conninfo: str
    shown: str

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"PostgresUrl({self.shown!r})"

    @classmethod
    def parse(cls, text: str) -> PostgresUrl:
        """The address that the text is the URL of."""
        try:
            parts: dict[str, Any] = conninfo_to_dict(text)
        except psycopg.Error:  # whose sentence may have the password in it
            raise ValueError(_UNREADABLE) from None
        if not _is_read_as_meant(text, parts):
            raise ValueError(_UNREADABLE)
        host = parts.get("host", "") or ""
        port = f":{parts['port']}" if parts.get("port") else ""
        user = f"{parts['user']}@" if parts.get("user") else ""
        socket = f"?host={host}" if host.startswith("/") else ""
        where = "" if socket else host
        shown = f"postgresql://{user}{where}{port}/{parts.get('dbname', '') or ''}{socket}"
        defaults: dict[str, Any] = {
            "connect_timeout": _CONNECT,
            "application_name": "greedyfirst",
            "keepalives_idle": _SILENT,
            "keepalives_interval": _SILENT,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * _SILENT,
        }
        return cls(make_conninfo(**(defaults | parts)), shown)


def _is_read_as_meant(text: str, parts: dict[str, Any]) -> bool:
    """Whether no part of a password was taken for a host, a port or a database's name."""
    _, _, rest = text.partition("://")
    before, _, after = rest.partition("/")
    hosts = before.partition("@")[2] if "@" in before else before
    name = after.partition("?")[0]
    ports = str(parts.get("port") or "").split(",")
    return (
        "@" not in hosts
        and not any(mark in name for mark in "@:/")
        and ":" not in str(parts.get("user") or "")
        and all(port == "" or (port.isascii() and port.isdigit()) for port in ports)
    )


@contextmanager
def database(url: PostgresUrl) -> Iterator[None]:
    """Raise the service's errors instead of PostgreSQL's."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(url, error) from error


def translated(url: PostgresUrl, error: psycopg.Error) -> DamagedLogError | LogFailedError:
    """The service's error for one of PostgreSQL's, in one sentence and without the password."""
    said = " ".join(str(error).split()) or type(error).__name__
    password = conninfo_to_dict(url.conninfo).get("password")
    if password:
        said = said.replace(str(password), "…")
    if error.sqlstate == LOST_LEASE:
        return LostLeaseError(str(error.diag.message_primary))
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return DamagedLogError(f"{url} is damaged: {said}; put back a copy of it")
    if isinstance(error, errors.DiskFull):
        said = f"its disk is full ({said})"
    elif isinstance(error, errors.ReadOnlySqlTransaction):
        said = "it is read-only; connect to the primary server"
    elif "password" in said:
        said = f"{said}; it can be given by PGPASSWORD or ~/.pgpass"
    return LogFailedError(f"{url}: {said}")


def connect(
    url: PostgresUrl, *, longest: float | None = None
) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection on which each statement is a transaction, unless one is begun.

    No statement takes more than ``longest`` seconds. What a commit promises is set here, so that
    it does not follow settings that somebody changes later.
    """
    connection = BoundedConnection.connect(url.conninfo, autocommit=True)
    connection.longest = _CONNECT
    connection.execute(_SETTINGS)
    limit(connection, longest)
    return connection


def take_time(connection: psycopg.Connection[Any]) -> None:
    """Let transactions last as long as they need, since nobody waits for what they lock.

    That their client is gone is noticed by its silence.
    """
    connection.execute(
        "SET idle_in_transaction_session_timeout = 0; "
        f"SET tcp_keepalives_idle = {_SILENT}; SET tcp_keepalives_interval = {_SILENT}; "
        "SET tcp_keepalives_count = 3"
    )
    limit(connection, None)


@contextmanager
def statements(url: PostgresUrl) -> Iterator[Callable[[str, tuple[Any, ...]], Any]]:
    """What runs statements, with ``?`` for each value, in one transaction on a log."""
    with (
        database(url),
        closing(connect(url, longest=LONGEST_QUESTION)) as connection,
        connection.transaction(),
    ):
        check_ours(connection, url)
        yield lambda sql, values: connection.execute(sql.replace("?", "%s"), values)


@contextmanager
def asked_again(url: PostgresUrl) -> Iterator[Callable[[str, tuple[Any, ...]], Any]]:
    """What runs statements likewise, each by itself, on a connection that is kept."""
    with database(url), closing(connect(url, longest=LONGEST_QUESTION)) as connection:
        check_ours(connection, url)

        def execute(sql: str, values: tuple[Any, ...]) -> Any:
            with database(url):
                return connection.execute(sql.replace("?", "%s"), values)

        yield execute


def prepare(connection: psycopg.Connection[Any], url: PostgresUrl) -> None:
    """Refuse a server that may lose what it acknowledged; make or update the tables."""
    check_server(connection, url)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (SCHEMA,))
        version = format_version(connection, url)
        if version > len(MIGRATIONS):
            raise newer(url, version)
        if not version:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            connection.execute(migration)
            connection.execute(
                "INSERT INTO meta VALUES ('version', %s) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (str(number),),
            )
        if not version:
            connection.execute("INSERT INTO meta VALUES ('identity', %s)", (secrets.token_hex(16),))
        if version < len(MIGRATIONS):
            connection.execute(
                "INSERT INTO meta VALUES ('form secret', %s) ON CONFLICT (name) DO NOTHING",
                (secrets.token_hex(32),),
            )


def check_server(connection: psycopg.Connection[Any], url: PostgresUrl) -> None:
    """Refuse a server on which a commit is no promise, or that takes none."""
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise DamagedLogError(f"{url} must have the encoding UTF8; make another database")
    check_promise(url, str(_one(connection, "SHOW fsync")))
    if _one(connection, "SHOW transaction_read_only") == "on":
        raise DamagedLogError(f"{url} is read-only; connect to the primary server")


def check_promise(url: PostgresUrl, fsync: str) -> None:
    """Refuse a server whose commits may be lost, which no connection can set otherwise."""
    if fsync == "off":
        raise DamagedLogError(f"{url} has fsync = off, so that a commit may be lost; set it to on")


def warnings_of(full_page_writes: str) -> list[str]:
    """What a person should know of a server's settings; no names in it."""
    return [
        "the database has full_page_writes = off: after a crash of its host pages may be torn, "
        "unless the disk writes them whole"
    ][: full_page_writes == "off"]


def check_ours(connection: psycopg.Connection[Any], url: PostgresUrl) -> None:
    """Refuse a database without a log, or with one of another release's format."""
    version = format_version(connection, url)
    if not version:
        raise DamagedLogError(f"{url} has no log; greedyfirst serve --db {url} makes one")
    if version > len(MIGRATIONS):
        raise newer(url, version)
    if version < len(MIGRATIONS):
        raise DamagedLogError(
            f"{url} has format version {version}, this release's is {len(MIGRATIONS)}; "
            "start greedyfirst serve on it once, which brings it up to date"
        )


def newer(url: PostgresUrl, version: int) -> DamagedLogError:
    """The error where a newer release has written."""
    return DamagedLogError(
        f"{url} has format version {version}; this release reads versions up to {len(MIGRATIONS)}, "
        "so install the release that wrote it, or a newer one"
    )


def identity_of(connection: psycopg.Connection[Any]) -> str:
    """The log's identity, which a copy does not have."""
    return str(_one(connection, "SELECT value FROM meta WHERE name = 'identity'"))


def format_version(connection: psycopg.Connection[Any], url: PostgresUrl) -> int:
    """The number of the last migration, 0 if there is no log; another program's is refused."""
    if not _one(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = %s", SCHEMA):
        return 0
    try:
        with connection.transaction():
            return int(_one(connection, "SELECT value FROM meta WHERE name = 'version'"))
    except (errors.UndefinedTable, errors.UndefinedColumn, TypeError, ValueError):
        raise DamagedLogError(
            f"{url} has a schema {SCHEMA!r} of another program; take another database"
        ) from None


def _one(connection: psycopg.Connection[Any], sql: str, *values: object) -> Any:
    """The one value that a query finds, None if there is none."""
    found = connection.execute(sql, values or None).fetchone()
    return None if found is None else found[0]
