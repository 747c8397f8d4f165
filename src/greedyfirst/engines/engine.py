"""Work in blocks: what a task is, what an engine does with it, and in which order results come.

A **task** has numbered items, such as the instances of a simulation. An item's result depends on
the task and on its number alone. A **block** is a range of items, the unit that an engine hands
out. Its result is the results of its items, stacked: what is made of them in the order of the
items depends neither on the size of blocks nor on the engine, not in the last digit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from greedyfirst.validation import whole_number, wrong

if TYPE_CHECKING:
    from distributed import Client

#: Results of an item by name; of a block the same, with the items as the first axis.
Arrays = Mapping[str, NDArray[Any]]
Work = Callable[[int], Arrays]
#: Places of blocks and their results.
Results = Generator[tuple[int, Arrays], None, None]
A_CLIENT = 'None for threads, or a dask.distributed.Client (pip install "greedyfirst[cluster]")'


class Task(Protocol):
    """What is to be done; it travels to other processes by pickle."""

    def prepare(self) -> Work:
        """What does the work of one item at a time; each thread has one of its own."""


class Engine(Protocol):
    """Where blocks run."""

    def run(self, task: Task, blocks: Sequence[range]) -> Results:
        """Places in ``blocks`` and results, as they come; few are held at a time.

        Closing the iterator, as an error or Ctrl-C does, ends what has not started yet.
        """


class Where(TypedDict, total=False):
    """Where work runs: ``n_jobs`` threads, or a Dask client as ``engine``."""

    n_jobs: int
    engine: Client | None


class Spread(Where, total=False):
    """How blocks are spread: options that several functions have, and hand on.

    ``resume``: a directory of finished blocks.
    """

    resume: str | Path | None


def engine_for(
    n_jobs: int = 1, engine: Client | None = None, resume: str | Path | None = None
) -> Engine:
    """The engine that these options ask for."""
    chosen: Engine
    client = dask_client(n_jobs, engine)
    if client is None:
        from greedyfirst.engines.threads import Threads

        chosen = Threads(n_threads("n_jobs", n_jobs))
    else:
        from greedyfirst.engines.dask_cluster import DaskCluster

        chosen = DaskCluster(client)
    if resume is None:
        return chosen
    if not isinstance(resume, (str, Path)) or not str(resume):
        raise wrong("resume", resume, "a directory for finished blocks, or None")
    from greedyfirst.engines.resume import Resumed

    return Resumed(chosen, Path(resume))


def dask_client(n_jobs: int, engine: Client | None) -> Client | None:
    """The client that these options ask for, None for threads; refused if it is of no use."""
    if engine is None:
        return None
    if n_jobs != 1:
        raise wrong("n_jobs", n_jobs, "left out where an engine is given: it has its workers")
    # Half a second to import, and an extra that need not be there.
    try:
        from distributed import Client
    except ImportError:
        raise wrong("engine", engine, A_CLIENT) from None
    if not isinstance(engine, Client):
        raise wrong("engine", engine, A_CLIENT)
    if engine.asynchronous or engine.status != "running":
        raise wrong("engine", engine, "a client that is connected, and not asynchronous")
    return engine


def n_threads(name: str, value: Any) -> int:
    """A number of threads; -1 is one per processor."""
    wanted = whole_number(name, value, at_least=-1)
    if wanted == 0:
        raise wrong(name, value, "at least 1, or -1 for one per processor")
    return (os.cpu_count() or 1) if wanted == -1 else wanted


def blocks_of(n_items: int, size: int) -> list[range]:
    """Blocks of ``size`` items; the last may be smaller."""
    return [range(first, min(first + size, n_items)) for first in range(0, n_items, size)]


def run_in_order(
    engine: Engine, task: Task, blocks: Sequence[range]
) -> Generator[Arrays, None, None]:
    """Results of all blocks, in their order, whichever is ready first."""
    early: dict[int, Arrays] = {}
    place = 0
    with closing(engine.run(task, blocks)) as results:
        for found, arrays in results:
            early[found] = arrays
            while place in early:
                yield early.pop(place)
                place += 1


def stacked(items: Sequence[Arrays]) -> Arrays:
    """The result of a block from those of its items."""
    return {name: np.stack([item[name] for item in items]) for name in items[0]}
