"""What a log has about decisions and keys, read before the turn of the event loop that needs it.

Where a read may have to wait for another machine, a thread reads, and only the request that asked
waits. The turn that changes a state then finds in memory what it asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.log import Log

#: Reads at a time; one connection is for the short ones, another for the long.
_THREADS = 4
T = TypeVar("T")


class _Held:
    """The entries about a decision, or with a key, while somebody needs them."""

    def __init__(self, on_their_way: Sequence[Entry]) -> None:
        self.users = 0
        self.known: list[Entry] = []
        #: Those that were on their way when the reading began, or have come since.
        self.since = [*on_their_way]

    def entries(self) -> list[Entry]:
        """All of them, once, whatever their numbers are in the log."""
        on_disk = {entry[1:] for entry in self.known}
        return self.known + [entry for entry in self.since if entry[1:] not in on_disk]


class ReadingAhead:
    """Reads a log beside the event loop, if its reads may have to wait."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._threads = ThreadPoolExecutor(_THREADS, "reading") if log.remote else None
        self._held: dict[tuple[str, int | str], _Held] = {}

    async def run(self, read: Callable[..., T], *args: Any) -> T:
        """What a read gives; in a thread if it may have to wait."""
        if self._threads is None:
            return read(*args)
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, *args)

    @asynccontextmanager
    async def held(
        self,
        policy: str,
        wanted: Sequence[int | str],
        on_their_way: Callable[[str, int | str], Sequence[Entry]],
    ) -> AsyncIterator[None]:
        """Have the entries about these decisions, by number, or with these keys, in memory."""
        places = [(policy, each) for each in wanted]
        for place in places:
            self._held.setdefault(place, _Held(on_their_way(*place))).users += 1
        try:
            for place, found in zip(places, await self.run(self._read, places), strict=True):
                self._held[place].known = found
            yield
        finally:
            for place in places:
                self._held[place].users -= 1
                if not self._held[place].users:
                    del self._held[place]

    def _read(self, places: Sequence[tuple[str, int | str]]) -> list[list[Entry]]:
        found = []
        for policy, each in places:
            if isinstance(each, int):
                found.append(self._log.about(policy, each))
            else:
                with_key = self._log.with_key(policy, each)
                found.append([] if with_key is None else [with_key])
        return found

    def add(self, entry: Entry) -> None:
        """An entry more, which is on its way to the log."""
        if self._held:
            for each in (entry.step, entry.key):
                held = None if each is None else self._held.get((entry.policy, each))
                if held is not None:
                    held.since.append(entry)

    def entries(self, policy: str, about: int | str) -> list[Entry] | None:
        """Those about a decision, or with a key; None if they are not held."""
        held = self._held.get((policy, about))
        return None if held is None else held.entries()

    def close(self) -> None:
        """Read nothing more; what is being read ends by itself."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
