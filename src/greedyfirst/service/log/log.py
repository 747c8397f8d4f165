"""What the service needs of a durable log: one small interface, so that others than SQLite fit."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from greedyfirst.service.errors import Damaged
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent, Event

#: The chain before the first entry.
GENESIS = bytes(32)


class Entry(NamedTuple):
    """An event in the log, numbered 1, 2, … over all policies."""

    seq: int
    at: float  # seconds since 1970
    policy: str
    kind: str
    step: int | None  # the decision it is about
    key: str | None  # the caller's idempotency key
    body: bytes  # the event as JSON

    @classmethod
    def of(cls, event: Event, *, seq: int, at: float, policy: str, key: str | None) -> Entry:
        """The entry of an event."""
        kind, step = events.kind_of(event), events.step_of(event)
        return cls(seq, at, policy, kind, step, key, events.encode(event))

    @property
    def event(self) -> AnyEvent:
        """The event itself."""
        try:
            return events.decode(self.body)
        except msgspec.MsgspecError as error:
            raise Damaged(f"entry {self.seq} of the log cannot be read: {error}") from None


class LogFailed(OSError):
    """The log could not be written or read; what was to be appended may or may not be in it."""


class Log(Protocol):
    """An append-only log of entries, and a cache of snapshots beside it.

    Methods raise :class:`LogFailed` when the disk does, and leave the log readable once it is back.
    """

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; they are on disk, all of them, when this returns."""

    def last(self) -> tuple[int, float]:
        """Number and time of the last entry, zeros if there is none."""

    def read(self, policy: str, after: int = 0, before: int | None = None) -> Iterator[Entry]:
        """A policy's entries in order, with after < seq < before."""

    def about(self, policy: str, step: int) -> list[Entry]:
        """The entries about a decision, in order."""

    def with_key(self, policy: str, key: str) -> Entry | None:
        """The entry with this idempotency key."""

    def keys(self) -> Iterator[tuple[str, str]]:
        """The policy and the idempotency key of each entry that has one."""

    def audit(self, policy: str, before: int | None = None, limit: int = 100) -> list[Entry]:
        """The newest entries that a person or the diversity test caused, newest first."""

    def policies(self) -> list[Entry]:
        """The entries that created policies."""

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        """Keep a policy's state after entry ``seq``; a few of the newest are kept."""

    def snapshot(self, policy: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot as it was written, made before entry ``before``, with its ``seq``."""

    def changed_snapshots(self) -> list[tuple[str, int]]:
        """Policy and ``seq`` of snapshots that are not as they were written, so not taken."""

    def check(self) -> int:
        """Read all there is; the number of entries, or :class:`~.refusals.Damaged`."""

    def close(self) -> None:
        """Free the files."""


def link(chain: bytes, entry: Entry) -> bytes:
    """The seal of an entry: a hash of it and of the seal before, so that no edit goes unseen."""
    head = struct.pack("<qd", entry.seq, entry.at)
    names = f"{entry.policy}\0{entry.key or ''}\0".encode()
    return hashlib.sha256(chain + head + names + entry.body).digest()
