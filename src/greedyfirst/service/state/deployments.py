"""All deployments of a log: restored when it is opened, and looked after while it is open."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from greedyfirst.service.beside import at_most, beside
from greedyfirst.service.errors import (
    DamagedLogError,
    LogFailedError,
    RequestError,
    TakenError,
    UnavailableError,
)
from greedyfirst.service.log.events import SERVICE, AnyEvent
from greedyfirst.service.log.journal import Journal, KeyFilter
from greedyfirst.service.log.log import Log
from greedyfirst.service.log.ownership import Ownership
from greedyfirst.service.state.deployment import Deployment, Recall
from greedyfirst.service.state.opening import restore_all, restore_one
from greedyfirst.service.state.snapshots import save

_PAUSE = 1.0
#: Seconds that a request waits for a policy to be taken.
_LONGEST_WAIT = 5.0
#: Seconds between two signs of life of the event loop; without one for so long, or with a write
#: that takes so long, this process does not serve.
_BEAT, _SILENT, _LONGEST_WRITE = 0.5, 3.0, 4.0
#: Seconds that each of the last steps may take.
_LONGEST_END = 2.0
_log = logging.getLogger("greedyfirst.service")


class Deployments:
    """The deployments by name, and the journal that their events go to; None while it is closed.

    ``open_log`` opens the log. After a failure the same log is opened again, never another one.
    Where several services write it, these are the deployments that this one owns.
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
        self.restore_seconds = 0.0
        #: Policies that this service owns and has restored, where several services write the log.
        self._at_hand: set[str] = set()
        #: Policies that are being taken.
        self._taking: dict[str, asyncio.Task[None]] = {}
        self._adopting: asyncio.Task[None] | None = None
        self._upkeep: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._leaving: asyncio.Task[None] | None = None
        #: The event loop's last sign of life.
        self._alive = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether events can be recorded."""
        return self.journal is not None and self.journal.failure is None

    async def start(
        self,
        opened: Callable[[Journal], Awaitable[None]],
        look_after: Callable[[Journal], Awaitable[None]],
    ) -> None:
        """Open the log; call ``opened`` whenever it is, and ``look_after`` every second."""
        if self._upkeep is None:
            self._beat()
            await opened(await self._open())
            self._upkeep = asyncio.create_task(self._keep_up(opened, look_after))

    def _beat(self) -> None:
        self._alive = time.monotonic()
        if not self._ended.is_set():
            asyncio.get_running_loop().call_later(_BEAT, self._beat)

    def _serves(self) -> bool:
        """Whether requests are met at the moment; any thread may ask."""
        journal = self.journal
        if journal is None or journal.stands_still(_LONGEST_WRITE):
            return False
        return time.monotonic() - self._alive < _SILENT

    async def leave(self) -> None:
        """Write what is left, with a snapshot of each deployment, and let others take the policies.

        It takes some seconds at most, also if the log does not answer.
        """
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave())
        await asyncio.shield(self._leaving)

    async def _leave(self) -> None:
        self._ended.set()
        tasks = {each for each in (self._upkeep, self._adopting) if each is not None}
        tasks |= {*self._taking.values()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._longest_end)
            for task in late:
                task.cancel()
        journal = self.journal
        if journal is None:
            return
        if journal.failure is None:
            for name, deployment in self.by_name.items():
                journal.keep(name, save(deployment))
            await self._bounded(journal.written_out())
        if journal.log.leases is not None:
            await self._bounded(journal.log.leases.give_back)

    async def stop(self) -> None:
        """Leave, and close the log."""
        await self.leave()
        journal, self.journal = self.journal, None
        if journal is not None:
            await self._bounded(journal.end())
            await self._bounded(journal.log.close)

    @property
    def _longest_end(self) -> float | None:
        """Seconds that a last step may take; a log on this machine's disk is waited for."""
        return _LONGEST_END if self._log is not None and self._log.remote else None

    async def _bounded(self, work: Callable[[], object]) -> None:
        """Do a last step, for as long as it may take."""
        if not await at_most(self._longest_end, work):
            _log.warning("the log does not answer; ending without it", extra={"event": "cut_off"})

    async def _keep_up(
        self,
        opened: Callable[[Journal], Awaitable[None]],
        look_after: Callable[[Journal], Awaitable[None]],
    ) -> None:
        """Have the deployments looked after, and open the log again after a failure."""
        while not self._ended.is_set():
            try:
                if self.journal is not None and self.journal.failure is None:
                    self._check_place(self.journal)
                    await look_after(self.journal)
                    if self.leases is not None and (
                        self._adopting is None or self._adopting.done()
                    ):
                        self._adopting = asyncio.create_task(self._adopt(self.leases))
                else:
                    if self.journal is not None:
                        await beside(self.journal.end())
                        self.journal = None
                    await opened(await self._open())
                    _log.warning(
                        "the log could be opened again; going on", extra={"event": "log_reopened"}
                    )
            except (LogFailedError, DamagedLogError) as error:
                if str(error) != self.problem:
                    _log.error("%s", error, extra={"event": "log_failed"})
                self.problem = str(error)
            except Exception:
                _log.exception(
                    "the state could not be made from the log", extra={"event": "restore_failed"}
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _PAUSE)

    def _check_place(self, journal: Journal) -> None:
        """Notice also without a request that the log's file has gone."""
        try:
            journal.log.check_place()
        except LogFailedError as error:
            journal.fail(str(error))
            raise

    async def _open(self) -> Journal:
        """Open the log and restore every deployment."""
        began = time.monotonic()
        log, newest, restored, keys = await beside(self._restored)
        self.by_name = {name: deployment for name, (deployment, _) in restored.items()}
        self.restore_seconds = time.monotonic() - began
        _log.info(
            "%d policies were restored in %.2f s",
            *(len(self.by_name), self.restore_seconds),
            extra={"event": "restored", "fields": {"policies": len(self.by_name)}},
        )
        self.journal, self._log, self.problem = Journal(log, keys, newest), log, None
        if log.leases is not None:
            log.leases.serves = self._serves
        self.latest = max(self.latest, self.journal.latest)
        self.entries_left.clear()
        self._at_hand.clear()
        for name, (deployment, last) in restored.items():
            deployment.recall = self.recall_of(name)
            self.journal.know(name, last)
        gc.freeze()  # what is here stays: the collector need not look at it again
        return self.journal

    def _restored(
        self,
    ) -> tuple[Log, tuple[int, float], dict[str, tuple[Deployment, int]], KeyFilter]:
        log = self._open_log() if self._log is None else self._log.reopened()
        try:
            if log.leases is not None:  # each policy is restored when it is taken
                return log, log.last(), {}, KeyFilter()
            return log, log.last(), restore_all(log), KeyFilter(log.keys())
        except BaseException:
            log.close()
            raise

    # ---------------------------------------------------------------- where several write the log

    @property
    def leases(self) -> Ownership | None:
        """Which policies this service owns; None if all of them, or while the log is closed."""
        return None if self.journal is None else self.journal.log.leases

    def owns(self, name: str) -> bool:
        """Whether this service may answer for a policy, and has its state."""
        leases = self.leases
        return leases is None or (name in self._at_hand and leases.owns(name))

    async def own(self, name: str) -> None:
        """Have a policy, with its state if it has one; an error if another service has it.

        What takes long goes on by itself: UnavailableError meanwhile.
        """
        if self.leases is None or self.owns(name):
            return
        taking = self._taking.get(name)
        if taking is None:
            taking = self._taking[name] = asyncio.create_task(self._take(name))
            taking.add_done_callback(lambda done: self._has_taken(name, done))
        if not (await asyncio.wait({taking}, timeout=_LONGEST_WAIT))[0]:
            raise UnavailableError(f"policy {name} is being taken over; try again soon")
        taking.result()

    def _has_taken(self, name: str, taking: asyncio.Task[None]) -> None:
        del self._taking[name]
        taking.exception()  # whoever waited is told; there may be nobody any more

    async def _take(self, name: str) -> None:
        """Take a policy and make its state."""
        journal, leases = self.journal, self.leases
        if journal is None or leases is None:
            raise UnavailableError("the log is being opened again; try again")
        if name in leases.epochs and not leases.owns(name):
            raise UnavailableError(f"the lease of policy {name} is not renewed; try again")
        if name not in leases.epochs and not await beside(leases.take, name):
            raise TakenError(f"policy {name} has another owner now; try again")
        if name in self._at_hand:  # it was renewed just now, and entries may be on their way
            return
        began = time.monotonic()
        taken = await beside(_taken, journal.log, name)
        if self.journal is not journal:
            raise UnavailableError("the log was opened again meanwhile; try again")
        self.latest = max(self.latest, taken.at)
        journal.know(name, taken.last, taken.keys)
        if taken.deployment is not None:
            taken.deployment.recall = self.recall_of(name)
            self.by_name[name] = taken.deployment
            self.restore_seconds = time.monotonic() - began
        self._at_hand.add(name)
        if name != SERVICE:
            _log.info("policy %s is this service's", name, extra={"event": "taken"})

    async def _adopt(self, leases: Ownership) -> None:
        """Take the policies that have no owner; what belongs to none is somebody's too."""
        for name in {SERVICE, *leases.policies}:
            owner = leases.owner(name)
            free = owner is None or owner.id == leases.me.id
            if free and not self.owns(name) and not self._ended.is_set():
                try:
                    await self.own(name)
                except UnavailableError:  # another service was faster
                    pass
                except (RequestError, LogFailedError, DamagedLogError) as error:
                    _log.error("policy %s cannot be taken: %s", name, error)

    def recall_of(self, name: str) -> Recall:
        """The function by which a deployment asks for the events about one of its decisions."""

        def recall(step: int) -> list[AnyEvent]:
            assert self.journal is not None  # deployments work only while the log is open
            return [entry.event for entry in self.journal.about(name, step)]

        return recall


class _Taken(NamedTuple):
    """What a policy has in the log: its state, unless it is only to be created, and the rest."""

    deployment: Deployment | None
    #: Number and time of its last entry, and the keys that it has used.
    last: int
    at: float
    keys: KeyFilter


def _taken(log: Log, name: str) -> _Taken:
    """All of a policy that was just taken."""
    (last, at), keys = log.last(name), KeyFilter(log.keys(name))
    if name == SERVICE or not last:
        return _Taken(None, last, at, keys)
    deployment, last = restore_one(log, name)
    return _Taken(deployment, last, at, keys)
