"""Calls that run by themselves while the caller goes on: on threads, or on a cluster's workers.

Where a task's items are known beforehand (:mod:`greedyfirst.engines.engine`), what a call is given
may follow from the results of earlier ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from greedyfirst.engines.engine import dask_client, n_threads

if TYPE_CHECKING:
    from distributed import Client

Item = TypeVar("Item")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Running(Protocol[Result_co]):
    """A call that has been submitted."""

    def result(self) -> Result_co:
        """What it returns, once it has; its exception is raised."""

    def cancel(self) -> Any:
        """Do not begin it, if that is still possible."""


class Calls(Protocol):
    """Where calls run."""

    def submit(self, call: Callable[[], Result], /) -> Running[Result]:
        """Begin a call soon."""


@contextmanager
def calls_on(
    *,
    n_jobs: int = 1,
    engine: Client | None = None,
    prepare: Callable[[], object] | None = None,
) -> Iterator[Calls]:
    """As many threads, or the workers that a Dask client reaches.

    ``prepare`` is called once where calls run, before the first of them: it compiles what they
    need. To a cluster calls travel by pickle.
    """
    client = dask_client(n_jobs, engine)
    if client is None:
        if prepare is not None:
            prepare()
        with ThreadPoolExecutor(n_threads("n_jobs", n_jobs)) as pool:
            yield pool
        return
    from greedyfirst.engines.dask_calls import DaskCalls

    yield DaskCalls(client, prepare)


def results_in_order(
    calls: Calls, items: Iterable[Item], call: Callable[[Item], Callable[[], Result]], *, ahead: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with the result of its call, in their order.

    ``call`` makes the call of an item when so many before it are not yet taken in.
    """
    to_come = iter(items)
    waiting: deque[tuple[Item, Running[Result]]] = deque()

    def submit(count: int) -> None:
        waiting.extend((item, calls.submit(call(item))) for item in islice(to_come, count))

    try:
        submit(ahead)
        while waiting:
            item, running = waiting.popleft()
            yield item, running.result()
            submit(1)
    finally:
        for _, running in waiting:
            running.cancel()
