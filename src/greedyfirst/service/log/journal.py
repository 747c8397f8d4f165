"""Group commit: one thread writes what has gathered, and answers wait until it is on disk.

Requests are handled one after the other on the event loop. Each adds its entries here and then
waits; meanwhile others are handled and add theirs. The thread writes all that has gathered in one
transaction. An answer goes out only when everything that was added before it is on disk, so that it
cannot tell of anything that a crash would undo.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from greedyfirst.service.errors import InvalidError, RequestError, UnavailableError
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import AnyEvent, Event
from greedyfirst.service.log.log import Log
from greedyfirst.service.log.reading_ahead import ReadingAhead

# 16 MB. With a million keys one new key in 130 is looked up all the same, with a hundred million
# every second one.
_BITS = 2**27
#: Made by the thread: a deployment's snapshot after its last entry before this in the queue.
Snapshot = tuple[str, Callable[[], bytes]]


#: Numbers of entries, each with what an erasure leaves of its body.
Bodies = Sequence[tuple[int, bytes]]


class Erasure(NamedTuple):
    """An entry that attests the erasure of earlier ones, and what is left of those."""

    bodies: Bodies
    entry: Entry


class KeyFilter:
    """Which idempotency keys are certainly new, without a look into the log.

    Every (policy, key) has one bit, and may share it: the set may hold more than was added, but
    never less.
    """

    def __init__(self, keys: Iterable[tuple[str, str]] = ()) -> None:
        self._bits = bytearray(_BITS // 8)
        for policy, key in keys:
            self.add(policy, key)

    def add(self, policy: str, key: str) -> None:
        """Take in a key."""
        place = hash((policy, key)) % _BITS
        self._bits[place >> 3] |= 1 << (place & 7)

    def merge(self, other: KeyFilter) -> None:
        """Take in all keys of another one."""
        bits = np.frombuffer(self._bits, np.uint8)
        bits |= np.frombuffer(other._bits, np.uint8)

    def may_have(self, policy: str, key: str) -> bool:
        """False if the key was never added."""
        place = hash((policy, key)) % _BITS
        return bool(self._bits[place >> 3] >> (place & 7) & 1)


#: What the thread is given; an event is set once all before it is written, or never will be.
Item = Entry | Erasure | Snapshot | threading.Event


class Journal:
    """The log, with entries that are on their way to it.

    Entries are counted here as they are added; the log numbers them when it writes them, which is
    the same where nobody else writes it. ``failure`` says why nothing can be written any more, None
    while all is well. Whoever adds entries or waits for them looks at it first, once: it changes
    only between two turns of the event loop.
    """

    def __init__(
        self, log: Log, keys: KeyFilter | None = None, last: tuple[int, float] | None = None
    ) -> None:
        self.log, self.ahead = log, ReadingAhead(log)
        self._keys = KeyFilter(log.keys()) if keys is None else keys
        #: The number in the log of each policy's last entry; the thread's, once there is one.
        self._numbers: dict[str, int] = {}
        self.added, self.latest = log.last() if last is None else last
        self.written = self.added
        self.failure: str | None = None
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._unwritten: deque[Entry] = deque()
        self._by_key: dict[tuple[str, str], Entry] = {}
        self._by_step: dict[tuple[str, int], list[Entry]] = {}
        #: When the write began that is under way.
        self._writing_since: float | None = None
        self._gathered: list[Item | None] = []
        self._queue: SimpleQueue[list[Item | None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def add(
        self,
        event: Event,
        *,
        at: float,
        policy: str,
        key: str | None = None,
        erases: Bodies | None = None,
    ) -> Entry:
        """Add an event as the next entry; ``erases``: earlier entries, and their new bodies."""
        entry = Entry.of(event, seq=self.added + 1, at=at, policy=policy, key=key)
        self.added = entry.seq
        self._unwritten.append(entry)
        if self.log.remote:
            self.ahead.add(entry)
        if key is not None:
            self._by_key[policy, key] = entry
            self._keys.add(policy, key)
        if entry.step is not None:
            self._by_step.setdefault((policy, entry.step), []).append(entry)
        self._gather(entry if erases is None else Erasure(erases, entry))
        return entry

    def know(self, policy: str, number: int, keys: KeyFilter | None = None) -> None:
        """A policy whose entries up to that number are in its state, and keys that it has used."""
        self._numbers[policy] = number
        if keys is not None:
            self._keys.merge(keys)

    def keep(self, policy: str, content: Callable[[], bytes]) -> None:
        """Have a snapshot of the state after the policy's last entry made and kept."""
        self._gather((policy, content))

    def _gather(self, item: Item) -> None:
        """Leave it for the thread, which is woken once for all that the loop has at hand."""
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(item)

    def _hand_over(self) -> None:
        self._queue.put(self._gathered)
        self._gathered = []

    async def durable(self) -> None:
        """Wait until everything added so far is on disk."""
        if self.written < self.added:
            done: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append((self.added, done))
            await done

    def at_hand(
        self, policy: str, *, steps: Sequence[int] = (), key: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Read what these decisions and this key need before the event loop asks for it."""
        wanted: list[int | str] = [*steps]
        if key is not None and self._keys.may_have(policy, key):
            wanted.append(key)
        if not (wanted and self.log.remote):
            return nullcontext()
        return self.ahead.held(policy, wanted, self._on_their_way)

    def _on_their_way(self, policy: str, about: int | str) -> Sequence[Entry]:
        if isinstance(about, int):
            return self._by_step.get((policy, about), ())
        entry = self._by_key.get((policy, about))
        return () if entry is None else (entry,)

    def with_key(self, policy: str, key: str) -> Entry | None:
        """The entry with this idempotency key."""
        if not self._keys.may_have(policy, key):
            return None
        held = self.ahead.entries(policy, key)
        if held is not None:
            return held[0] if held else None
        return self._by_key.get((policy, key)) or self.log.with_key(policy, key)

    def sent_before(
        self, policy: str, key: str | None, is_same: Callable[[AnyEvent], bool]
    ) -> AnyEvent | None:
        """The event of an earlier request with this key; an error unless it asked for the same."""
        if key is None:
            return None
        if not 1 <= len(key) <= 200:
            raise InvalidError("Idempotency-Key must have 1 to 200 characters")
        known = self.with_key(policy, key)
        if known is None:
            return None
        event = known.event
        if not is_same(event):
            raise InvalidError("Idempotency-Key was used for another request")
        return event

    def about(self, policy: str, step: int) -> list[Entry]:
        """The entries about a decision."""
        on_its_way = self._by_step.get((policy, step), [])
        if on_its_way and on_its_way[0].kind == "decided":
            return on_its_way
        held = self.ahead.entries(policy, step)
        if held is not None:
            return held
        known = self.log.about(policy, step)
        on_disk = {entry[1:] for entry in known}  # whatever its number is there
        return known + [entry for entry in on_its_way if entry[1:] not in on_disk]

    def end(self) -> Callable[[], None]:
        """Have what is left written; what is returned waits until it is, on any thread."""
        self._gathered.append(None)
        self._hand_over()
        self.ahead.close()
        return self._thread.join

    def written_out(self) -> Callable[[], object]:
        """Have all written that was added; what is returned waits for it, on any thread."""
        reached = threading.Event()
        self._gather(reached)
        return reached.wait

    def close(self) -> None:
        """Write what is left and end the thread."""
        self.end()()

    def stands_still(self, seconds: float) -> bool:
        """Whether a write takes longer than that; any thread may ask."""
        since = self._writing_since
        return since is not None and time.monotonic() - since > seconds

    def _write(self) -> None:
        """The thread: write all that has gathered in one transaction, and tell the loop."""
        open_ = True
        while open_:
            gathered = self._queue.get()
            while not self._queue.empty():
                gathered += self._queue.get()
            self._writing_since = time.monotonic()
            try:
                for policy, number, content in self._write_entries(gathered):
                    self.log.save_snapshot(policy, number, content())
                open_ = None not in gathered
            except Exception as error:  # whatever it is: nothing may be acknowledged any more
                self._tell(self.fail, str(error))
                return
            finally:
                self._writing_since = None
                for item in gathered:
                    if isinstance(item, threading.Event):
                        item.set()

    def _write_entries(
        self, gathered: list[Item | None]
    ) -> list[tuple[str, int, Callable[[], bytes]]]:
        """All entries, in one transaction up to each erasure; snapshots, with their numbers."""
        due: list[tuple[str, int, Callable[[], bytes]]] = []
        until_erasure: list[Entry | Snapshot] = []
        for item in gathered:
            if isinstance(item, Erasure):
                due += self._append(until_erasure)
                policy = item.entry.policy
                self._numbers[policy] = self.log.erase(*item)
                due = [each for each in due if each[0] != policy]  # they may hold what was erased
                self._tell(self._have_written, item.entry.seq)
                until_erasure = []
            elif item is not None and not isinstance(item, threading.Event):
                until_erasure.append(item)
        return due + self._append(until_erasure)

    def _append(self, items: list[Entry | Snapshot]) -> list[tuple[str, int, Callable[[], bytes]]]:
        """Write the entries among the items; the snapshots, each with its policy's last entry."""
        entries = [item for item in items if isinstance(item, Entry)]
        number = self.log.append(entries) if entries else 0
        snapshots = []
        for item in items:
            if isinstance(item, Entry):
                self._numbers[item.policy] = number
                number += 1
            else:
                snapshots.append((item[0], self._numbers[item[0]], item[1]))
        if entries:
            self._tell(self._have_written, entries[-1].seq)
        return snapshots

    def _tell(self, callback: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(callback, *args)

    def _have_written(self, seq: int) -> None:
        """Everything up to the ``seq``-th is on disk."""
        self.written = seq
        while self._unwritten and self._unwritten[0].seq <= seq:
            entry = self._unwritten.popleft()
            if entry.key is not None:
                del self._by_key[entry.policy, entry.key]
            if entry.step is not None:
                about = self._by_step[entry.policy, entry.step]
                about.remove(entry)
                if not about:
                    del self._by_step[entry.policy, entry.step]
        while self._waiting and self._waiting[0][0] <= seq:
            done = self._waiting.popleft()[1]
            if not done.done():
                done.set_result(None)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Have the state restored from the log where a change to it breaks half-way."""
        try:
            yield
        except RequestError:
            raise
        except Exception as error:
            self.fail(f"the state has to be made again: {type(error).__name__}")
            raise

    def fail(self, reason: str) -> None:
        """Write nothing more; the service opens the log again and restores the state from it."""
        self.failure = reason
        while self._waiting:
            done = self._waiting.popleft()[1]
            if not done.done():
                done.set_exception(
                    UnavailableError(f"it could not be recorded ({reason}); send the same again")
                )
