"""The SQLite file that the log and the access keys are in: its tables, its lock, its errors."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.events import AUDITED

VERSION = 1
APPLICATION = 0x67726679  # "grfy"
#: As a list in SQL.
AUDITED_KINDS = ", ".join(repr(kind) for kind in AUDITED)
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
CREATE INDEX IF NOT EXISTS entries_for_audit ON entries (policy, seq)
    WHERE kind IN ({AUDITED_KINDS});
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
CREATE TABLE IF NOT EXISTS access_keys (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE
) STRICT;
"""


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file of another program, or of another release's format."""
    if connection.pragma("application_id") != APPLICATION:
        raise DamagedLogError(f"{path} is a database of another program")
    version = connection.pragma("user_version")
    if version != VERSION:
        raise DamagedLogError(
            f"{path} has format version {version}; this release reads version {VERSION}"
        )


def only_one(path: Path) -> IO[str]:
    """A lock that ends with the process."""
    if path.is_dir():
        raise DamagedLogError(f"{path} is a folder; give the name of a file")
    try:
        lock = open(f"{path}.lock", "w")  # noqa: SIM115 (held until the log is closed)
    except OSError as error:
        raise DamagedLogError(f"{path} cannot be opened: {os.strerror(error.errno or 0)}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise DamagedLogError(
            f"another service is using {path}; end it or take another file"
        ) from None
    return lock


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
