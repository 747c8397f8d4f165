"""The service behind HTTP: each request is counted once, and on disk when it is answered."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from greedyfirst.service.errors import Conflict, Invalid, Unavailable, Unknown
from greedyfirst.service.http import views
from greedyfirst.service.http.messages import DecisionView, RewardAnswer
from greedyfirst.service.log import events
from greedyfirst.service.log.events import Decided, Decision
from greedyfirst.service.log.log import Entry
from greedyfirst.service.state import administration as people
from greedyfirst.service.state import restoring
from greedyfirst.service.state.contexts import plain, same_context
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.opened_log import LoggedPolicies
from greedyfirst.service.state.relearning import check_fill, relearned
from greedyfirst.service.state.specification import Features, Specification

_STEP = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_OTHER_REQUEST = "Idempotency-Key was used for another request"


class DecisionService(LoggedPolicies):
    """What requests ask for."""

    def _known(self, policy: str, key: str | None) -> Entry | None:
        """The entry of an earlier request with this key."""
        if key is None:
            return None
        if not 1 <= len(key) <= 200:
            raise Invalid("Idempotency-Key must have 1 to 200 characters")
        return self._working().with_key(policy, key)

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

    async def replay(self, decision_id: str) -> tuple[Decision, Decision]:
        """A decision as it was logged, and as the state of that time makes it again."""
        await self.durable()
        entry = self.decision(decision_id)[0]
        return await asyncio.to_thread(restoring.decide_again, self.log, entry)

    async def act(self, policy: str, event: people.Act, key: str | None) -> None:
        """What a person does: answers an alarm, adds or retires an arm, brings history."""
        deployment, at = self._current(policy)
        known = self._known(policy, key)
        if known is None:
            with self._changing():
                caused = people.act(deployment, event, at)
                self._record(policy, at, [event, *caused], key)
        elif known.body != events.encode(event):
            raise Invalid(_OTHER_REQUEST)
        await self.durable()

    async def change_schema(
        self, policy: str, schema: Features, fill: dict[str, Any], who: str, why: str
    ) -> int:
        """Give the policy other features; all it learned is learned again. The new version."""
        deployment, _ = self._current(policy)
        fill = plain(fill)
        check_fill(deployment, schema, fill)
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
