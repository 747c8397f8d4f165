"""A file layer for SQLite that notes what is written and synced, and fails when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import apsw

_numbers = count()


class FailingDisk(apsw.VFS):
    """SQLite's usual files underneath."""

    def __init__(self) -> None:
        self.name = f"failing-disk-{next(_numbers)}"
        super().__init__(self.name, "")
        #: ("write" | "sync", "wal" | "main", bytes), and whatever tests add.
        self.notes: list[tuple[str, str, bytes]] = []
        #: Which writes or syncs of the write-ahead log fail, and how.
        self.failing: str | None = None
        self.error: type[apsw.Error] = apsw.IOError
        self._free = threading.Event()
        self._free.set()

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        kind = "wal" if flags[0] & apsw.SQLITE_OPEN_WAL else "main"
        return _File(self, kind, name, flags)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Syncs do not end while this is open."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    def note(self, what: str, kind: str, data: bytes = b"") -> None:
        if kind == "wal" and self.failing == what:
            raise self.error("injected")
        if what == "sync" and not self._free.wait(20):
            raise self.error("held for too long")
        self.notes.append((what, kind, data))


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, kind: str, name: Any, flags: list[int]) -> None:
        self.disk, self.kind = disk, kind
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.note("write", self.kind, data)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.note("sync", self.kind)
        super().xSync(flags)
