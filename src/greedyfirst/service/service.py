"""The decision service behind HTTP: what each request does.

Requests run one after the other on the event loop. Each checks once that the log can be written,
changes the state, adds its events to the journal, and is answered when they are on disk.
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec.structs import replace

from greedyfirst.service.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RequestError,
    UnavailableError,
)
from greedyfirst.service.log import events
from greedyfirst.service.log.decision_view import DecisionView, decision_view
from greedyfirst.service.log.entries import Entry, Head
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.log.log import Log
from greedyfirst.service.state import (
    administration,
    corrections,
    erasure,
    relearning,
    restoring,
    rewards,
)
from greedyfirst.service.state.contexts import same_context
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.deployments import Deployments
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.specification import Features, Specification

SNAPSHOT_EVERY = 5000
_BYTES_PER_ENTRY = 1000
_STEP = re.compile(r"([1-9][0-9]{0,17})(-[0-9a-f]{6})?", re.ASCII)
_OTHER_REQUEST = "Idempotency-Key was used for another request"


class DecisionService:
    """What requests ask for.

    Every method that changes something is a coroutine: it returns when the change is on disk. After
    a failure of the disk everything is refused with :class:`UnavailableError` until the log can be
    opened again; the state is then restored from it.

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
        self._running = Deployments(open_log)
        self._clock = clock
        #: Deployments that a thread works on.
        self._busy: set[str] = set()

    async def start(self) -> None:
        """Open the log, restore every deployment, and begin to look after them."""
        await self._running.start(self._expire_unless_busy)

    async def stop(self) -> None:
        """Write what is left, with a snapshot of each deployment, and close the log."""
        await self._running.stop()

    def _expire_unless_busy(self, journal: Journal, deployment: Deployment) -> None:
        if deployment.name not in self._busy:
            self._expire(journal, deployment)

    # ---------------------------------------------------------------- common to all requests

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self._running.ready

    @property
    def deployments(self) -> dict[str, Deployment]:
        """All deployments by name."""
        return self._running.by_name

    def head(self) -> Head | None:
        """The end of the log on disk; None while it is closed."""
        journal = self._running.journal
        return None if journal is None else journal.log.head()

    def warnings(self) -> list[str]:
        """What a person should look at although requests can be answered; no names in it."""
        differing = sum(1 for each in self.deployments.values() if each.mismatches)
        if not differing:
            return []
        policies = "1 policy has" if differing == 1 else f"{differing} policies have"
        return [f"{policies} decisions that differ from the log when they are made again"]

    def _working(self) -> Journal:
        """The readiness check of a request; the journal to record its events in."""
        journal = self._running.journal
        if journal is None:
            why = f" ({self._running.problem})" if self._running.problem else ""
            raise UnavailableError(f"nothing can be recorded at the moment{why}; try again")
        if journal.failure is not None:
            raise UnavailableError(
                f"nothing can be recorded at the moment ({journal.failure}); try again"
            )
        return journal

    def _found(self, name: str) -> Deployment:
        if name in self._busy:
            raise UnavailableError(f"policy {name} is being made ready; try again soon")
        deployment = self._running.by_name.get(name)
        if deployment is None:
            raise NotFoundError(f"there is no policy {name!r}")
        return deployment

    def _now(self) -> float:
        """The time, which never goes back."""
        running = self._running
        running.latest = max(running.latest, self._clock())
        return running.latest

    def _expire(self, journal: Journal, deployment: Deployment) -> float:
        """End a deployment's waits that are over; the time now."""
        at = self._now()
        if deployment.overdue(at):
            with _changing(journal):
                self._record(journal, deployment, at, rewards.expire(deployment, at))
        return at

    def _record(
        self,
        journal: Journal,
        deployment: Deployment,
        at: float,
        caused: Sequence[AnyEvent],
        key: str | None = None,
        erases: tuple[int, bytes] | None = None,
    ) -> None:
        """Add events to the journal; the first has the caller's key, and erases an earlier one."""
        name = deployment.name
        for event in caused:
            journal.add(event, at=at, policy=name, key=key, erases=erases)
            key = erases = None
        entries_left = self._running.entries_left
        left = entries_left.get(name, SNAPSHOT_EVERY) - len(caused)
        if left <= 0:
            size = deployment.agent.buffer.nbytes + 100 * len(deployment.pending)
            left = max(SNAPSHOT_EVERY, size // _BYTES_PER_ENTRY)
            journal.keep(name, save(deployment))
        entries_left[name] = left

    def record(self, event: AnyEvent, *, key: str | None = None) -> bool:
        """Add an event of the service itself, once per key; False while nothing can be recorded."""
        journal = self._running.journal
        if journal is None or journal.failure is not None:
            return False
        if key is None or journal.with_key(events.SERVICE, key) is None:
            journal.add(event, at=self._now(), policy=events.SERVICE, key=key)
        return True

    async def durable(self) -> None:
        """Wait until everything done so far is on disk: no answer may tell of anything else."""
        await self._working().durable()

    # ---------------------------------------------------------------- decisions and rewards

    async def decide(
        self,
        name: str,
        context: dict[str, Any],
        eligible_arms: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Decision:
        """Choose an arm; the same key and body get the same answer."""
        journal, deployment = self._working(), self._found(name)
        at = self._expire(journal, deployment)
        known = _with_key(journal, name, key)
        if known is None:
            deployment.check_running()
            with _changing(journal):
                decided = deployment.decide(context, eligible_arms, at)
                self._record(journal, deployment, at, [decided], key)
            await journal.durable()
            return decided.answer
        earlier = known.event
        if isinstance(earlier, Decided) and earlier.erased:
            raise ConflictError(f"decision {earlier.answer.decision_id} was erased")
        eligible = None if eligible_arms is None else tuple(eligible_arms)
        if (
            not isinstance(earlier, Decided)
            or earlier.eligible_arms != eligible
            or not same_context(earlier.context, context)
        ):
            raise InvalidError(_OTHER_REQUEST)
        await journal.durable()
        return earlier.answer

    async def reward(self, decision_id: str, value: float, part: str = "") -> rewards.Outcome:
        """Take the reward of a decision; what became of it."""
        journal = self._working()
        name, step = self._parsed(decision_id)
        deployment = self._found(name)
        at = self._expire(journal, deployment)
        with _changing(journal):
            outcome, caused = rewards.reward(deployment, step, part, value, at)
            self._record(journal, deployment, at, caused)
        await journal.durable()
        return outcome

    def _parsed(self, decision_id: str) -> tuple[str, int]:
        """Policy and number of a decision that may be there; 404 if its id was never given."""
        name, _, end = decision_id.rpartition(":")
        deployment, step = self._running.by_name.get(name), _STEP.fullmatch(end)
        if deployment is None or step is None:
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

    # ---------------------------------------------------------------- administration

    async def create(
        self, specification: Specification, who: str | None = None
    ) -> tuple[Deployment, bool]:
        """Create a deployment; False if it is there already, with the same specification."""
        self._working()
        name = specification.name
        if name in self._busy or name in self.deployments:
            known = self._found(name)
            if not self._is_known(specification):
                raise ConflictError(f"there is another policy named {name!r}")
            await self.durable()
            return known, False
        asked, specification = specification.policy, specification.written_out()
        specification.check()
        seed = specification.seed
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        created = events.Created(specification=specification, seed=seed, asked=asked, who=who)
        recall = self._running.recall_of(name)
        with self._held(name):  # in a thread, since it may have to compile the policy
            try:
                deployment = await asyncio.to_thread(Deployment.begin, created, recall)
            except ValueError as error:
                raise InvalidError(str(error)) from None
        journal = self._working()
        journal.add(created, at=self._now(), policy=name)
        self.deployments[name] = deployment
        gc.freeze()
        await journal.durable()
        return deployment, True

    def _is_known(self, asked: Specification) -> bool:
        """Whether its policy was created with this specification, as it is or written out."""
        known = self.deployments[asked.name]
        recorded = known.specification
        if known.asked is not None and asked == replace(recorded, policy=known.asked):
            return True
        return asked == recorded or asked.written_out() == recorded

    async def administer(self, name: str, action: administration.Action, key: str | None) -> None:
        """Answer an alarm, change arms, import history; pause, resume or close."""
        journal, deployment = self._working(), self._found(name)
        at = self._expire(journal, deployment)
        known = _with_key(journal, name, key)
        if known is None:
            with _changing(journal):
                action = administration.settled(deployment, action)
                caused = administration.apply(deployment, action, at)
                self._record(journal, deployment, at, [action, *caused], key)
        elif not administration.is_same(known.event, action):
            raise InvalidError(_OTHER_REQUEST)
        await journal.durable()

    async def change_schema(
        self, name: str, schema: Features, backfill: dict[str, Any], who: str, why: str
    ) -> int:
        """Change the features and learn everything again; the schema's new version."""
        journal, deployment = self._working(), self._found(name)
        self._expire(journal, deployment)
        administration.check_open(deployment)
        changed = relearning.change(deployment, schema, backfill, who, why)
        if changed is not None and relearning.is_cause(deployment, changed):
            await self._relearn(journal, deployment, changed)
        elif changed is not None:
            with _changing(journal):
                relearning.change_ranges(deployment, changed)
                self._record(journal, deployment, self._now(), [changed])
        await self.durable()
        return deployment.schema_version

    async def correct(
        self,
        decision_id: str,
        value: float | None,
        part: str,
        who: str,
        why: str,
        key: str | None = None,
    ) -> None:
        """Correct a reward, confirm one that was held, or with None declare it void."""
        journal = self._working()
        name, step = self._parsed(decision_id)
        deployment = self._found(name)
        at = self._expire(journal, deployment)
        known = _with_key(journal, name, key)
        if known is not None:
            if not corrections.is_same(known.event, step, part, value, who, why):
                raise InvalidError(_OTHER_REQUEST)
            await journal.durable()
            return
        event = corrections.correction(deployment, step, part, value, who, why)
        if relearning.is_cause(deployment, event):
            await self._relearn(journal, deployment, event, key)
        else:
            with _changing(journal):
                caused = corrections.apply(deployment, event, at)
                self._record(journal, deployment, at, [event, *caused], key)
        await self.durable()

    async def erase(self, decision_id: str, who: str, why: str) -> None:
        """Erase a person's features from a decision; what it taught is learned no more."""
        journal = self._working()
        name, _ = self._parsed(decision_id)
        deployment = self._found(name)
        self.decision(decision_id)  # there must be one
        self._expire(journal, deployment)
        await journal.durable()
        about = self.decision(decision_id)
        written = self.log.head_at(about[0].seq)
        assert written is not None  # since it is on disk
        event, body = erasure.erasure(self._found(name), about, written.seal, who, why)
        erases = about[0].seq, body
        if relearning.is_cause(deployment, event):
            await self._relearn(journal, deployment, event, erases=erases)
        else:
            with _changing(journal):
                erasure.book(deployment, event)
                self._record(journal, deployment, self._now(), [event], erases=erases)
                journal.keep(name, save(deployment))
        await self.durable()

    async def _relearn(
        self,
        journal: Journal,
        deployment: Deployment,
        cause: relearning.Cause,
        key: str | None = None,
        erases: tuple[int, bytes] | None = None,
    ) -> None:
        """Have everything learned again in a thread, and record what caused that."""
        name = deployment.name
        with self._held(name):
            await journal.durable()
            past = restoring.past_of(self.log, name)
            successor = await asyncio.to_thread(relearning.relearned, deployment, cause, past)
        journal = self._working()
        if self.deployments.get(name) is not deployment:
            raise UnavailableError("the log was opened again meanwhile; try again")
        with _changing(journal):
            at = self._now()
            raised = relearning.adopt(deployment, cause, successor, at)
            self._record(journal, deployment, at, [cause, *raised], key, erases)
            journal.keep(name, save(deployment))  # so that a restart need not learn it all again

    @contextmanager
    def _held(self, name: str) -> Iterator[None]:
        """Refuse requests to a deployment while a thread works on it."""
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)

    # ---------------------------------------------------------------- reading

    @property
    def log(self) -> Log:
        """The log, for reading."""
        return self._working().log

    def deployment(self, name: str) -> Deployment:
        """The deployment of this name."""
        self._working()
        return self._found(name)

    async def settled(self, name: str) -> Deployment:
        """The deployment of this name, once everything done so far is on disk."""
        await self.durable()
        return self.deployment(name)

    def decision(self, decision_id: str) -> list[Entry]:
        """Everything about a decision, in order."""
        journal = self._working()
        about = journal.about(*self._parsed(decision_id))
        if not about:
            raise NotFoundError(f"there is no decision {decision_id!r}")
        return about

    def decision_view(self, decision_id: str) -> DecisionView:
        """A decision and what came of it."""
        about = self.decision(decision_id)
        summed = self._found(about[0].policy).specification.rewards == "sum"
        return decision_view(about, summed=summed)

    def audit(self, name: str, before: int | None, limit: int) -> list[Entry]:
        """What people and the diversity test did, newest first."""
        log = self.log
        self._found(name)
        return log.audit(name, before, limit)

    def audit_of_service(self, before: int | None, limit: int) -> list[Entry]:
        """What happened with keys and backups, newest first."""
        return self.log.audit(events.SERVICE, before, limit)

    async def recompute(self, decision_id: str) -> tuple[Decision, Decision]:
        """A decision as it was logged, and as the state of that time gives it."""
        await self.durable()
        entry = self.decision(decision_id)[0]
        return await asyncio.to_thread(restoring.recompute, self.log, entry)


def _with_key(journal: Journal, name: str, key: str | None) -> Entry | None:
    """The entry of an earlier request with this key."""
    if key is None:
        return None
    if not 1 <= len(key) <= 200:
        raise InvalidError("Idempotency-Key must have 1 to 200 characters")
    return journal.with_key(name, key)


@contextmanager
def _changing(journal: Journal) -> Iterator[None]:
    """Have the state restored from the log where a change to it breaks half-way."""
    try:
        yield
    except RequestError:
        raise
    except Exception as error:
        journal.fail(f"the state has to be made again: {type(error).__name__}")
        raise
