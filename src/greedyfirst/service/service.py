"""The decision service behind HTTP: what each request does.

Requests run one after the other on the event loop. Each checks once that the log can be written,
changes the state, adds its events to the journal, and is answered when they are on disk.
"""

from __future__ import annotations

import asyncio
import gc
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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
from greedyfirst.service.log.export import write_parquet
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.log.log import Log
from greedyfirst.service.state import (
    administration,
    corrections,
    erasure,
    relearning,
    reports,
    restoring,
    rewards,
)
from greedyfirst.service.state.clock import Clock
from greedyfirst.service.state.contexts import same_context
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.deployments import Deployments
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.specification import Features, Specification
from greedyfirst.service.state.timekeeping import LONGEST_PAUSE, Timekeeping
from greedyfirst.service.workers import Workers

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
        self._running = Deployments(open_log)
        self._clock = Clock() if clock is None else clock
        self._timekeeping = Timekeeping(
            self._clock, self._running, now=self._now, longest_pause=longest_pause
        )
        #: Deployments that a thread works on.
        self._busy: set[str] = set()
        self.workers = Workers()
        self._reporting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def start(self) -> None:
        """Open the log, restore every deployment, and begin to look after them."""
        await self._running.start(self._timekeeping.opened, self._look_after)

    async def stop(self) -> None:
        """Write what is left, with a snapshot of each deployment, and close the log."""
        await self._running.stop()
        self.workers.close()

    def _look_after(self, journal: Journal) -> None:
        """Every second: look at the clock, and end waits that are over."""
        self._timekeeping.look(journal)
        for name, deployment in list(self.deployments.items()):
            if name not in self._busy:
                self._expire(journal, deployment)

    # ---------------------------------------------------------------- common to all requests

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self._running.ready

    @property
    def clock(self) -> Clock:
        """The service's time, and how far the machine's clock is from it."""
        return self._clock

    @property
    def restore_seconds(self) -> float:
        """How long making the state from the log took, last time."""
        return self._running.restore_seconds

    @property
    def wal_bytes(self) -> int | None:
        """Bytes of the log's write-ahead file; None while the log is closed."""
        return self._running.journal.log.wal_bytes() if self._running.journal else None

    @property
    def clock_question(self) -> str | None:
        """What a person has to say about the machine's clock, None if nothing."""
        return self._timekeeping.question

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
        found = [] if self.clock_question is None else [self.clock_question]
        differing = sum(1 for each in self.deployments.values() if each.mismatches)
        if differing:
            policies = "1 policy has" if differing == 1 else f"{differing} policies have"
            found.append(f"{policies} decisions that differ from the log when they are made again")
        return found

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
        """The time, which goes back only if a person says so."""
        running, clock = self._running, self._clock
        running.latest = max(running.latest, clock.base + clock.passing())
        return running.latest

    def _expire(self, journal: Journal, deployment: Deployment) -> float:
        """End a deployment's waits that are over; the time now."""
        at = self._now()
        if deployment.overdue(at) and not self._clock.holds:
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
                deployment = await self.workers.run("learn", Deployment.begin, created, recall)
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
            successor = await self.workers.run(
                "learn", relearning.relearned, deployment, cause, past
            )
        journal = self._working()
        if self.deployments.get(name) is not deployment:
            raise UnavailableError("the log was opened again meanwhile; try again")
        with _changing(journal):
            at = self._now()
            raised = relearning.adopt(deployment, cause, successor, at)
            self._record(journal, deployment, at, [cause, *raised], key, erases)
            journal.keep(name, save(deployment))  # so that a restart need not learn it all again

    async def answer_clock(self, answer: events.ClockAnswer, who: str, why: str) -> None:
        """Say which clock is right after the machine's has jumped."""
        journal = self._working()
        with _changing(journal):
            self._timekeeping.answer(journal, answer, who, why, self._record)
        await journal.durable()
        self._timekeeping.recorded()

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
        """The deployment of this name, once all done so far is on disk and in its report."""
        await self.durable()
        return await self._reported(self.deployment(name))

    async def all_settled(self) -> list[Deployment]:
        """All deployments likewise; one whose schema is being changed as it was before."""
        await self.durable()
        return [await self._reported(each) for each in list(self.deployments.values())]

    async def _reported(self, deployment: Deployment) -> Deployment:
        """Have a wide policy's report made in a thread, once for all who wait for it."""
        wanted = deployment.model_version
        async with self._reporting[deployment.name]:
            if not reports.fresh(deployment, wanted):
                making = reports.making(deployment)
                deployment.report = await self.workers.run("report", making)
        return deployment

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
        return await self.workers.run("recompute", restoring.recompute, self.log, entry)

    async def export(self, name: str, path: Path) -> None:
        """Write all decisions of a deployment and their rewards to a Parquet file."""
        await self.durable()
        self.deployment(name)
        await self.workers.run("export", write_parquet, self.log, name, path)


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
