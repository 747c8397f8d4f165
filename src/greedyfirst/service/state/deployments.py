"""All deployments of a log: restored when it is opened, and looked after while it is open."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from contextlib import suppress

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.events import AnyEvent
from greedyfirst.service.log.journal import Journal, KeyFilter
from greedyfirst.service.log.log import Log
from greedyfirst.service.state.deployment import Deployment, Recall
from greedyfirst.service.state.opening import restore_all
from greedyfirst.service.state.snapshots import save

_PAUSE = 1.0
_log = logging.getLogger("greedyfirst.service")


class Deployments:
    """The deployments by name, and the journal that their events go to; None while it is closed.

    ``open_log`` opens the log. After a failure the same log is opened again, never another one.
    """

    def __init__(self, open_log: Callable[[], Log]) -> None:
        self._open_log = open_log
        self.by_name: dict[str, Deployment] = {}
        self.journal: Journal | None = None
        #: Why the log could not be opened again, None while all is well.
        self.problem: str | None = None
        #: The log that is open, or was until a failure.
        self._log: Log | None = None
        #: The time of the last entry, or a later one: the service's time never goes back.
        self.latest = 0.0
        #: Entries until the next snapshot, of deployments that have had some since the opening.
        self.entries_left: dict[str, int] = {}
        self._upkeep: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether events can be recorded."""
        return self.journal is not None and self.journal.failure is None

    async def start(self, look_after: Callable[[Journal, Deployment], None]) -> None:
        """Open the log; call ``look_after`` every second for each deployment."""
        if self._upkeep is None:
            await self._open()
            self._upkeep = asyncio.create_task(self._keep_up(look_after))

    async def stop(self) -> None:
        """Write what is left, with a snapshot of each deployment, and close the log."""
        self._ended.set()
        if self._upkeep is not None:
            await self._upkeep
        if self.journal is not None and self.journal.failure is None:
            for name, deployment in self.by_name.items():
                self.journal.keep(name, save(deployment))
        self._close()

    async def _keep_up(self, look_after: Callable[[Journal, Deployment], None]) -> None:
        """Look after the deployments, and open the log again after a failure."""
        while not self._ended.is_set():
            try:
                if self.journal is not None and self.journal.failure is None:
                    self._check_place(self.journal)
                    for deployment in list(self.by_name.values()):
                        look_after(self.journal, deployment)
                else:
                    if self.journal is not None:
                        self.journal.close()
                        self.journal = None
                    await self._open()
                    _log.warning("the log could be opened again; going on")
            except (LogFailedError, DamagedLogError) as error:
                if str(error) != self.problem:
                    _log.error("%s", error)
                self.problem = str(error)
            except Exception:
                _log.exception("the state could not be made from the log")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _PAUSE)

    def _check_place(self, journal: Journal) -> None:
        """Notice also without a request that the log's file has gone."""
        try:
            journal.log.check_place()
        except LogFailedError as error:
            journal.fail(str(error))
            raise

    async def _open(self) -> None:
        """Open the log and restore every deployment."""
        log, self.by_name, keys = await asyncio.to_thread(self._restored)
        self.journal, self._log, self.problem = Journal(log, keys), log, None
        self.latest = max(self.latest, self.journal.latest)
        self.entries_left.clear()
        for name, deployment in self.by_name.items():
            deployment.recall = self.recall_of(name)
        gc.freeze()  # what is here stays: the collector need not look at it again

    def _restored(self) -> tuple[Log, dict[str, Deployment], KeyFilter]:
        log = self._open_log() if self._log is None else self._log.reopened()
        try:
            return log, restore_all(log), KeyFilter(log.keys())
        except BaseException:
            log.close()
            raise

    def _close(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal.log.close()
            self.journal = None

    def recall_of(self, name: str) -> Recall:
        """The function by which a deployment asks for the events about one of its decisions."""

        def recall(step: int) -> list[AnyEvent]:
            assert self.journal is not None  # deployments work only while the log is open
            return [entry.event for entry in self.journal.about(name, step)]

        return recall
