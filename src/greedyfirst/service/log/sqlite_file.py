"""The SQLite file that the log and the access keys are in: its tables and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.table_reader import IS_AUDITED

VERSION = 1
APPLICATION = 0x67726679  # "grfy"
TABLES = f"""
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    policy TEXT NOT NULL,
    kind TEXT NOT NULL,
    step INTEGER,
    key TEXT,
    body BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS entries_by_policy ON entries (policy, seq);
CREATE INDEX IF NOT EXISTS entries_by_step ON entries (policy, step) WHERE step IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS entries_by_key ON entries (policy, key) WHERE key IS NOT NULL;
DROP INDEX IF EXISTS entries_audited;
DROP INDEX IF EXISTS entries_in_audit;
CREATE INDEX IF NOT EXISTS entries_not_daily ON entries (policy, seq) WHERE {IS_AUDITED};
CREATE TRIGGER IF NOT EXISTS entries_stay BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_remain BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TABLE IF NOT EXISTS snapshots (
    policy TEXT NOT NULL,
    seq INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (policy, seq)
) STRICT;
CREATE TABLE IF NOT EXISTS meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS access_keys (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS key_changes (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;
"""


#: Columns of access_keys that release 0.1 did not have.
_KEY_COLUMNS = {
    "policies": "TEXT",
    "made": "REAL",
    "expires": "REAL",
    "last_used": "REAL",
    "removed": "REAL",
    "hash_before": "BLOB",
    "before_until": "REAL",
}


def make_tables(connection: apsw.Connection) -> None:
    """Make the tables that are not there, and columns that they lack."""
    connection.execute(TABLES)
    known = columns_of(connection.execute, "access_keys")
    for name, kind in _KEY_COLUMNS.items():
        if name not in known:
            connection.execute(f"ALTER TABLE access_keys ADD COLUMN {name} {kind}")


def columns_of(execute: Callable[[str, tuple[Any, ...]], Any], table: str) -> set[str]:
    """The columns of a table; none if it is not there."""
    return {row[0] for row in execute("SELECT name FROM pragma_table_info(?)", (table,))}


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file of another program, or of another release's format."""
    if connection.pragma("application_id") != APPLICATION:
        raise DamagedLogError(f"{path} is a database of another program")
    version = connection.pragma("user_version")
    if version != VERSION:
        raise DamagedLogError(
            f"{path} has format version {version}; this release reads version {VERSION}"
        )


def translated(path: Path, error: apsw.Error) -> DamagedLogError | LogFailedError:
    """The service's error for one of SQLite's."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return DamagedLogError(f"{path} is not a whole log: {error}; put back a copy of it")
    return LogFailedError(f"{path}: {error}")


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Raise the service's errors instead of SQLite's."""
    try:
        yield
    except apsw.Error as error:
        raise translated(path, error) from error
