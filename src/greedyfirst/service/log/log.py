"""What the service needs of a durable log. A log in another store than SQLite is one more file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from greedyfirst.service.log.entries import Entry, Head
from greedyfirst.service.log.ownership import Ownership


class ReadableLog(Protocol):
    """A log of entries and a cache of snapshots beside it, to be read."""

    def last(self, policy: str | None = None) -> tuple[int, float]:
        """Number and time of the last entry, of one policy or of all; zeros if there is none."""

    def head(self) -> Head:
        """The end of what is on disk."""

    def head_at(self, seq: int) -> Head | None:
        """The head when entry ``seq`` was the last one; None if there is no such entry."""

    def read(self, policy: str, after: int = 0, before: int | None = None) -> Iterator[Entry]:
        """A deployment's entries in order, with after < seq < before."""

    def sealed_of(
        self, policy: str, after: int, last: int | None = None
    ) -> Iterator[tuple[Entry, bytes]]:
        """A deployment's entries with their seals, with after < seq ≤ last."""

    def about(self, policy: str, step: int) -> list[Entry]:
        """The entries about a decision, in order."""

    def with_key(self, policy: str, key: str) -> Entry | None:
        """The entry with this idempotency key."""

    def keys(self, policy: str | None = None) -> Iterator[tuple[str, str]]:
        """The policy and the idempotency key of each entry that has one; of one policy or all."""

    def audit(self, policy: str, before: int | None = None, limit: int = 100) -> list[Entry]:
        """The newest entries that are not the daily work, newest first."""

    def decisions_before(self, policy: str, seq: int | None) -> int:
        """How many decisions a deployment had made before entry ``seq``; None for all."""

    def policies(self) -> list[Entry]:
        """The entries that created deployments."""

    def snapshot(self, policy: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot as it was written, made before entry ``before``, with its ``seq``."""

    def changed_snapshots(self) -> list[tuple[str, int]]:
        """Policy and ``seq`` of snapshots that are not as they were written, so not taken."""

    def check(self) -> int:
        """Read all there is: the number of entries. Raises DamagedLogError where one is wrong."""


class Log(ReadableLog, Protocol):
    """An append-only log, which one service has at a time, or several with ``leases``.

    Methods raise :class:`~greedyfirst.service.errors.LogFailedError` when the disk fails, and leave
    the log readable once it is back.
    """

    #: Whether a read may have to wait for another machine.
    remote: bool

    @property
    def leases(self) -> Ownership | None:
        """Which policies this service owns; None if it has the log to itself."""

    def erase(self, bodies: Sequence[tuple[int, bytes]], erased: Entry) -> int:
        """Give these entries other bodies and add ``erased``, which attests that: all or nothing.

        The policy's snapshots are removed, since they may hold what was erased. The number of the
        added entry is returned.
        """

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries; they are on disk, all of them, when this returns the first one's number.

        They lie in the log one after the other. Where several services write it, they get other
        numbers there than they have in ``entries``.
        """

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        """Keep a deployment's state after entry ``seq``; a few of the newest are kept."""

    def wal_bytes(self) -> int | None:
        """Bytes that are on disk and not yet in the log's main file; None if it has no such."""

    def check_place(self) -> object:
        """Raise LogFailedError if others would not find any more what is written."""

    def reopened(self) -> Log:
        """Open the same log again after a failure, never another one; this one is closed.

        LogFailedError if it is not there, or lacks something that was acknowledged.
        """

    def close(self) -> None:
        """Free the files."""
