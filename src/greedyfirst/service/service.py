"""The service behind HTTP: each request is counted once, and on disk when it is answered."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import numpy as np

from greedyfirst.service import events, people, restoring, views
from greedyfirst.service.contexts import plain, same_context
from greedyfirst.service.deployment import Deployment
from greedyfirst.service.events import AnyEvent, Decided, Decision
from greedyfirst.service.journal import Journal
from greedyfirst.service.key_filter import KeyFilter
from greedyfirst.service.log import Entry, Log, LogFailed
from greedyfirst.service.messages import DecisionView, RewardAnswer
from greedyfirst.service.refusals import Conflict, Damaged, Invalid, Refusal, Unavailable, Unknown
from greedyfirst.service.relearning import check_fill, relearned
from greedyfirst.service.specification import Features, Specification

SNAPSHOT_EVERY = 5000
_BYTES_PER_ENTRY = 1000
_PAUSE = 1.0
_STEP = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_OTHER_REQUEST = "Idempotency-Key was used for another request"
_log = logging.getLogger("greedyfirst.service")


class DecisionService:
    """All policies in a log.

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
        if name not in self._busy:
            with self._changing():
                caused = self.deployments[name].expire(at)
                if caused:
                    self._record(name, at, caused)
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

    def _known(self, policy: str, key: str | None) -> Entry | None:
        """The entry of an earlier request with this key."""
        if key is None:
            return None
        if not 1 <= len(key) <= 200:
            raise Invalid("Idempotency-Key must have 1 to 200 characters")
        return self._working().with_key(policy, key)

    async def durable(self) -> None:
        """Wait until everything done so far is on disk: nobody is to be told of less."""
        await self._working().durable()

    # ---------------------------------------------------------------- requests

    async def create(self, specification: Specification) -> tuple[Deployment, bool]:
        """Create a policy; False if it is there already, with the same specification."""
        self._working()
        self._check_not_busy(specification.name)
        known = self.deployments.get(specification.name)
        if known is not None:
            if known.specification != specification:
                raise Conflict(f"there is another policy named {specification.name!r}")
            await self.durable()
            return known, False
        specification.check()
        seed = specification.seed
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        created = events.Created(specification=specification, seed=seed)
        recall = self._recall_of(specification.name)
        self._busy.add(specification.name)
        try:  # in a thread, since it may have to compile the policy
            deployment = await asyncio.to_thread(Deployment.begin, created, recall)
        except ValueError as error:
            raise Invalid(str(error)) from None
        finally:
            self._busy.discard(specification.name)
        self._working().add(created, at=self._now(), policy=specification.name)
        self.deployments[specification.name] = deployment
        gc.freeze()
        await self.durable()
        return deployment, True

    async def decide(
        self,
        policy: str,
        context: dict[str, Any],
        eligible_arms: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Decision:
        """Choose an arm; the same key and body get the same answer."""
        deployment, at = self._current(policy)
        known = self._known(policy, key)
        if known is None:
            with self._changing():
                decided = deployment.decide(context, eligible_arms, at)
                self._record(policy, at, [decided], key)
            await self.durable()
            return decided.answer
        earlier = known.event
        eligible = None if eligible_arms is None else tuple(eligible_arms)
        if (
            not isinstance(earlier, Decided)
            or earlier.eligible_arms != eligible
            or not same_context(earlier.context, context)
        ):
            raise Invalid(_OTHER_REQUEST)
        await self.durable()
        return earlier.answer

    async def reward(self, decision_id: str, value: float, part: str = "") -> RewardAnswer:
        """Take the reward of a decision."""
        policy, step = self._parsed(decision_id)
        deployment, at = self._current(policy)
        with self._changing():
            outcome, caused = deployment.reward(step, part, value, at)
            self._record(policy, at, caused)
        await self.durable()
        return RewardAnswer(decision_id=decision_id, outcome=outcome, value=value)

    def _parsed(self, decision_id: str) -> tuple[str, int]:
        policy, _, step = decision_id.rpartition(":")
        if policy not in self.deployments or not _STEP.fullmatch(step):
            self._working()
            raise Unknown(f"there is no decision {decision_id!r}")
        return policy, int(step)

    def decision(self, decision_id: str) -> list[Entry]:
        """Everything about a decision, in order."""
        policy, step = self._parsed(decision_id)
        entries = self._working().about(policy, step)
        if not entries:
            raise Unknown(f"there is no decision {decision_id!r}")
        return entries

    def decision_view(self, decision_id: str) -> DecisionView:
        """A decision and what came of it."""
        entries = self.decision(decision_id)
        summed = self.policy(entries[0].policy).specification.rewards == "sum"
        return views.decision_view(entries, summed=summed)

    def audit(self, policy: str, before: int | None, limit: int) -> list[Entry]:
        """What people and the diversity test did, newest first."""
        self.policy(policy)
        return self.log.audit(policy, before, limit)

    @property
    def log(self) -> Log:
        """The log, for reading."""
        return self._working().log

    async def replay(self, decision_id: str) -> tuple[Decision, Decision]:
        """A decision as it was logged, and as the state of that time makes it again."""
        await self.durable()
        entry = self.decision(decision_id)[0]
        return await asyncio.to_thread(restoring.decide_again, self.log, entry)

    async def resolve(self, policy: str, resolved: events.Resolved, key: str | None) -> None:
        """A person's answer to an alarm."""
        await self._by_person(policy, resolved, key, lambda d, _: people.resolve(d, resolved))

    async def add_arm(self, policy: str, added: events.ArmAdded, key: str | None) -> None:
        """A new arm."""
        await self._by_person(policy, added, key, lambda d, _: people.add_arm(d, added))

    async def retire_arm(self, policy: str, retired: events.ArmRetired, key: str | None) -> None:
        """An arm that is not chosen any more."""
        await self._by_person(policy, retired, key, lambda d, _: people.retire_arm(d, retired.arm))

    async def import_history(self, policy: str, imported: events.Imported, key: str | None) -> None:
        """Rows from elsewhere."""
        rows = (msgspec.structs.replace(row, context=plain(row.context)) for row in imported.rows)
        imported = msgspec.structs.replace(imported, rows=tuple(rows))
        await self._by_person(
            policy, imported, key, lambda d, at: people.import_history(d, imported, at)
        )

    async def _by_person(
        self,
        policy: str,
        event: AnyEvent,
        key: str | None,
        effect: Callable[[Deployment, float], list[AnyEvent] | None],
    ) -> None:
        deployment, at = self._current(policy)
        known = self._known(policy, key)
        if known is None:
            with self._changing():
                caused = effect(deployment, at) or []
                self._record(policy, at, [event, *caused], key)
        elif known.body != events.encode(event):
            raise Invalid(_OTHER_REQUEST)
        await self.durable()

    async def change_schema(
        self, policy: str, schema: Features, fill: dict[str, Any], who: str, why: str
    ) -> int:
        """Give the policy other features; all it learned is learned again. The new version."""
        deployment, _ = self._current(policy)
        check_fill(deployment, schema, fill)
        fill = plain(fill)
        if schema == deployment.encoding and fill.items() <= deployment.fill.items():
            await self.durable()
            return deployment.schema_version
        version = deployment.schema_version + 1
        changed = events.SchemaChanged(version=version, schema=schema, fill=fill, who=who, why=why)
        self._busy.add(policy)
        try:
            await self.durable()
            past = restoring.past_of(self.log, policy)
            successor = await asyncio.to_thread(relearned, deployment, changed, past)
        finally:
            self._busy.discard(policy)
        with self._changing():
            if self.deployments.get(policy) is not deployment:
                raise Unavailable("the log was opened again meanwhile; try again")
            self._record(policy, self._now(), [changed, *deployment.adopt(successor)])
        await self.durable()
        return version
