"""Long work beside the event loop: a few threads for each kind, with a short queue before them.

A kind cannot keep another one waiting, nor requests, and what does not fit into its queue is
refused at once instead of being remembered.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from greedyfirst.service.errors import UnavailableError

T = TypeVar("T")


class Limit(NamedTuple):
    """Of one kind of work: threads, and jobs that may wait for one."""

    threads: int
    waiting: int


#: "recompute": decisions made again from the log; "export": Parquet files; "report": how diverse
#: the samples of wide policies are; "learn": new policies, and learning the past again.
LIMITS = {
    "recompute": Limit(1, 8),
    "export": Limit(1, 4),
    "report": Limit(1, 16),
    "learn": Limit(1, 4),
}


class Workers:
    """Runs functions in threads; ``limits`` by kind of work."""

    def __init__(self, limits: dict[str, Limit] = LIMITS) -> None:
        self._limits = limits
        self._pools = {
            kind: ThreadPoolExecutor(limit.threads, thread_name_prefix=kind)
            for kind, limit in limits.items()
        }
        self._counting = threading.Lock()
        #: Jobs that run or wait, by kind.
        self.jobs = dict.fromkeys(limits, 0)

    async def run(self, kind: str, function: Callable[..., T], *args: Any) -> T:
        """The function's result; UnavailableError if too many jobs of its kind are under way."""
        limit = self._limits[kind]
        with self._counting:
            if self.jobs[kind] >= limit.threads + limit.waiting:
                raise UnavailableError(
                    f"{self.jobs[kind]} long jobs of this kind ({kind}) are under way; try again"
                )
            self.jobs[kind] += 1
        job = self._pools[kind].submit(function, *args)
        # Not when the caller leaves: the thread goes on.
        job.add_done_callback(lambda _: self._ended(kind))
        return await asyncio.wrap_future(job)

    def _ended(self, kind: str) -> None:
        with self._counting:
            self.jobs[kind] -= 1

    def close(self) -> None:
        """Begin no job that waits; those that run end by themselves."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
