"""Blocks on threads of this process: compiled loops run without the GIL."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from itertools import islice

from greedyfirst.engines.engine import Arrays, Results, Task, stacked

#: Blocks that are running or wait for their turn, per thread.
BLOCKS_PER_THREAD = 2


class Threads:
    """An engine of ``n_jobs`` threads; one works in the caller's own."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(self, task: Task, blocks: Sequence[range]) -> Results:
        """Places and results, in the order of the blocks.

        The first thread's work is prepared here, so that kernels are compiled before others start.
        """
        local = threading.local()
        stopping = threading.Event()
        local.work = task.prepare()

        def run_block(place: int) -> tuple[int, Arrays]:
            if not hasattr(local, "work"):
                local.work = task.prepare()
            done: list[Arrays] = []
            for item in blocks[place]:
                if stopping.is_set():
                    raise CancelledError
                done.append(local.work(item))
            return place, stacked(done)

        places = iter(range(len(blocks)))
        if self.n_jobs == 1:
            yield from map(run_block, places)
            return
        with ThreadPoolExecutor(self.n_jobs) as pool:
            waiting: list[Future[tuple[int, Arrays]]] = [
                pool.submit(run_block, place)
                for place in islice(places, BLOCKS_PER_THREAD * self.n_jobs)
            ]
            try:
                while waiting:
                    done = waiting.pop(0).result()
                    waiting.extend(pool.submit(run_block, place) for place in islice(places, 1))
                    yield done
            finally:
                stopping.set()
                for future in waiting:
                    future.cancel()
