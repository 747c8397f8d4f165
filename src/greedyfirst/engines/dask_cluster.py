"""Blocks on the workers of a Dask cluster, and what all work there shares.

The scheduler knows of few blocks at a time, and gives those of a worker that died to others. A
result is fetched as soon as it is there, so that nothing finished is lost with a worker.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import re
import signal
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client, Future, LocalCluster, Security, as_completed
from distributed.scheduler import KilledWorker

from greedyfirst.engines.engine import Results, Task
from greedyfirst.engines.sending import packed
from greedyfirst.validation import whole_number, wrong

#: Blocks that the scheduler knows of: for each thread of the workers, and besides.
BLOCKS_PER_THREAD, BLOCKS_BESIDES = 2, 8
#: Seconds after which the workers are counted again: some clusters grow with the work.
COUNTED_AGAIN = 5.0
#: Seconds until a scheduler must answer, and until there must be a worker.
ANSWERS_WITHIN, WORKERS_WITHIN = 10.0, 60.0
#: Dask would warn of more than 10 MB: tables of a replay, schemas of many categories.
LARGE_CONTENT = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
HINT_TO_RESUME = "with a directory to resume from, finished blocks need not be made again"
#: Settings of Dask for workers that are started here. By default they give memory of 64 KiB back to
#: the system at once, so that each instance's arrays are made of new pages: a tenth of the time of
#: Figure 2. And they look at their own stack a hundred times a second, for a page nobody opens.
OWN_WORKERS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.worker.profile.enabled": False,
}


class DaskCluster:
    """An engine of the workers that a client reaches."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def run(self, task: Task, blocks: Sequence[range]) -> Results:
        """Places and results, as they come."""
        content = packed(task)
        with one_sentence(self.client, hint=HINT_TO_RESUME):
            yield from _Run(self.client, content, blocks).results()


class _Run:
    """One task on the cluster."""

    def __init__(self, client: Client, content: bytes, blocks: Sequence[range]) -> None:
        self.client, self.blocks = client, blocks
        self.key = hashlib.sha256(content).hexdigest()
        self.names = f"greedyfirst-{uuid.uuid4().hex}"
        self.work = on_worker("run_block")
        self.done = as_completed(with_results=True, loop=client.loop)
        self.running: dict[Future, int] = {}
        self.submitted = 0
        # A result of a call, not data of a worker: it is made again where that one dies.
        with dask.config.set(LARGE_CONTENT):
            self.task = client.submit(bytes, content, key=f"{self.names}-task")
        self.counted, self.threads = -COUNTED_AGAIN, 0

    def results(self) -> Results:
        try:
            wait_for_a_worker(self.client)
            # Else the scheduler would favour the one worker that has it.
            self.client.replicate([self.task])
            self._submit()
            for future, result in self.done:
                if isinstance(result, CancelledError):
                    raise result
                yield self.running.pop(future), result
                self._submit()
        finally:
            if self.client.status == "running":
                self.client.cancel([*self.running, self.task])

    def _submit(self) -> None:
        """Tell the scheduler of more blocks; not of those far ahead of the oldest that runs."""
        oldest = min(self.running.values(), default=self.submitted)
        while self.submitted < min(len(self.blocks), oldest + self._window()):
            block = self.blocks[self.submitted]
            future = self.client.submit(
                self.work,
                *(self.key, self.task, block.start, block.stop),
                key=f"{self.names}-{block.start}",
            )
            self.running[future] = self.submitted
            self.submitted += 1
            self.done.add(future)

    def _window(self) -> int:
        now = time.monotonic()
        if now - self.counted >= COUNTED_AGAIN:
            self.counted, self.threads = now, sum(self.client.nthreads().values())
        return BLOCKS_PER_THREAD * self.threads + BLOCKS_BESIDES


def wait_for_a_worker(client: Client) -> None:
    """Wait for the first one; ConnectionError if none comes."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_WITHIN)
    except TimeoutError:
        raise ConnectionError(
            f"the Dask scheduler at {_address(client)} has had no workers for "
            f"{WORKERS_WITHIN:g} s; start some with dask worker {_address(client)}"
        ) from None


def on_worker(function: str) -> Any:
    """A function of :mod:`greedyfirst.engines.worker`, as workers call it.

    It is no module's, so that it travels with its code: a worker without this package can then
    say so.
    """

    def work(*arguments: Any) -> Any:
        try:
            from greedyfirst.engines import worker

            known = getattr(worker, function)
        except (ImportError, AttributeError) as error:
            raise ValueError(
                f"a worker has no greedyfirst, or an older one than this program ({error}); "
                "install the same version and restart it"
            ) from None
        return known(*arguments)

    return work


@contextmanager
def one_sentence(client: Client, *, hint: str) -> Iterator[None]:
    """What Dask reports of dead workers and schedulers, in words; what to do about the latter."""
    try:
        yield
    except KilledWorker as error:
        raise ConnectionError(
            f"the same work was on {error.allowed_failures + 1} workers that died; their logs "
            "may say why (often: too little memory)"
        ) from None
    except (CancelledError, OSError) as error:
        if isinstance(error, ConnectionError) and client.status == "running":
            raise
        raise ConnectionError(
            f"the Dask scheduler at {_address(client)} was lost, or the work on it was cancelled; "
            f"{hint}"
        ) from None


def _address(client: Client) -> str:
    return str(client.scheduler.address) if client.scheduler else "an unknown address"


def _say_nothing() -> None:
    """Keep Dask from writing of what is told in a sentence."""
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def cluster_at(address: str) -> Iterator[Client]:
    """A client of the scheduler at this address."""
    if not re.fullmatch(r"((tcp|tls)://)?[^\s/]+:\d+", address):
        raise wrong("--cluster", address, "the address of a scheduler, such as tcp://10.0.0.5:8786")
    if address.startswith("tls:") and not Security().get_connection_args("client")["ssl_context"]:
        raise wrong("--cluster", address, "tcp://…, or certificates in Dask's settings for TLS")
    _say_nothing()
    configured = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    try:
        client = Client(address, timeout=min(ANSWERS_WITHIN, configured), set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = " ".join(str(error).split())
        raise ConnectionError(f"no Dask scheduler answers at {address!r}: {reason}") from None
    with client:
        yield client


@contextmanager
def local_workers(n_workers: int) -> Iterator[Client]:
    """A client of a cluster of as many processes of this machine, which end with it."""
    whole_number("workers", n_workers, at_least=1)
    _say_nothing()
    with dask.config.set(OWN_WORKERS), ExitStack() as stack:
        with _left_alone_by_ctrl_c():
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            )
        yield stack.enter_context(Client(cluster, set_as_default=False))


@contextmanager
def _left_alone_by_ctrl_c() -> Iterator[None]:
    """What is started here, threads and their processes, does not get the Ctrl-C of a terminal.

    It is for this program, which ends its workers; it comes when this is over.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Starts multiprocessing's resource tracker; beginning later, it would let Ctrl-C through again.
    multiprocessing.get_context("spawn").Lock()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
