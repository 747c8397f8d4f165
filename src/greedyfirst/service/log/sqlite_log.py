"""The log in one SQLite file: write-ahead log, synced at every commit.

Opening the file checks that it is whole (its length, the seals of the last entries); ``check``
reads all of it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.entries import GENESIS, Entry, erasure, kind_of, seal, step_of
from greedyfirst.service.log.events import Decided
from greedyfirst.service.log.sqlite_file import (
    APPLICATION,
    AUDITED_KINDS,
    TABLES,
    VERSION,
    check_ours,
    disk,
    only_one,
    translated,
)

_SNAPSHOTS_KEPT = 4
_SEAL_BYTES = 32
_CHECKED_AT_START = 1000
_ROWS_AT_ONCE = 100
_CACHE_KB = 64_000
#: Pages of 4 KB in the write-ahead log that ask for a checkpoint: with 64 MB of them, those that
#: change often are copied once.
_PAGES_IN_WAL = 16_000
_PASSIVE = apsw.SQLITE_CHECKPOINT_PASSIVE
_COLUMNS = "seq, at, policy, kind, step, key, body"


class SqliteLog:
    """A :class:`~greedyfirst.service.log.log.Log` in the file ``path``, which it makes if need be.

    Parameters
    ----------
    path
        The file. A second service on it is refused.
    vfs
        The name of SQLite's file layer, for tests of what a failing disk does.
    """

    def __init__(self, path: str | Path, *, vfs: str | None = None) -> None:
        self.path = Path(path).resolve()  # another name of the same file has the same lock
        self._lock = only_one(self.path)
        self._pages_in_wal = 0
        self._aside = ThreadPoolExecutor(1, "checkpoint")
        self._copying: Future[Any] | None = None
        #: A connection serves one thread at a time: requests, and long reads beside them.
        self._reading = threading.Lock()
        try:
            with disk(self.path):
                self._writer = self._connection(vfs)
                self._prepare()
                self._writer.set_wal_hook(self._committed)  # instead of checkpoints inside commits
                # Requests read beside the thread that writes.
                self._reader = self._connection(vfs)
                self._copier = self._connection(vfs)
                self._seal = self._checked_tail(_CHECKED_AT_START)
        except BaseException:
            self._lock.close()
            raise

    def _connection(self, vfs: str | None) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), vfs=vfs)
        connection.set_busy_timeout(5000)
        if connection.pragma("journal_mode", "wal") != "wal":
            raise LogFailedError(f"{self.path} is on a disk without shared memory; take another")
        connection.pragma("synchronous", "FULL")
        connection.pragma("cache_size", -_CACHE_KB)
        return connection

    def _prepare(self) -> None:
        connection = self._writer
        marks = connection.pragma("application_id") or connection.pragma("user_version")
        if marks or connection.execute("SELECT count(*) FROM sqlite_schema").get:
            check_ours(connection, self.path)
        # Everything into the main file, whose length then tells whether it is whole; not while
        # another program reads it.
        (busy, *_), *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        whole = connection.pragma("page_count") * connection.pragma("page_size")
        file = self.path.stat()
        if file.st_size < whole and not busy:
            left = f"{file.st_size} of {whole} bytes are left"
            raise DamagedLogError(f"{self.path} is cut off: {left}; put back a copy of it")
        if file.st_blocks * 512 < file.st_size:  # a hole: cut off, its end back from the other file
            self._check_pages(connection, "quick_check")
        with connection:
            connection.execute(TABLES)
            connection.pragma("application_id", APPLICATION)
            connection.pragma("user_version", VERSION)

    def _check_pages(self, connection: apsw.Connection, how: str) -> None:
        found = connection.pragma(how, 1)
        if found != "ok":
            raise DamagedLogError(f"{self.path} is damaged ({found}); put back a copy of it")

    def _checked_tail(self, length: int) -> bytes:
        """The last entry's seal, once those of the last ``length`` entries have been checked."""
        execute = self._reader.execute
        last = self.last()[0]
        if (execute("SELECT max(seq) FROM snapshots").get or 0) > last:
            raise DamagedLogError(f"{self.path} has lost its last entries; put back a copy of it")
        expected = max(last - length, 0)
        last_seal: bytes = GENESIS
        if expected:
            last_seal = execute("SELECT seal FROM entries WHERE seq = ?", (expected,)).get
        for *columns, kept in execute(
            f"SELECT {_COLUMNS}, seal FROM entries WHERE seq > ? ORDER BY seq", (expected,)
        ):
            entry, expected = Entry(*columns), expected + 1
            if entry.seq != expected or last_seal is None:
                raise DamagedLogError(f"{self.path} lacks entry {expected}; put back a copy of it")
            last_seal = seal(last_seal, entry)
            if last_seal != kept and self._is_erased(entry, kept):
                last_seal = kept
            if last_seal != kept:
                raise DamagedLogError(
                    f"entry {entry.seq} of {self.path} was changed; put back a copy"
                )
        return last_seal

    def _is_erased(self, entry: Entry, kept: bytes) -> bool:
        """Whether a later entry attests that this one's body is what an erasure left of it."""
        found = self._reader.execute(
            "SELECT body FROM entries WHERE policy = ? AND step = ? AND kind = 'erased'",
            (entry.policy, entry.step),
        )
        attested = [(event.seq, event.seal, event.body) for event in map(erasure, found)]
        if (entry.seq, kept.hex(), hashlib.sha256(entry.body).hexdigest()) not in attested:
            return False
        decided = entry.event
        return isinstance(decided, Decided) and decided.erased

    def _committed(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._pages_in_wal = pages
        return 0

    # ---------------------------------------------------------------- writing

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries in one transaction."""
        last = self._seal
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
            self._seal = last
            self._checkpoint()
        except apsw.Error as error:
            raise translated(self.path, error) from error

    def erase(self, seq: int, body: bytes, erased: Entry) -> None:
        """Replace a body for good: freed pages are overwritten, the write-ahead log is emptied."""
        last = seal(self._seal, erased)
        with disk(self.path):
            self._writer.pragma("secure_delete", True)
            with self._writer:
                self._writer.execute("DROP TRIGGER entries_stay")
                self._writer.execute("UPDATE entries SET body = ? WHERE seq = ?", (body, seq))
                self._writer.execute(TABLES)
                self._writer.execute("DELETE FROM snapshots WHERE policy = ?", (erased.policy,))
                self._insert([(*erased, last)])
            self._seal = last
            with suppress(apsw.BusyError):  # another program reads: at the next start then
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._pages_in_wal = 0

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
        content = _snapshot_seal(policy, seq, content) + content
        with disk(self.path), self._writer:
            self._writer.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (policy, seq, content)
            )
            self._writer.execute(
                "DELETE FROM snapshots WHERE policy = ? AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE policy = ? ORDER BY seq DESC LIMIT ?)",
                (policy, policy, _SNAPSHOTS_KEPT),
            )

    # ---------------------------------------------------------------- reading

    def last(self) -> tuple[int, float]:
        """Number and time of the last entry."""
        with disk(self.path), self._reading:
            newest = "SELECT seq, at FROM entries ORDER BY seq DESC LIMIT 1"
            row: Any = self._reader.execute(newest).fetchone()
        return row or (0, 0.0)

    def seal_of(self, seq: int) -> bytes:
        """The seal of an entry."""
        with disk(self.path), self._reading:
            kept = self._reader.execute("SELECT seal FROM entries WHERE seq = ?", (seq,)).get
        return bytes(kept)

    def read(self, policy: str, after: int = 0, before: int | None = None) -> Iterator[Entry]:
        """A deployment's entries, a few hundred at a time."""
        while True:
            found = self._select(
                "policy = ? AND seq > ? AND seq < ? ORDER BY seq LIMIT 500",
                (policy, after, before or 2**62),
            )
            if not found:
                return
            yield from found
            after = found[-1].seq

    def about(self, policy: str, step: int) -> list[Entry]:
        """The entries about a decision."""
        return self._select("policy = ? AND step = ? ORDER BY seq", (policy, step))

    def with_key(self, policy: str, key: str) -> Entry | None:
        """The entry with this key."""
        found = self._select("policy = ? AND key = ?", (policy, key))
        return found[0] if found else None

    def keys(self) -> Iterator[tuple[str, str]]:
        """The policy and the idempotency key of each entry that has one."""
        with disk(self.path):
            yield from self._reader.execute("SELECT policy, key FROM entries WHERE key IS NOT NULL")

    def audit(self, policy: str, before: int | None = None, limit: int = 100) -> list[Entry]:
        """The newest audited entries."""
        return self._select(
            f"policy = ? AND seq < ? AND kind IN ({AUDITED_KINDS}) ORDER BY seq DESC LIMIT ?",
            (policy, before or 2**62, limit),
        )

    def policies(self) -> list[Entry]:
        """The entries that created deployments."""
        return self._select("kind = 'created' ORDER BY seq", ())

    def snapshot(self, policy: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot that is old enough, and as it was written."""
        while True:
            with disk(self.path), self._reading:
                row = self._reader.execute(
                    "SELECT seq, content FROM snapshots WHERE policy = ? AND seq < ? "
                    "ORDER BY seq DESC LIMIT 1",
                    (policy, before or 2**62),
                ).fetchone()
            if row is None:
                return None
            before, content = row[0], _unsealed(policy, *row)
            if content is not None:
                return before, content

    def changed_snapshots(self) -> list[tuple[str, int]]:
        """Policy and entry of the snapshots that are not as they were written."""
        with disk(self.path), self._reading:
            rows = self._reader.execute("SELECT policy, seq, content FROM snapshots")
            return [(row[0], row[1]) for row in rows if _unsealed(*row) is None]

    def check(self) -> int:
        """SQLite's own check, each entry's form, and every seal."""
        with disk(self.path):
            self._check_pages(self._reader, "integrity_check")
            self._checked_tail(2**62)
            count = 0
            for row in self._reader.execute(f"SELECT {_COLUMNS} FROM entries"):
                entry = Entry(*row)
                if (entry.kind, entry.step) != (kind_of(entry.event), step_of(entry.event)):
                    raise DamagedLogError(
                        f"entry {entry.seq} of {self.path} was changed; put back a copy"
                    )
                count += 1
            return count

    def _select(self, condition: str, values: tuple[object, ...]) -> list[Entry]:
        with disk(self.path), self._reading:
            rows = self._reader.execute(f"SELECT {_COLUMNS} FROM entries WHERE {condition}", values)
            return [Entry(*row) for row in rows]

    def close(self) -> None:
        """Close the file, and let others open it."""
        self._aside.shutdown()
        with self._reading:
            for connection in (self._copier, self._reader, self._writer):
                with suppress(apsw.Error):
                    connection.close(True)
        self._lock.close()


def _snapshot_seal(policy: str, seq: int, content: bytes) -> bytes:
    return hashlib.sha256(f"{policy}\0{seq}\0".encode() + content).digest()


def _unsealed(policy: str, seq: int, sealed: bytes) -> bytes | None:
    """A snapshot's content, or None if it is not what was written for this policy and entry."""
    seal, content = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    return content if seal == _snapshot_seal(policy, seq, content) else None
