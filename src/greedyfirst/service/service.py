"""The decision service behind HTTP: decisions, rewards, and what is common to all requests.

Requests run one after the other on the event loop. Each checks once that the log can be written,
changes the state, adds its events to the journal, and is answered when they are on disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, TypeVar

from greedyfirst.service.admin_requests import AdminRequests
from greedyfirst.service.asked import Asked, Ready, end_waits
from greedyfirst.service.errors import ConflictError, NotFoundError, UnavailableError
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry, Head, same_context
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.log.journal import Bodies, Journal
from greedyfirst.service.log.log import Log
from greedyfirst.service.read_requests import ReadRequests
from greedyfirst.service.state import rewards
from greedyfirst.service.state.clock import Clock
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.deployments import Deployments
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.timekeeping import LONGEST_PAUSE, Timekeeping
from greedyfirst.service.workers import Workers

T = TypeVar("T")
SNAPSHOT_EVERY = 5000
_BYTES_PER_ENTRY = 1000
_STEP = re.compile(r"([1-9][0-9]{0,17})(-[0-9a-f]{6})?", re.ASCII)


class DecisionService:
    """What callers with the role decider ask for; ``admin`` and ``reading`` have the rest.

    Every method that changes something is a coroutine: it returns when the change is on disk. After
    a failure of the disk everything is refused with :class:`UnavailableError` until the log can be
    opened again; the state is then restored from it.

    Parameters
    ----------
    open_log
        Opens the log; called again after a failure.
    clock
        The time; :class:`Clock` of the machine's clocks if it is not given.
    longest_pause
        Seconds: after a longer pause a person is asked before waits end by it.
    """

    def __init__(
        self,
        open_log: Callable[[], Log],
        *,
        clock: Clock | None = None,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self.running = Deployments(open_log)
        self._clock = Clock() if clock is None else clock
        self.timekeeping = Timekeeping(
            self._clock, self.running, now=self.now, longest_pause=longest_pause
        )
        #: Deployments that a thread works on.
        self.busy: set[str] = set()
        self.workers = Workers()
        self.admin, self.reading = AdminRequests(self), ReadRequests(self)

    async def start(self) -> None:
        """Open the log, restore every deployment, and begin to look after them."""
        await self.running.start(self.timekeeping.opened, self._look_after)

    async def leave(self) -> None:
        """Write what is left, with a snapshot of each deployment; others may take the policies."""
        await self.running.leave()

    async def stop(self) -> None:
        """Leave, and close the log."""
        await self.running.stop()
        self.workers.close()

    async def _look_after(self, journal: Journal) -> None:
        """Every second: look at the clock, and end waits that are over."""
        self.timekeeping.look(journal)
        for name, deployment in list(self.deployments.items()):
            if name not in self.busy and self.running.owns(name):
                with suppress(UnavailableError):  # it is being made ready, or opened again
                    await end_waits(self, journal, deployment)

    # ---------------------------------------------------------------- common to all requests

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.running.ready

    @property
    def clock(self) -> Clock:
        """The service's time, and how far the machine's clock is from it."""
        return self._clock

    @property
    def restore_seconds(self) -> float:
        """How long making the state from the log took, last time."""
        return self.running.restore_seconds

    @property
    def wal_bytes(self) -> int | None:
        """Bytes of the log's write-ahead file; None while the log is closed."""
        return self.running.journal.log.wal_bytes() if self.running.journal else None

    @property
    def clock_question(self) -> str | None:
        """What a person has to say about the machine's clock, None if nothing."""
        return self.timekeeping.question

    @property
    def deployments(self) -> dict[str, Deployment]:
        """All deployments by name."""
        return self.running.by_name

    def head(self) -> Head | None:
        """The end of the log on disk; None while it is closed."""
        journal = self.running.journal
        return None if journal is None else journal.log.head()

    def warnings(self) -> list[str]:
        """What a person should look at although requests can be answered; no names in it."""
        leases = self.running.leases
        found = [] if self.clock_question is None else [self.clock_question]
        found += [] if leases is None else leases.warnings
        differing = sum(1 for each in self.deployments.values() if each.mismatches)
        if differing:
            policies = "1 policy has" if differing == 1 else f"{differing} policies have"
            found.append(f"{policies} decisions that differ from the log when they are made again")
        return found

    def working(self) -> Journal:
        """The readiness check of a request; the journal to record its events in."""
        journal = self.running.journal
        if journal is None:
            why = f" ({self.running.problem})" if self.running.problem else ""
            raise UnavailableError(f"nothing can be recorded at the moment{why}; try again")
        if journal.failure is not None:
            raise UnavailableError(
                f"nothing can be recorded at the moment ({journal.failure}); try again"
            )
        return journal

    def found(self, name: str) -> Deployment:
        """The deployment of this name; an error while a thread works on it."""
        if name in self.busy:
            raise UnavailableError(f"policy {name} is being made ready; try again soon")
        deployment = self.running.by_name.get(name)
        if deployment is None:
            self._check_absent(name)
            raise NotFoundError(f"there is no policy {name!r}")
        return deployment

    def _check_absent(self, name: str) -> None:
        """Refuse to say that a policy is not there while only its owner changes."""
        leases = self.running.leases
        if name == events.SERVICE or leases is None:
            return
        if name in leases.policies and not self.running.owns(name):
            raise UnavailableError(f"the owner of policy {name} changes just now; try again")

    def now(self) -> float:
        """The time, which goes back only if a person says so."""
        running, clock = self.running, self._clock
        running.latest = max(running.latest, clock.base + clock.passing())
        return running.latest

    @contextmanager
    def making_ready(self, name: str) -> Iterator[None]:
        """Refuse requests to a deployment while a thread works on it."""
        self.busy.add(name)
        try:
            yield
        finally:
            self.busy.discard(name)

    def asked(
        self, name: str, *, steps: Sequence[int] = (), key: str | None = None
    ) -> AbstractAsyncContextManager[Ready]:
        """What a request to a policy works with, once its overdue waits have ended.

        What it asks the log about decisions, by number, or a key is read before, where that takes
        more than a look at the disk.
        """
        journal, deployment = self.working(), self.found(name)
        if not journal.log.remote:
            return nullcontext((journal, deployment, self.expire(journal, deployment)))
        return Asked(self, journal, deployment, steps, key)

    def expire(
        self, journal: Journal, deployment: Deployment, steps: Collection[int] | None = None
    ) -> float:
        """End a deployment's waits that are over, or those among ``steps``; the time now."""
        at = self.now()
        if deployment.overdue(at) and not self._clock.holds:
            with journal.changing():
                self.record_events(journal, deployment, at, rewards.expire(deployment, at, steps))
        return at

    def record_events(
        self,
        journal: Journal,
        deployment: Deployment,
        at: float,
        caused: Sequence[AnyEvent],
        key: str | None = None,
        erases: Bodies | None = None,
    ) -> None:
        """Add events to the journal; the first has the caller's key, and erases earlier ones."""
        name = deployment.name
        for event in caused:
            journal.add(event, at=at, policy=name, key=key, erases=erases)
            key = erases = None
        entries_left = self.running.entries_left
        left = entries_left.get(name, SNAPSHOT_EVERY) - len(caused)
        if left <= 0:
            size = deployment.agent.buffer.nbytes + 100 * len(deployment.pending)
            left = max(SNAPSHOT_EVERY, size // _BYTES_PER_ENTRY)
            journal.keep(name, save(deployment))
        entries_left[name] = left

    def record(self, event: AnyEvent, *, key: str | None = None) -> bool:
        """Add an event of the service itself, once per key; False while nothing can be recorded.

        What has a key is recorded by the one service that owns these events.
        """
        journal = self.running.journal
        if journal is None or journal.failure is not None:
            return False
        if key is not None and not self.running.owns(events.SERVICE):
            return False
        if key is None or journal.with_key(events.SERVICE, key) is None:
            journal.add(event, at=self.now(), policy=events.SERVICE, key=key)
        return True

    async def record_once(self, event: AnyEvent, key: str) -> bool:
        """The same, where the key may be in the log."""
        async with self.working().at_hand(events.SERVICE, key=key):
            return self.record(event, key=key)

    async def durable(self) -> None:
        """Wait until everything done so far is on disk: no answer may tell of anything else."""
        await self.working().durable()

    # ---------------------------------------------------------------- decisions and rewards

    async def decide(
        self,
        name: str,
        context: dict[str, Any],
        eligible_arms: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Decision:
        """Choose an arm; the same key and body get the same answer."""
        async with self.asked(name, key=key) as (journal, deployment, at):
            if key is not None:
                eligible = None if eligible_arms is None else tuple(eligible_arms)
                is_same = partial(_asked_the_same, context=context, eligible=eligible)
                known = journal.sent_before(name, key, is_same)
                if isinstance(known, Decided):
                    await journal.durable()
                    return known.answer
            deployment.check_running()
            with journal.changing():
                decided = deployment.decide(context, eligible_arms, at)
                self.record_events(journal, deployment, at, [decided], key)
        await journal.durable()
        return decided.answer

    async def reward(self, decision_id: str, value: float, part: str = "") -> rewards.Outcome:
        """Take the reward of a decision; what became of it."""
        self.working()
        name, step = self.parsed(decision_id)
        async with self.asked(name, steps=[step]) as (journal, deployment, at):
            with journal.changing():
                outcome, caused = rewards.reward(deployment, step, part, value, at)
                self.record_events(journal, deployment, at, caused)
        await journal.durable()
        return outcome

    def parsed(self, decision_id: str) -> tuple[str, int]:
        """Policy and number of a decision that may be there; 404 if its id was never given."""
        name, _, end = decision_id.rpartition(":")
        deployment, step = self.running.by_name.get(name), _STEP.fullmatch(end)
        if deployment is None or step is None:
            self._check_absent(name)
            raise NotFoundError(f"there is no decision {decision_id!r}")
        number = int(step[1])
        if deployment.decision_id(number) != decision_id:
            lost = ""
            if deployment.tags:
                lost = (
                    f": the log was put back from a backup, which ended at decision "
                    f"{deployment.tags[-1][0] - 1}; what was decided later and before that is lost"
                )
            raise NotFoundError(f"there is no decision {decision_id!r}{lost}")
        return name, number

    # ---------------------------------------------------------------- reading

    @property
    def log(self) -> Log:
        """The log, for reading."""
        return self.working().log

    def deployment(self, name: str) -> Deployment:
        """The deployment of this name."""
        self.working()
        return self.found(name)

    async def read(self, read: Callable[..., T], *values: Any) -> T:
        """What a read of the log gives; nobody else waits for it."""
        return await self.working().ahead.run(read, *values)

    async def decision(self, decision_id: str) -> list[Entry]:
        """Everything about a decision, in order."""
        journal = self.working()
        name, step = self.parsed(decision_id)
        async with journal.at_hand(name, steps=[step]):
            about = journal.about(name, step)
        if not about:
            raise NotFoundError(f"there is no decision {decision_id!r}")
        return about


def _asked_the_same(
    known: AnyEvent, context: dict[str, Any], eligible: tuple[str, ...] | None
) -> bool:
    """Whether an earlier request asked for this decision; an error if it was erased since."""
    if not isinstance(known, Decided):
        return False
    if known.erased:
        raise ConflictError(f"decision {known.answer.decision_id} was erased")
    return known.eligible_arms == eligible and same_context(known.context, context)
