"""A deployment: a policy that the service runs, and how it decides.

Each function that answers a request changes the state and returns the events to be logged. Events
in the log are applied through the same code (:mod:`~.restoring`): a state restored from the log
equals the one that was lost, bit for bit.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import Struct

from greedyfirst.agent import Agent
from greedyfirst.links import Identity
from greedyfirst.policies.greedy_first import DiversityReport
from greedyfirst.service.errors import ConflictError, InvalidError, NotFoundError
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import plain_context
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.state.alarm_record import AlarmRecord
from greedyfirst.service.state.amendments import Amendments
from greedyfirst.service.state.control_group import ControlGroup
from greedyfirst.service.state.history import History
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.ranges import LEAST, MOST, outside
from greedyfirst.service.state.run_state import Standing
from greedyfirst.service.state.specification import Features, Specification
from greedyfirst.tables import Schema
from greedyfirst.validation import FloatArray

#: So many places of settled decisions are kept beside as many as there are pending ones.
_SPARE = 1000
#: The decision of a step, and the events about it so far: from the log.
Recall = Callable[[int], list[AnyEvent]]


class Counts(Struct):
    """How many rewards came, or did not."""

    counted: int = 0
    late: int = 0
    #: Decisions whose wait was over without a reward: those that took the default, and the others.
    defaulted: int = 0
    missing: int = 0
    imported: int = 0
    #: Decisions from which nothing is learned, since their reward came after the wait, or is void.
    #: They are not among the missing.
    too_late: int = 0
    voided: int = 0


class HeldReward(Struct, frozen=True, kw_only=True):
    """A reward that is not learned until a person has seen to it."""

    value: float
    at: float
    #: What is outside its plausible range: "reward", or the names of features.
    outside: tuple[str, ...]


@dataclass
class Deployment:
    """The state of a policy that the service runs."""

    specification: Specification
    agent: Agent
    recall: Recall
    encoding: Features
    schema_version: int = 1
    model_version: int = 0

    def __post_init__(self) -> None:
        #: The policy as the request had it that created the deployment; None in older logs.
        self.asked: PolicyDescription | None = None
        self.use(self.encoding)
        self._linear = self.agent.policy.reward_link() is Identity
        #: The values that later features have in contexts from before they were there.
        self.backfill: dict[str, events.Value] = {}
        self.pending = Pending()
        #: With rewards="sum": what has come so far of pending ones.
        self.parts: dict[int, dict[str, float]] = {}
        #: Decisions that wait for a reward which will be held: their features outside the range.
        self.dubious: dict[int, tuple[str, ...]] = {}
        #: Rewards that wait for a person, by decision and part.
        self.held: dict[int, dict[str, HeldReward]] = {}
        self.amendments = Amendments()
        self.counts = Counts()
        self.history = History()
        self.control = ControlGroup.begin(self.specification, self.agent.seed, self.encoding)
        self.alarms = AlarmRecord()
        self.standing = Standing()
        #: The newest report of its diversity, with the model's version then: a cache.
        self.report: tuple[int, DiversityReport] | None = None
        #: Of each time that the log was put back from a backup: the first decision after it, and
        #: how ids end since then.
        self.tags: list[tuple[int, str]] = []
        #: Decisions that differed from the log when they were recomputed.
        self.mismatches = 0
        #: Erased decisions that had been learned at this point of the log, and are erased only
        #: later: the state of this time is not known. Decisions that were not recomputed for that.
        self.lacking: set[int] = set()
        self.not_recomputed = 0

    @classmethod
    def begin(cls, created: events.Created, recall: Recall) -> Deployment:
        """A new deployment."""
        specification = created.specification
        encoding = specification.encoding()
        agent = specification.made_agent(created.seed, encoding)
        deployment = cls(specification, agent, recall, encoding)
        deployment.asked = created.asked
        return deployment

    def use(self, encoding: Features) -> None:
        """Encode contexts so from now on."""
        self.encoding, self.schema = encoding, encoding.schema()
        self.ranges = encoding.ranges()

    @property
    def name(self) -> str:
        """Its name, which requests call the policy's."""
        return self.specification.name

    @property
    def agents(self) -> list[Agent]:
        """The policy's agent, and that of current practice where the control share has one."""
        practice = None if self.control is None else self.control.agent
        return [self.agent] if practice is None else [self.agent, practice]

    @property
    def open_alarms(self) -> dict[str, events.Alarmed]:
        """The alarms that nobody has answered yet, by arm."""
        return self.alarms.open

    def check_running(self) -> None:
        """Refuse a decision while it is paused or closed."""
        if self.standing.state != "running":
            raise ConflictError(self.standing.sentence(self.name))

    def decide(self, context: dict[str, Any], eligible: Sequence[str] | None, at: float) -> Decided:
        """Choose an arm: context, scores, selected arm, event."""
        agent = self.agent
        context = plain_context(context)
        encoded = self.encode(context)
        held = outside(self.ranges, context) if self.ranges else ()
        rewards, parts = agent.explain(encoded)
        expected = rewards.tolist()
        # With a link an expected reward may be finite where what it was made of is not.
        if not math.isfinite(sum(expected)) or not (self._linear or math.isfinite(parts.sum())):
            raise InvalidError("context is too extreme: an expected reward there is not finite")
        try:
            chosen = agent.choose(encoded, eligible=eligible)
        except ValueError as error:
            sentence = str(error).replace("eligible must", "eligible_arms must", 1)
            raise InvalidError(sentence) from None
        chances, group, control_step, in_control = agent.propensities, None, None, False
        if self.control is not None:
            group, chances, taken, control_step = self.control.draw(agent, encoded, eligible)
            in_control = taken is not None
            chosen = chosen if taken is None else taken
        each, names = chances.tolist(), agent.arm_names
        raised_by = {} if in_control else self._raised_by(eligible)
        step, arm = agent.decisions, names[chosen]
        self.pending.add(step, at)
        if held:
            self.dubious[step] = held
        answer = Decision(
            decision_id=self.decision_id(step),
            policy=self.specification.name,
            arm=arm,
            mode="control" if in_control else agent.mode,
            step=step,
            at=at,
            model_version=self.model_version,
            schema_version=self.schema_version,
            expected_rewards=dict(zip(agent.arm_names, expected, strict=True)),
            contributions=dict(zip(agent.feature_names, parts[chosen].tolist(), strict=True)),
            explored_arms=tuple(raised_by),
            raised_by=raised_by,
            propensity=each[chosen],
            held=held,
            group=group,
            propensities={arm: 1.0}
            if each[chosen] == 1.0
            else {name: chance for name, chance in zip(names, each, strict=True) if chance},
        )
        return Decided(
            context=context,
            eligible_arms=None if eligible is None else tuple(eligible),
            answer=answer,
            control_step=control_step,
        )

    def _raised_by(self, eligible: Sequence[str] | None) -> dict[str, float]:
        """The eligible arms whose scores the decision just made raised, and by how much."""
        raised_by = self.agent.raised_by
        if eligible is None or not raised_by:
            return raised_by
        return {arm: by for arm, by in raised_by.items() if arm in eligible}

    def decision_id(self, step: int) -> str:
        """The id of the decision of this number: no two ever have the same one."""
        ends = [tag for first, tag in self.tags if first <= step] if self.tags else None
        return f"{self.name}:{step}-{ends[-1]}" if ends else f"{self.name}:{step}"

    def encode(self, context: dict[str, Any]) -> FloatArray:
        """A context as numbers; an error names what is wrong in it."""
        try:
            return _encoded(self.schema, context)
        except ValueError as error:
            raise InvalidError(str(error).replace("row", "context", 1)) from None

    def encode_past(self, context: dict[str, Any]) -> FloatArray:
        """A logged context, perhaps of an earlier schema, as numbers of the current one."""
        if self.schema_version > 1:
            context = fitted(self.schema, self.backfill, context)
        return _encoded(self.schema, context)

    def overdue(self, at: float) -> bool:
        """Whether the wait of the oldest pending decision is over."""
        wait = self.specification.reward_wait
        if wait is None or not self.pending:
            return False
        return at > self.pending.oldest()[1] + wait

    def overdue_steps(self, at: float, most: int) -> list[int]:
        """The oldest decisions whose wait is over, so many at most."""
        wait = self.specification.reward_wait
        return self.pending.first(most, at - wait) if wait and self.overdue(at) else []

    def wait_no_more(self, step: int) -> None:
        """A decision has its reward, or its wait is over."""
        self.pending.remove(step)
        self.dubious.pop(step, None)
        if self.control is not None:
            self.control.counts.wait_no_more(step)

    def arm_number(self, arm: str) -> int:
        """The place of an arm among the agent's."""
        if arm not in self.agent.arm_names:
            raise NotFoundError(f"policy {self.name} has no arm {arm!r}")
        return self.agent.arm_names.index(arm)

    def leave_out(self, arm: str, how: Callable[[str], None]) -> None:
        """Take an arm out of use by ``how``, a method of the agent."""
        if self.agent.dropped[self.arm_number(arm)]:
            raise ConflictError(f"arm {arm!r} is not in use any more")
        try:
            how(arm)
        except ValueError:
            raise ConflictError(f"arm {arm!r} is the last one that is left") from None


def fitted(schema: Schema, backfill: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """A context, perhaps of an earlier schema, with the features of this one."""
    filled = backfill | context
    return {item.name: filled[item.name] for item in schema.features if item.name in filled}


def _encoded(schema: Schema, context: dict[str, Any]) -> FloatArray:
    """The context as numbers whose squares, and those of their inverses, are finite."""
    encoded = schema.encode_row(context)
    for place, value in enumerate(encoded.tolist()):
        if value and not LEAST <= abs(value) <= MOST:
            feature = schema.feature_names[place]
            raise ValueError(
                f"feature {feature!r} must be 0, or {LEAST:g} to {MOST:g} in size once "
                f"standardised, got {context[feature]!r}"
            )
    return encoded


class Pending:
    """The decisions that wait for their reward, and when each was made, in their order.

    There may be 10⁵ of them, so they are two columns of numbers, which are copied fast. A decision
    that has its reward leaves a hole; the holes are closed once they are more than the others.
    """

    def __init__(self) -> None:
        self._steps = array("q")
        self._times = array("d")
        self._first = 0
        self._count = 0

    @classmethod
    def from_bytes(cls, steps: bytes, times: bytes) -> Pending:
        """Those whose :meth:`columns` were kept as bytes."""
        pending = cls()
        pending._steps.frombytes(steps)
        pending._times.frombytes(times)
        pending._count = len(pending._steps)
        return pending

    def __len__(self) -> int:
        return self._count

    def __contains__(self, step: int) -> bool:
        return self._place(step) is not None

    def _place(self, step: int) -> int | None:
        place = bisect_left(self._steps, step, self._first)
        there = place < len(self._steps) and self._steps[place] == step
        return place if there and not math.isnan(self._times[place]) else None

    def add(self, step: int, at: float) -> None:
        """A decision, later than all others."""
        self._steps.append(step)
        self._times.append(at)
        self._count += 1

    def remove(self, step: int) -> None:
        """It waits no longer; KeyError if it did not."""
        place = self._place(step)
        if place is None:
            raise KeyError(f"decision {step} does not wait for a reward")
        self._times[place] = math.nan
        self._count -= 1
        if len(self._steps) > 2 * self._count + _SPARE:
            steps, times = self.columns()
            self._steps, self._times = array("q", steps.tobytes()), array("d", times.tobytes())
            self._first = 0
        while self._first < len(self._times) and math.isnan(self._times[self._first]):
            self._first += 1

    def oldest(self) -> tuple[int, float]:
        """The one that was made first, and when; there must be one."""
        return self._steps[self._first], self._times[self._first]

    def first(self, most: int, before: float) -> list[int]:
        """The oldest ones that were made before that time, so many at most."""
        found: list[int] = []
        for place in range(self._first, len(self._steps)):
            if self._times[place] >= before or len(found) == most:
                break
            if not math.isnan(self._times[place]):
                found.append(self._steps[place])
        return found

    def move(self, seconds: float) -> None:
        """All were made so many seconds later."""
        times = np.frombuffer(self._times, np.float64)
        times += seconds

    def columns(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], FloatArray]:
        """A copy: steps and times."""
        steps = np.frombuffer(self._steps, np.int64)
        times = np.frombuffer(self._times, np.float64)
        waiting = ~np.isnan(times)
        return steps[waiting], times[waiting]
