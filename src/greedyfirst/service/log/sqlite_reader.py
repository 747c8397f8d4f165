"""Reading a log in an SQLite file: entries, snapshots, and whether all is as it was written."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.entries import (
    GENESIS,
    Entry,
    Head,
    erasure,
    kind_of,
    seal,
    step_of,
)
from greedyfirst.service.log.events import Decided
from greedyfirst.service.log.sqlite_file import IS_AUDITED, disk

_SEAL_BYTES = 32
_COLUMNS = "seq, at, policy, kind, step, key, body"


class SqliteReader:
    """A log that is only read.

    Parameters
    ----------
    path
        The file, as errors name it.
    connection
        Where it is read.
    beside
        Where long reads are done, so that others need not wait for them; there too if not given.
    """

    def __init__(
        self, path: Path, connection: apsw.Connection, beside: apsw.Connection | None = None
    ) -> None:
        self.path = path
        self._reader, self._long_reader = connection, beside or connection
        #: A connection serves one thread at a time.
        self._reading = threading.Lock()
        self._reading_on = self._reading if beside is None else threading.Lock()

    @property
    def connection(self) -> apsw.Connection:
        """Where it is read."""
        return self._reader

    def last(self) -> tuple[int, float]:
        """Number and time of the last entry."""
        with disk(self.path), self._reading:
            newest = "SELECT seq, at FROM entries ORDER BY seq DESC LIMIT 1"
            row: Any = self._reader.execute(newest).fetchone()
        return row or (0, 0.0)

    def head_at(self, seq: int) -> Head | None:
        """The head when entry ``seq`` was the last one; None if there is no such entry."""
        if seq == 0:
            return Head(0, GENESIS)
        with disk(self.path), self._reading:
            kept = self._reader.execute("SELECT seal FROM entries WHERE seq = ?", (seq,)).get
        return None if kept is None else Head(seq, kept)

    def read(self, policy: str, after: int = 0, before: int | None = None) -> Iterator[Entry]:
        """A deployment's entries, a few hundred at a time."""
        while True:
            with disk(self.path), self._reading_on:
                rows = self._long_reader.execute(
                    f"SELECT {_COLUMNS} FROM entries WHERE policy = ? AND seq > ? AND seq < ? "
                    "ORDER BY seq LIMIT 500",
                    (policy, after, before or 2**62),
                )
                found = [Entry(*row) for row in rows]
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
            f"policy = ? AND seq < ? AND {IS_AUDITED} ORDER BY seq DESC LIMIT ?",
            (policy, before or 2**62, limit),
        )

    def decisions_before(self, policy: str, seq: int | None) -> int:
        """The number of the last decision before entry ``seq``."""
        with disk(self.path), self._reading:
            found = self._reader.execute(
                "SELECT step FROM entries WHERE policy = ? AND seq < ? AND kind = 'decided' "
                "ORDER BY seq DESC LIMIT 1",
                (policy, seq or 2**62),
            ).get
        return int(found or 0)

    def policies(self) -> list[Entry]:
        """The entries that created deployments."""
        # In the order of the index, which SQLite then takes instead of reading the whole log.
        created = self._select(f"{IS_AUDITED} AND kind = 'created' ORDER BY policy, seq", ())
        return sorted(created, key=lambda entry: entry.seq)

    def _select(self, condition: str, values: tuple[object, ...]) -> list[Entry]:
        with disk(self.path), self._reading:
            rows = self._reader.execute(f"SELECT {_COLUMNS} FROM entries WHERE {condition}", values)
            return [Entry(*row) for row in rows]

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

    def head(self) -> Head:
        """The end of the log."""
        found = self.head_at(self.last()[0])
        assert found is not None
        return found

    def check(self) -> int:
        """SQLite's own check, each entry's form, and every seal."""
        with disk(self.path):
            self.check_pages(self._reader, "integrity_check")
            head = self.checked_tail(2**62)
            for row in self._reader.execute(f"SELECT {_COLUMNS} FROM entries"):
                entry = Entry(*row)
                if (entry.kind, entry.step) != (kind_of(entry.event), step_of(entry.event)):
                    raise DamagedLogError(
                        f"entry {entry.seq} of {self.path} was changed; put back a copy"
                    )
            return head.seq

    def check_pages(self, connection: apsw.Connection, how: str) -> None:
        """Refuse a file whose pages do not fit together, by one of SQLite's own checks."""
        found = connection.pragma(how, 1)
        if found != "ok":
            raise DamagedLogError(f"{self.path} is damaged ({found}); put back a copy of it")

    def checked_tail(self, length: int) -> Head:
        """The head, once the seals of the last ``length`` entries have been checked."""
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
        return Head(expected, last_seal)

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

    def close(self) -> None:
        """Free the file."""
        with self._reading:
            self._reader.close(True)


def sealed_snapshot(policy: str, seq: int, content: bytes) -> bytes:
    """A snapshot behind its seal."""
    return _snapshot_seal(policy, seq, content) + content


def _snapshot_seal(policy: str, seq: int, content: bytes) -> bytes:
    return hashlib.sha256(f"{policy}\0{seq}\0".encode() + content).digest()


def _unsealed(policy: str, seq: int, sealed: bytes) -> bytes | None:
    """A snapshot's content, or None if it is not what was written for this policy and entry."""
    kept, content = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    return content if kept == _snapshot_seal(policy, seq, content) else None
