"""The SQLite file that the log and the keys are in: whose it is, who uses it, what fails."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import apsw

from greedyfirst.service.errors import Damaged
from greedyfirst.service.log.log import LogFailed

VERSION = 1
APPLICATION = 0x67726679  # "grfy"


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file of another program, or of another release's format."""
    if connection.pragma("application_id") != APPLICATION:
        raise Damaged(f"{path} is a database of another program")
    version = connection.pragma("user_version")
    if version != VERSION:
        raise Damaged(f"{path} has format version {version}; this release reads version {VERSION}")


def only_one(path: Path) -> IO[str]:
    """A lock that ends with the process."""
    if path.is_dir():
        raise Damaged(f"{path} is a folder; give the name of a file")
    try:
        lock = open(f"{path}.lock", "w")  # noqa: SIM115 (held until the log is closed)
    except OSError as error:
        raise Damaged(f"{path} cannot be opened: {os.strerror(error.errno or 0)}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise Damaged(f"another service is using {path}; end it or take another file") from None
    return lock


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Damaged(f"{path} is not a whole log: {error}; put back a copy of it") from error
    except apsw.Error as error:
        raise LogFailed(f"{path}: {error}") from error
