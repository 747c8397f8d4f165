"""Reading a log that lies in tables: entries, snapshots, and whether all is as it was written.

SQLite and PostgreSQL are asked the same questions; each has a reader that knows how to ask.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.entries import (
    GENESIS,
    Digest,
    Entry,
    Head,
    hash_of,
    kind_of,
    seal,
    step_of,
)
from greedyfirst.service.log.events import DAILY, Alarmed, Decided, Erased, Fed, Reduced

if TYPE_CHECKING:
    from greedyfirst.service.log.key_tables import AccessKey, KeyTables

#: In SQL, as the index has it: entries of the audit list.
IS_AUDITED = f"kind NOT IN ({', '.join(repr(kind) for kind in DAILY)})"
_SEAL_BYTES = 32
_COLUMNS = "seq, at, policy, kind, step, key, body"
_END = 2**62
_AT_ONCE, _KEYS_AT_ONCE = 500, 10_000
#: Is told how many entries more have been dealt with.
Advance = Callable[[int], None]


def silently(_: int) -> None:
    """Nobody asks how far it is."""


class TableReader(ABC):
    """A log that is only read; ``name`` is what errors call it."""

    name: str

    @abstractmethod
    def rows(
        self, sql: str, values: tuple[object, ...] = (), *, long: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows that a query finds, with ``?`` for each value.

        ``long`` reads are done beside the others, which need not wait for them.
        """

    @property
    @abstractmethod
    def key_tables(self) -> KeyTables:
        """The tables of keys beside the log."""

    @abstractmethod
    def check_storage(self) -> None:
        """Refuse a damaged store, by what it can tell without reading every entry."""

    def access_keys(self) -> list[AccessKey]:
        """The keys beside the log."""
        return self.key_tables.read()

    def last(self, policy: str | None = None) -> tuple[int, float]:
        """Number and time of the last entry, of one policy or of all; zeros if there is none."""
        of_it, values = ("", ()) if policy is None else ("WHERE policy = ? ", (policy,))
        found = self.rows(f"SELECT seq, at FROM entries {of_it}ORDER BY seq DESC LIMIT 1", values)
        return (found[0][0], found[0][1]) if found else (0, 0.0)

    def head_at(self, seq: int) -> Head | None:
        """The head when entry ``seq`` was the last one; None if there is no such entry."""
        if seq == 0:
            return Head(0, GENESIS)
        found = self.rows("SELECT seal FROM entries WHERE seq = ?", (seq,))
        return Head(seq, found[0][0]) if found else None

    def head(self) -> Head:
        """The end of the log."""
        found = self.head_at(self.last()[0])
        assert found is not None
        return found

    def read(self, policy: str, after: int = 0, before: int | None = None) -> Iterator[Entry]:
        """A deployment's entries, a few hundred at a time."""
        while found := self.rows(
            f"SELECT {_COLUMNS} FROM entries WHERE policy = ? AND seq > ? AND seq < ? "
            f"ORDER BY seq LIMIT {_AT_ONCE}",
            (policy, after, before or _END),
            long=True,
        ):
            yield from (Entry(*row) for row in found)
            after = found[-1][0]

    def sealed(self, after: int = 0, advance: Advance = silently) -> Iterator[tuple[Entry, bytes]]:
        """All entries after that number with their seals, a few hundred at a time."""
        return self._sealed("", (), after, advance)

    def sealed_of(
        self, policy: str, after: int, last: int | None = None
    ) -> Iterator[tuple[Entry, bytes]]:
        """A deployment's entries with their seals, with after < seq ≤ last."""
        return self._sealed("policy = ? AND seq <= ? AND ", (policy, last or _END), after, silently)

    def _sealed(
        self, those: str, values: tuple[object, ...], after: int, advance: Advance
    ) -> Iterator[tuple[Entry, bytes]]:
        while found := self.rows(
            f"SELECT {_COLUMNS}, seal FROM entries WHERE {those}seq > ? "
            f"ORDER BY seq LIMIT {_AT_ONCE}",
            (*values, after),
            long=True,
        ):
            yield from ((Entry(*row[:-1]), row[-1]) for row in found)
            after = found[-1][0]
            advance(len(found))

    def about(self, policy: str, step: int) -> list[Entry]:
        """The entries about a decision."""
        return self._select("policy = ? AND step = ? ORDER BY seq", (policy, step))

    def with_key(self, policy: str, key: str) -> Entry | None:
        """The entry with this key."""
        found = self._select("policy = ? AND key = ?", (policy, key))
        return found[0] if found else None

    def keys(self, policy: str | None = None) -> Iterator[tuple[str, str]]:
        """The policy and the idempotency key of each entry that has one; of one policy or all."""
        of_it, values = ("", ()) if policy is None else ("AND policy = ? ", (policy,))
        last: tuple[str, str] = (policy or "", "")
        while found := self.rows(
            "SELECT policy, key FROM entries WHERE key IS NOT NULL AND (policy, key) > (?, ?) "
            f"{of_it}ORDER BY policy, key LIMIT {_KEYS_AT_ONCE}",
            (*last, *values),
            long=True,
        ):
            for row in found:
                last = (row[0], row[1])
                yield last

    def audit(self, policy: str, before: int | None = None, limit: int = 100) -> list[Entry]:
        """The newest audited entries."""
        return self._select(
            f"policy = ? AND seq < ? AND {IS_AUDITED} ORDER BY seq DESC LIMIT ?",
            (policy, before or _END, limit),
        )

    def decisions_before(self, policy: str, seq: int | None) -> int:
        """The number of the last decision before entry ``seq``."""
        found = self.rows(
            "SELECT step FROM entries WHERE policy = ? AND seq < ? AND kind = 'decided' "
            "ORDER BY seq DESC LIMIT 1",
            (policy, seq or _END),
        )
        return int(found[0][0]) if found else 0

    def policies(self) -> list[Entry]:
        """The entries that created deployments."""
        # In the order of the index, which SQLite then takes instead of reading the whole log.
        created = self._select(f"{IS_AUDITED} AND kind = 'created' ORDER BY policy, seq", ())
        return sorted(created, key=lambda entry: entry.seq)

    def _select(self, condition: str, values: tuple[object, ...]) -> list[Entry]:
        found = self.rows(f"SELECT {_COLUMNS} FROM entries WHERE {condition}", values)
        return [Entry(*row) for row in found]

    def snapshot(self, policy: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot that is old enough, and as it was written."""
        while found := self.rows(
            "SELECT seq, content FROM snapshots WHERE policy = ? AND seq < ? "
            "ORDER BY seq DESC LIMIT 1",
            (policy, before or _END),
        ):
            before = found[0][0]
            content = _unsealed(policy, *found[0])
            if content is not None:
                return before, content
        return None

    def changed_snapshots(self) -> list[tuple[str, int]]:
        """Policy and entry of the snapshots that are not as they were written."""
        return [(policy, seq) for policy, seq, kept in self.kept_snapshots() if kept is None]

    def kept_snapshots(self) -> Iterator[tuple[str, int, bytes | None]]:
        """Policy and entry of each snapshot, and the row with its seal; None if it was changed."""
        for policy, seq in self.rows("SELECT policy, seq FROM snapshots ORDER BY policy, seq"):
            for (kept,) in self.rows(
                "SELECT content FROM snapshots WHERE policy = ? AND seq = ?",
                (policy, seq),
                long=True,
            ):
                yield policy, seq, None if _unsealed(policy, seq, kept) is None else kept

    # ---------------------------------------------------------------- checks

    def check(self, advance: Advance = silently) -> int:
        """The store's own check, every seal, and each entry's form: two passes over the entries."""
        self.check_storage()
        head = self.checked_tail(_END, advance)
        for entry, _ in self.sealed(advance=advance):
            if (entry.kind, entry.step) != (kind_of(entry.event), step_of(entry.event)):
                raise DamagedLogError(
                    f"entry {entry.seq} of {self.name} was changed; put back a copy"
                )
        return head.seq

    def checked_tail(self, length: int, advance: Advance = silently) -> Head:
        """The head, once the seals of the last ``length`` entries have been checked."""
        last = self.last()[0]
        if (self.rows("SELECT max(seq) FROM snapshots")[0][0] or 0) > last:
            raise DamagedLogError(f"{self.name} has lost its last entries; put back a copy of it")
        expected = max(last - length, 0)
        before = self.head_at(expected)
        last_seal = None if before is None else before.seal
        #: By policy and the decision that was erased: the entries that this left so.
        left_over: dict[tuple[str, int], set[int]] = {}
        for entry, kept in self.sealed(expected, advance):
            expected += 1
            if entry.seq != expected or last_seal is None:
                raise DamagedLogError(f"{self.name} lacks entry {expected}; put back a copy of it")
            last_seal = seal(last_seal, entry)
            if last_seal != kept and self._is_attested(entry, kept, left_over):
                last_seal = kept
            if last_seal != kept or entry.key == "":  # whose seal is that of no key
                raise DamagedLogError(
                    f"entry {entry.seq} of {self.name} was changed; put back a copy"
                )
        return Head(expected, GENESIS if last_seal is None else last_seal)

    def _is_attested(
        self, entry: Entry, kept: bytes, left_over: dict[tuple[str, int], set[int]]
    ) -> bool:
        """Whether a later entry attests that this one's body is what an erasure left of it."""
        event = entry.event
        if isinstance(event, Decided) and event.erased:
            erased = self._erasure_of(entry)
            attested = erased and (erased.seq, erased.seal, erased.body)
            return (entry.seq, kept.hex(), hash_of(entry.body)) == attested
        if not isinstance(event, (Decided, Alarmed, Fed)) or event.reduced is None:
            return False
        cause = entry.policy, event.reduced
        if cause not in left_over:
            left_over[cause] = self._left_over(*cause)
        return entry.seq in left_over[cause]

    def _erasure_of(self, entry: Entry) -> Erased | None:
        """The event of the erasure of the decision that an entry is about."""
        about = self._select("policy = ? AND step = ?", (entry.policy, entry.step))
        return next((each.event for each in about if isinstance(each.event, Erased)), None)

    def _left_over(self, policy: str, step: int) -> set[int]:
        """The entries that an erasure reduced, of which all are what it left."""
        kept: defaultdict[str, set[int]] = defaultdict(set)
        for each in self._select("policy = ? AND step = ?", (policy, step)):
            event = each.event
            if not isinstance(event, Reduced):
                continue
            digest = Digest()
            for entry, kept_seal in self.sealed_of(policy, event.first - 1, event.last):
                left = entry.event
                if getattr(left, "reduced", None) != step:
                    continue
                body = hash_of(entry.body)
                if isinstance(left, Decided) and left.erased:  # after it was reduced
                    erased = self._erasure_of(entry)
                    body = (erased and erased.before) or body
                digest.add(entry.seq, kept_seal, body)
                kept[event.digest].add(entry.seq)
            if str(digest) != event.digest:
                kept.pop(event.digest, None)
        return set().union(*kept.values())


def sealed_snapshot(policy: str, seq: int, content: bytes) -> bytes:
    """A snapshot behind its seal."""
    return _snapshot_seal(policy, seq, content) + content


def _snapshot_seal(policy: str, seq: int, content: bytes) -> bytes:
    return hashlib.sha256(f"{policy}\0{seq}\0".encode() + content).digest()


def _unsealed(policy: str, seq: int, sealed: bytes) -> bytes | None:
    """A snapshot's content, or None if it is not what was written for this policy and entry."""
    kept, content = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    return content if kept == _snapshot_seal(policy, seq, content) else None
