"""The log in one SQLite file: write-ahead log, synced at every commit.

Opening the file checks that it is whole (its length, the seals of the last entries); ``check``
reads all of it. What is committed is acknowledged only if the files that were written are still
those at the log's path.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.backup import copy, new_file
from greedyfirst.service.log.entries import Entry, Head, seal
from greedyfirst.service.log.held_file import CLOSING, FileId, HeldFile
from greedyfirst.service.log.sqlite_file import (
    APPLICATION,
    VERSION,
    disk,
    make_tables,
    translated,
)
from greedyfirst.service.log.sqlite_reader import SqliteReader
from greedyfirst.service.log.table_reader import sealed_snapshot
from greedyfirst.service.log.wal_state import (
    begin_wal,
    check_main,
    check_wal,
    has_wal,
    main_file,
    read_state,
)

_SNAPSHOTS_KEPT = 4
_CHECKED_AT_START = 1000
_ROWS_AT_ONCE = 100
_CACHE_KB = 64_000
#: Pages of 4 KB in the write-ahead log that ask for a checkpoint: with 64 MB of them, those that
#: change often are copied once.
_PAGES_IN_WAL = 16_000
_PASSIVE = apsw.SQLITE_CHECKPOINT_PASSIVE
_TRUNCATE = apsw.SQLITE_CHECKPOINT_TRUNCATE
#: SQLite's own limit is a billion bytes.
_LARGEST_BLOB = 900_000_000
_log = logging.getLogger("greedyfirst.service")


class SqliteLog(SqliteReader):
    """A :class:`~greedyfirst.service.log.log.Log` in the file ``path``, which it makes if need be.

    Parameters
    ----------
    path
        The file. A second service on it is refused.
    vfs
        The name of SQLite's file layer, for tests of what a failing disk does.
    same_as
        A log that was open before: the file must be there, be that log, and have all that it
        acknowledged.
    """

    remote = False

    def __init__(
        self, path: str | Path, *, vfs: str | None = None, same_as: SqliteLog | None = None
    ) -> None:
        path = Path(path).resolve()  # another name of the same file has the same lock
        if same_as is not None and not path.exists():
            raise LogFailedError(
                f"{path} is gone; put it back where it was, with its -wal{same_as.rescue()}"
            )
        if not path.exists() and has_wal(path):
            raise DamagedLogError(
                f"{path} is not there, but its -wal is; put it back beside it, or put back a copy: "
                f"greedyfirst restore COPY --db {path}"
            )
        self._vfs = vfs
        self._file = HeldFile(path, make=same_as is None)
        #: Pages that wait for a checkpoint, and those in the write-ahead log after a commit.
        self._pages_in_wal = self._pages_before = 0
        #: Whether the write-ahead log has begun anew, without a token yet.
        self._anew = False
        #: Whether the pages that were free at the opening have been overwritten.
        self._overwritten = False
        self._aside = ThreadPoolExecutor(1, "checkpoint")
        self._copying: Future[Any] | None = None
        self._connections: list[apsw.Connection] = []
        self._rescued: Path | None = None
        try:
            with disk(path):
                found = check_main(path)
                if same_as is not None and found is not None and found != same_as.identity:
                    raise same_as.another_now()
                check_wal(path)
                # Requests read beside the thread that writes.
                reader, beside = self._connection(path, vfs), self._connection(path, vfs)
                super().__init__(path, reader, beside)
                self._writer = self._connection(path, vfs)
                self._copier = self._connection(path, vfs)
                self._prepare()
                self._head = self.checked_tail(_CHECKED_AT_START)
                self._expect(same_as)
                self._begin_watch()
        except BaseException as error:
            self._release()
            if same_as is not None and isinstance(error, DamagedLogError):
                raise DamagedLogError(f"{error}{same_as.rescue()}") from error
            raise

    def _connection(self, path: Path, vfs: str | None) -> apsw.Connection:
        connection = apsw.Connection(str(path), vfs=vfs)
        self._connections.append(connection)
        connection.set_busy_timeout(5000)
        if connection.pragma("journal_mode", "wal") != "wal":
            raise LogFailedError(f"{path} is on a disk without shared memory; take another")
        connection.pragma("synchronous", "FULL")
        connection.pragma("cache_size", -_CACHE_KB)
        connection.pragma("secure_delete", True)  # snapshots that are dropped may hold rows
        return connection

    def _prepare(self) -> None:
        connection = self._writer
        # Everything into the main file, whose length then tells whether it is whole; not while
        # another program reads it.
        (busy, *_), *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        whole = connection.pragma("page_count") * connection.pragma("page_size")
        file = self.path.stat()
        if file.st_size < whole and not busy:
            left = f"{file.st_size} of {whole} bytes are left"
            raise DamagedLogError(f"{self.path} is cut off: {left}; put back a copy of it")
        if file.st_blocks * 512 < file.st_size:  # a hole: cut off, its end back from the other file
            self.check_pages(connection, "quick_check")
        with connection:
            make_tables(connection)
            connection.pragma("application_id", APPLICATION)
            connection.pragma("user_version", VERSION)
            made = "INSERT OR IGNORE INTO meta VALUES ('identity', ?)"
            connection.execute(made, (secrets.token_hex(16),))
            self._wal = read_state(connection) if busy else begin_wal(connection)
        self.identity: str = connection.execute(
            "SELECT value FROM meta WHERE name = 'identity'"
        ).get

    def _expect(self, before: SqliteLog | None) -> None:
        """Refuse another log than the one that was open before."""
        if before is None:
            return
        if self.identity != before.identity:
            raise before.another_now()
        if self.head_at(before.head().seq) != before.head():
            raise LogFailedError(
                f"{self.path} lacks entries that were acknowledged, up to number "
                f"{before.head().seq}; put back the newest state of it, with its -wal"
            )

    def another_now(self) -> LogFailedError:
        """The error where another log is in this one's place."""
        return LogFailedError(
            f"{self.path} is another log now; put back the one that was there, or end this "
            f"service and start it again on this one{self.rescue()}"
        )

    @property
    def leases(self) -> None:
        """None: the file is this service's alone."""

    # ---------------------------------------------------------------- the file, while it is open

    def _begin_watch(self) -> None:
        self._wal_path = f"{self.path}-wal"
        self._wal_file = FileId.of(Path(self._wal_path))
        self._main_token = self._wal.before
        self._main_seen = (-1, -1)
        self._written_over = False
        self._writer.set_wal_hook(self._committed)  # instead of checkpoints inside commits

    def _committed(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._anew = self._anew or pages <= self._pages_before
        self._pages_in_wal = self._pages_before = pages
        return 0

    def check_place(self) -> os.stat_result:
        """Refuse to go on with files that nobody will find again; the main file's numbers."""
        try:
            main, wal = os.stat(self.path), os.stat(self._wal_path)
        except FileNotFoundError as error:
            raise LogFailedError(f"{error.filename} was removed under the service") from None
        for found, known, path in (
            (main, self._file.id, self.path),
            (wal, self._wal_file, self._wal_path),
        ):
            if (found.st_dev, found.st_ino) != known:
                raise LogFailedError(f"{path} was replaced under the service")
        return main

    def _check_files(self) -> None:
        """Refuse to acknowledge what a file does not have that others will find."""
        if self._anew:
            self._wal, self._anew = begin_wal(self._writer), False
            self._main_token = self._wal.before  # it begins anew when the main file has all of it
        main = self.check_place()
        seen = (main.st_size, main.st_mtime_ns)
        if seen != self._main_seen and self._copying is None:
            self._check_main()
            self._main_seen = seen

    def _check_main(self) -> None:
        """Refuse a main file into which something else was copied than its write-ahead log."""
        with CLOSING, main_file(self.path) as connection:
            main = read_state(connection)
        if main.token not in (self._main_token, self._wal.token) or main.schema > self._wal.schema:
            for each in self._connections:  # the last one to close would mix the two
                each.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._written_over = True
            raise LogFailedError(f"{self.path} was written over under the service")
        self._main_token = main.token

    # ---------------------------------------------------------------- writing

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries in one transaction; the number of the first."""
        last = self._head.seal
        rows: list[tuple[Any, ...]] = []
        for entry in entries:
            last = seal(last, entry)
            rows.append((*entry, last))
        try:
            if len(rows) <= _ROWS_AT_ONCE:
                self._insert(rows)
            else:
                with self._writer:
                    for start in range(0, len(rows), _ROWS_AT_ONCE):
                        self._insert(rows[start : start + _ROWS_AT_ONCE])
            self._check_files()
            self._head = Head(entries[-1].seq, last)
            self._checkpoint()
        except apsw.Error as error:
            raise translated(self.path, error) from error
        return entries[0].seq

    def erase(self, bodies: Sequence[tuple[int, bytes]], erased: Entry) -> int:
        """Replace bodies for good: freed pages are overwritten, the write-ahead log is emptied."""
        last = seal(self._head.seal, erased)
        if self._copying is not None:  # two checkpoints at once would be one too many
            with suppress(apsw.BusyError):
                self._copying.result()
            self._copying = None
        with disk(self.path):
            with self._writer:
                self._writer.executemany(
                    "REPLACE INTO entries SELECT seq, at, policy, kind, step, key, ?, seal "
                    "FROM entries WHERE seq = ?",  # which no trigger sees, unlike an UPDATE
                    [(body, seq) for seq, body in bodies],
                )
                self._writer.execute("DELETE FROM snapshots WHERE policy = ?", (erased.policy,))
                self._insert([(*erased, last)])
                self._overwrite_free_pages()
            self._check_files()
            self._head = Head(erased.seq, last)
            with suppress(apsw.BusyError):  # another program reads: at the next start then
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._pages_in_wal = 0
        return erased.seq

    def _overwrite_free_pages(self) -> None:
        """Use all free pages once: those that older releases freed still have what was in them."""
        free = self._writer.pragma("freelist_count") * self._writer.pragma("page_size")
        if free and not self._overwritten:
            put = "INSERT INTO snapshots VALUES ('', 0, zeroblob(?))"
            self._writer.execute(put, (min(free, _LARGEST_BLOB),))
            self._writer.execute("DELETE FROM snapshots WHERE policy = ''")
        self._overwritten = True

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        """One statement for all rows: the thread that writes then needs Python only once."""
        values = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
        self._writer.execute(f"INSERT INTO entries VALUES {values}", tuple(chain(*rows)))

    def _checkpoint(self) -> None:
        """Move what is in the write-ahead log to the main file, once there is enough of it.

        Most of it is copied beside the commits that go on; the writer then copies the rest, which
        is little, so that the write-ahead log can begin anew.
        """
        if self._pages_in_wal < _PAGES_IN_WAL:
            return
        if self._copying is None:
            self._copying = self._aside.submit(self._copier.wal_checkpoint, mode=_PASSIVE)
        elif self._copying.done():
            copying, self._copying = self._copying, None
            with suppress(apsw.BusyError):  # another program is at it: after the next commit then
                copying.result()
                self._writer.wal_checkpoint(mode=_PASSIVE)
                self._pages_in_wal = 0

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        """Keep a snapshot behind its seal, and drop old ones."""
        with disk(self.path), self._writer:
            self._writer.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)",
                (policy, seq, sealed_snapshot(policy, seq, content)),
            )
            self._writer.execute(
                "DELETE FROM snapshots WHERE policy = ? AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE policy = ? ORDER BY seq DESC LIMIT ?)",
                (policy, policy, _SNAPSHOTS_KEPT),
            )

    def head(self) -> Head:
        """The end of what is on disk."""
        return self._head

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return Path(f"{self.path}-wal").stat().st_size
        except OSError:
            return 0

    # ---------------------------------------------------------------- the end

    def reopened(self) -> SqliteLog:
        """Open the same log again, after a failure; this one is closed first."""
        self._save_aside()
        with self._reading, self._reading_on:
            self._release()
        return SqliteLog(self.path, vfs=self._vfs, same_as=self)

    def close(self) -> None:
        """Close the file, all of it in one piece, and let others open it."""
        self._aside.shutdown()  # it may be copying
        try:
            self.check_place()
            if not self._written_over:
                self._writer.wal_checkpoint(mode=_TRUNCATE)
        except (apsw.BusyError, apsw.LockedError):
            _log.warning(
                "another program reads %s: its newest entries are still in %s-wal; do not copy the "
                "file, use greedyfirst backup",
                self.path,
                self.path,
            )
        except (apsw.Error, LogFailedError) as error:
            _log.error("%s could not be brought into one file: %s", self.path, error)
            self._save_aside()
        with self._reading, self._reading_on:
            self._release()

    def _save_aside(self) -> None:
        """Copy all there is, where the file is gone from its place but still open here."""
        if not self._connections or (self.path.exists() and FileId.of(self.path) == self._file.id):
            return
        target = self.path.with_name(f"{self.path.name}.rescued-{time.strftime('%Y%m%dT%H%M%S')}")
        try:
            with new_file(target) as temporary, self._reading:
                copy(self, temporary)
            self._rescued = target
            _log.error("all that was in %s is in %s", self.path, target)
        except (OSError, DamagedLogError) as error:
            _log.error("%s is gone, and could not be copied: %s", self.path, error)

    def rescue(self) -> str:
        """The rest of a sentence: where a copy is, if the file was removed while it was open."""
        if self._rescued is None:
            return ""
        return (
            f". A copy with all that was acknowledged is in {self._rescued}: end this service and "
            f"use greedyfirst restore {self._rescued} --db {self.path}"
        )

    def _release(self) -> None:
        self._aside.shutdown()
        while self._connections:
            with suppress(apsw.Error):
                self._connections.pop().close(True)
        self._file.close()
