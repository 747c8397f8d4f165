"""The log's file while a service has it: made for its owner alone, locked, and watched.

The lock is on the database itself, so that removing another file cannot let a second service in.
It is of another kind (flock) than SQLite's locks on the same file, and does not meet them.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import NamedTuple, Self

from greedyfirst.service.errors import DamagedLogError

#: Held while SQLite opens, reads and closes a file for a moment, and while the lock's descriptor
#: is closed: that would end the locks which SQLite has on the same file in this process.
CLOSING = threading.Lock()


class FileId(NamedTuple):
    """Which file it is, whatever its name."""

    device: int
    inode: int

    @classmethod
    def of(cls, path: Path | int) -> FileId:
        """Of an open file, or of the one at this path."""
        found = os.stat(path)
        return cls(found.st_dev, found.st_ino)


class HeldFile:
    """A file that this process has locked until it closes it.

    Parameters
    ----------
    path
        The file.
    make
        Whether to make it if it is not there: readable and writable for its owner only.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        self._descriptors: list[int] = []
        try:
            descriptor = self._open(path, os.O_CREAT if make else 0)
            if path.exists() and FileId.of(path) != FileId.of(descriptor):  # replaced this moment
                raise DamagedLogError(f"{path} is being replaced; try again")
            # Release 0.1 locked this file, and makes it.
            beside = Path(f"{path}.lock")
            if beside.is_file():
                self._open(beside, 0)
        except BaseException:
            self.close()
            raise
        self.id = FileId.of(descriptor)

    def _open(self, path: Path, make: int) -> int:
        if path.is_dir():
            raise DamagedLogError(f"{path} is a folder; give the name of a file")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | make, 0o600)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise DamagedLogError(f"{path} cannot be opened: {reason}") from None
        self._descriptors.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DamagedLogError(
                f"another service is using {self.path}; end it or take another file"
            ) from None
        return descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have it; every connection to it in this process must be closed."""
        with CLOSING:
            while self._descriptors:
                os.close(self._descriptors.pop())


def is_held(path: Path) -> bool:
    """Whether a service has this log; nothing is changed, not even the file's times.

    Not for the process of that service itself.
    """
    return any(_is_locked(each) for each in (path, Path(f"{path}.lock")) if each.is_file())


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise DamagedLogError(f"{path} cannot be opened: {os.strerror(error.errno or 0)}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
