"""Policies whose every change is in a log: opened, looked after, and made again after a failure."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from greedyfirst.service.errors import Damaged, Refusal, Unavailable, Unknown
from greedyfirst.service.log.events import AnyEvent
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.log.key_filter import KeyFilter
from greedyfirst.service.log.log import Log, LogFailed
from greedyfirst.service.state import restoring
from greedyfirst.service.state.deployment import Deployment

SNAPSHOT_EVERY = 5000
_BYTES_PER_ENTRY = 1000
_PAUSE = 1.0
_log = logging.getLogger("greedyfirst.service")


class LoggedPolicies:
    """All policies in a log, kept as it says.

    Every method that changes something is a coroutine: it returns when the change is on disk.
    After a failure of the disk everything is refused with :class:`Unavailable` until the log can be
    opened again; the state is then made again from it.

    Parameters
    ----------
    open_log
        Opens the log; called again after a failure.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, open_log: Callable[[], Log], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._open_log = open_log
        self._clock = clock
        self._latest = 0.0
        self.deployments: dict[str, Deployment] = {}
        self._entries_left: dict[str, int] = {}
        self._busy: set[str] = set()
        self.journal: Journal | None = None
        self._log: Log | None = None
        self._upkeep: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    # ---------------------------------------------------------------- opening and closing

    async def start(self) -> None:
        """Open the log, make every policy's state from it, and begin to look after them."""
        if self._upkeep is None:
            await self._open()
            self._upkeep = asyncio.create_task(self._look_after())

    async def stop(self) -> None:
        """Write what is left, with a snapshot of each policy, and close the log."""
        self._ended.set()
        if self._upkeep is not None:
            await self._upkeep
        if self.journal is not None and self.journal.failure is None:
            for deployment in self.deployments.values():
                self._keep_snapshot(deployment)
        self._close()

    async def _open(self) -> None:
        log, self.deployments, keys = await asyncio.to_thread(self._read_log)
        self._log, self.journal = log, Journal(log, keys)
        self._latest = max(self._latest, self.journal.latest)
        for deployment in self.deployments.values():
            deployment.recall = self._recall_of(deployment.name)
            self._entries_left[deployment.name] = SNAPSHOT_EVERY
        gc.freeze()  # what is here stays: the collector need not look at it again

    def _read_log(self) -> tuple[Log, dict[str, Deployment], KeyFilter]:
        log = self._open_log()
        try:
            deployments = {}
            for entry in log.policies():
                deployments[entry.policy], _ = restoring.restore(log, entry.policy)
            return log, deployments, KeyFilter(log.keys())
        except BaseException:
            log.close()
            raise

    def _close(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        if self._log is not None:
            self._log.close()
            self._log = None

    async def _look_after(self) -> None:
        """Now and then: end waits that are over, and open the log again after a failure."""
        while not self._ended.is_set():
            try:
                if self.ready:
                    for name in list(self.deployments):
                        self._expire(name)
                else:
                    self._close()
                    await self._open()
                    _log.warning("the log could be opened again; going on")
            except (LogFailed, Damaged) as error:
                _log.error("%s", error)
            except Exception:
                _log.exception("the state could not be made from the log")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _PAUSE)

    @property
    def ready(self) -> bool:
        """Whether requests can be met."""
        return self.journal is not None and self.journal.failure is None

    def _working(self) -> Journal:
        if self.journal is None:
            raise Unavailable("nothing can be recorded at the moment; try again")
        self.journal.check()
        return self.journal

    def _recall_of(self, policy: str) -> Callable[[int], list[AnyEvent]]:
        def recall(step: int) -> list[AnyEvent]:
            return [entry.event for entry in self._working().about(policy, step)]

        return recall

    # ---------------------------------------------------------------- common to all requests

    def policy(self, name: str) -> Deployment:
        """The policy of this name."""
        self._working()
        self._check_not_busy(name)
        if name not in self.deployments:
            raise Unknown(f"there is no policy {name!r}")
        return self.deployments[name]

    def _check_not_busy(self, name: str) -> None:
        if name in self._busy:
            raise Unavailable(f"policy {name} is being made ready; try again soon")

    def _now(self) -> float:
        """The time, which never goes back."""
        self._latest = max(self._latest, self._clock())
        return self._latest

    def _current(self, name: str) -> tuple[Deployment, float]:
        deployment = self.policy(name)
        return deployment, self._expire(name)

    def _expire(self, name: str) -> float:
        at = self._now()
        if name not in self._busy and self.deployments[name].overdue(at):
            with self._changing():
                self._record(name, at, self.deployments[name].expire(at))
        return at

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What breaks half-way leaves a state that the log knows nothing of: make it again."""
        journal = self._working()
        try:
            yield
        except Refusal:
            raise
        except Exception as error:
            journal.fail(f"the state has to be made again: {type(error).__name__}")
            raise

    def _record(
        self, policy: str, at: float, caused: Sequence[AnyEvent], key: str | None = None
    ) -> None:
        """Log events; the first has the caller's key."""
        journal = self._working()
        for event in caused:
            journal.add(event, at=at, policy=policy, key=key)
            key = None
        left = self._entries_left.get(policy, SNAPSHOT_EVERY) - len(caused)
        self._entries_left[policy] = left
        if left <= 0:
            self._keep_snapshot(self.deployments[policy])

    def _keep_snapshot(self, deployment: Deployment) -> None:
        size = deployment.agent.buffer.nbytes + 100 * len(deployment.pending)
        self._entries_left[deployment.name] = max(SNAPSHOT_EVERY, size // _BYTES_PER_ENTRY)
        self._working().keep(deployment.name, restoring.save(deployment))

    async def durable(self) -> None:
        """Wait until everything done so far is on disk: nobody is to be told of less."""
        await self._working().durable()

    @property
    def log(self) -> Log:
        """The log, for reading."""
        return self._working().log
