"""A policy at work: what its events make of it.

Each method that answers a request changes the state and returns the event to be logged. ``apply``
does the same for an event that is in the log already, through the same code: a state that is made
again from the log equals the one that was lost, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from greedyfirst.agent import Agent
from greedyfirst.links.link import check_rewards
from greedyfirst.policies import GLMGreedy, Greedy, GreedyFirst
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service import events
from greedyfirst.service.course import Course
from greedyfirst.service.events import AnyEvent, Decided, Decision, Expired, Rewarded
from greedyfirst.service.refusals import Conflict, Invalid, Unknown
from greedyfirst.service.specification import Features, Specification, check_size
from greedyfirst.tables import Schema
from greedyfirst.validation import FloatArray

#: Sizes of numbers that cannot make estimates overflow.
LEAST, MOST = 1e-100, 1e12
Outcome = Literal["counted", "duplicate", "late"]
#: The decision of a step, and the events about it so far: from the log.
Recall = Callable[[int], list[AnyEvent]]


class Waiting(Struct):
    """A decision whose reward has not come."""

    at: float
    #: With rewards="sum": what has come so far.
    parts: dict[str, float] = {}


class Counts(Struct):
    """How the decisions fared."""

    counted: int = 0
    late: int = 0
    #: Decisions whose wait was over without a reward: those that took the default, and the others.
    defaulted: int = 0
    missing: int = 0
    imported: int = 0


@dataclass
class Deployment:
    """The state of a policy of the service."""

    specification: Specification
    agent: Agent
    recall: Recall
    encoding: Features
    schema_version: int = 1
    model_version: int = 0

    def __post_init__(self) -> None:
        self.schema = self.encoding.schema()
        #: What features that came with later schemas had been before.
        self.fill: dict[str, events.Value] = {}
        #: In the order of the decisions.
        self.pending: dict[int, Waiting] = {}
        self.counts = Counts()
        self.course = Course()
        #: Alarms that nobody has answered yet, by arm.
        self.open_alarms: dict[str, events.Alarmed] = {}
        #: Decisions that came out otherwise than logged when they were replayed.
        self.departures = 0

    @classmethod
    def begin(cls, created: events.Created, recall: Recall) -> Deployment:
        """A new policy."""
        specification = created.specification
        encoding = specification.encoding()
        return cls(
            specification, make_agent(specification, created.seed, encoding), recall, encoding
        )

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.specification.name

    # ---------------------------------------------------------------- decisions

    def decide(self, context: dict[str, Any], eligible: Sequence[str] | None, at: float) -> Decided:
        """Choose an arm."""
        agent = self.agent
        encoded = self._encode(context)
        parts = agent.contributions(encoded)
        expected = agent.expected_rewards(encoded)
        if not (np.isfinite(parts).all() and np.isfinite(expected).all()):
            raise Invalid("context is too extreme: an expected reward there is not finite")
        try:
            chosen = agent.choose(encoded, eligible=eligible)
        except ValueError as error:
            raise Invalid(str(error).replace("eligible must", "eligible_arms must", 1)) from None
        step = agent.decisions
        self.pending[step] = Waiting(at)
        answer = Decision(
            decision_id=f"{self.name}:{step}",
            policy=self.name,
            arm=agent.arm_names[chosen],
            mode=self._mode(),
            step=step,
            at=at,
            model_version=self.model_version,
            schema_version=self.schema_version,
            expected_rewards=dict(zip(agent.arm_names, expected.tolist(), strict=True)),
            contributions=dict(
                zip(agent.feature_names, parts[chosen].tolist(), strict=True),
            ),
        )
        arms = None if eligible is None else tuple(eligible)
        return Decided(context=plain(context), eligible_arms=arms, answer=answer)

    def _encode(self, context: dict[str, Any]) -> FloatArray:
        try:
            return encode(self.schema, context)
        except ValueError as error:
            raise Invalid(str(error).replace("row", "context", 1)) from None

    def _mode(self) -> events.Mode:
        policy = self.agent.policy
        if explores(self.agent):
            return "fallback"
        if self.agent.forced:
            return "forced"
        return "greedy" if isinstance(policy, (GreedyFirst, Greedy, GLMGreedy)) else "policy"

    # ---------------------------------------------------------------- rewards

    def reward(
        self, step: int, part: str, value: float, at: float
    ) -> tuple[Outcome, list[AnyEvent]]:
        """Take a reward: "counted", "duplicate" or "late", and the events that it caused."""
        if not 1 <= step <= self.agent.decisions:
            raise Unknown(f"there is no decision {self.name}:{step}")
        summed = self.specification.rewards == "sum"
        if part and not summed:
            raise Invalid('part must be left out: only rewards="sum" come in parts')
        waiting = self.pending.get(step)
        if waiting is not None and part not in waiting.parts:
            self._check_reward(sum(waiting.parts.values(), value))
            rewarded = Rewarded(step=step, part=part, value=value, outcome="counted")
            return "counted", [rewarded, *self._take(rewarded, at)]
        if waiting is not None:
            return self._again(step, part, value, waiting.parts[part], "duplicate"), []
        for event in self.recall(step):
            if isinstance(event, Rewarded) and event.part == part:
                outcome: Outcome = "duplicate" if event.outcome == "counted" else "late"
                return self._again(step, part, value, event.value, outcome), []
        rewarded = Rewarded(step=step, part=part, value=value, outcome="late")
        return "late", [rewarded, *self._take(rewarded, at)]

    def _again(
        self, step: int, part: str, value: float, before: float, outcome: Outcome
    ) -> Outcome:
        if value != before:
            named = f" (part {part!r})" if part else ""
            raise Conflict(
                f"decision {self.name}:{step}{named} already has the reward {before}, not {value}"
            )
        return outcome

    def _check_reward(self, value: float) -> None:
        try:
            check_rewards("value", self.agent.policy.reward_link(), value)
        except ValueError as error:
            raise Invalid(str(error)) from None

    def _take(self, rewarded: Rewarded, at: float) -> list[AnyEvent]:
        """A reward's effect; the alarms that it raised."""
        if rewarded.outcome == "late":
            self.counts.late += 1
            return []
        step = rewarded.step
        if self.specification.rewards == "sum":
            self.pending[step].parts[rewarded.part] = rewarded.value
            self.counts.counted += 1
            return []
        alarms = self._learn(step, rewarded.value, at)
        del self.pending[step]
        self.counts.counted += 1
        return alarms

    def expire(self, at: float) -> list[AnyEvent]:
        """End the waits that are over."""
        wait = self.specification.reward_wait
        caused: list[AnyEvent] = []
        while wait is not None and self.pending:
            step, waiting = next(iter(self.pending.items()))
            if at <= waiting.at + wait:
                break
            learned = self.specification.default_reward
            if waiting.parts:
                learned = sum(waiting.parts.values())
            expired = Expired(step=step, learned=learned)
            caused += [expired, *self._end_wait(expired, at)]
        return caused

    def _end_wait(self, expired: Expired, at: float) -> list[AnyEvent]:
        waiting = self.pending.pop(expired.step)
        if expired.learned is None:
            self.counts.missing += 1
            return []
        if not waiting.parts:
            self.counts.defaulted += 1
        return self._learn(expired.step, expired.learned, at)

    def _learn(self, step: int, value: float, at: float) -> list[AnyEvent]:
        decided = self.recall(step)[0]
        assert isinstance(decided, Decided)
        encoded = encode(self.schema, self.as_now(decided.context))
        return self.update(encoded, decided.answer.arm, value, step, at)

    def update(
        self, encoded: FloatArray, arm: str, value: float, step: int, at: float
    ) -> list[AnyEvent]:
        """Learn a reward; the alarms that it raised."""
        before = self.agent.alarms
        self.agent.update(encoded, arm, value, step=step)
        self.model_version += 1
        self.course.note(self.agent, value, at)
        return self._alarms_since(before)

    def _alarms_since(self, before: int) -> list[AnyEvent]:
        """The alarms that the last reward raised."""
        if self.agent.alarms == before:
            return []
        return self.raise_alarms(self.agent.rewards)

    def raise_alarms(self, since: int) -> list[AnyEvent]:
        """The alarms of arms that tripped the test after at least ``since`` rewards."""
        raised: list[AnyEvent] = []
        for arm in self.agent.diversity().arms:
            if arm.tripped_at is not None and arm.tripped_at >= since:
                alarm = events.Alarmed(
                    arm=arm.name,
                    rewards=arm.tripped_at,
                    min_eigenvalue=arm.min_eigenvalue,
                    threshold=arm.threshold,
                    weakest_direction=arm.weakest_direction,
                    answered=self.specification.on_alarm,
                )
                self._hear(alarm)
                raised.append(alarm)
        return raised

    def _hear(self, alarm: events.Alarmed) -> None:
        if alarm.answered == "hold":
            self.open_alarms[alarm.arm] = alarm

    def as_now(self, context: dict[str, Any]) -> dict[str, Any]:
        """A context of an earlier schema, in the features of the current one."""
        if self.schema_version == 1:
            return context
        known = {feature.name for feature in self.encoding.features}
        return {name: value for name, value in (self.fill | context).items() if name in known}

    # ---------------------------------------------------------------- people

    def resolve(self, resolved: events.Resolved) -> None:
        """A person's answer to an alarm."""
        self._arm(resolved.arm)
        agent = self.agent
        if not isinstance(agent.policy, GreedyFirst):
            raise Conflict("only a GreedyFirst policy raises alarms that need an answer")
        if resolved.resolution == "explore":
            if agent.state.explores:
                raise Conflict(f"policy {self.name} explores already")
            agent.explore()
            self.open_alarms.clear()
        elif resolved.resolution == "drop":
            self._without(resolved.arm, agent.drop_arm)
        else:
            agent.keep_greedy(resolved.arm)
            self.open_alarms.pop(resolved.arm, None)
        self.model_version += 1

    def add_arm(self, added: events.ArmAdded) -> None:
        """A new arm."""
        if added.arm in self.agent.arm_names:
            raise Conflict(f"policy {self.name} has an arm {added.arm!r} already")
        check_size(self.agent.n_arms + 1, self.agent.n_features)
        try:
            self.agent.add_arm(added.arm, initial_pulls=added.initial_pulls)
        except ValueError as error:
            raise Invalid(str(error)) from None
        self.model_version += 1

    def retire_arm(self, arm: str) -> None:
        """Choose an arm no more."""
        self._without(arm, self.agent.retire_arm)
        self.model_version += 1

    def _without(self, arm: str, leave_out: Callable[[str], None]) -> None:
        if self.agent.dropped[self._arm(arm)]:
            raise Conflict(f"arm {arm!r} is not in use any more")
        try:
            leave_out(arm)
        except ValueError:
            raise Conflict(f"arm {arm!r} is the last one that is left") from None
        self.open_alarms.pop(arm, None)

    def _arm(self, arm: str) -> int:
        if arm not in self.agent.arm_names:
            raise Unknown(f"policy {self.name} has no arm {arm!r}")
        return self.agent.arm_names.index(arm)

    def import_history(self, imported: events.Imported, at: float) -> list[AnyEvent]:
        """Learn rows from elsewhere; all of them or none."""
        encoded = []
        for number, row in enumerate(imported.rows):
            try:
                self._arm(row.arm)
                encoded.append(self._encode(self.as_now(row.context)))
                if not abs(row.reward) <= MOST:
                    raise Invalid(f"reward must be a number of at most {MOST:g} in size")
                self._check_reward(row.reward)
            except (Invalid, Unknown) as error:
                raise Invalid(f"rows[{number}]: {error}") from None
        caused: list[AnyEvent] = []
        for row, context in zip(imported.rows, encoded, strict=True):
            caused += self.update(context, row.arm, row.reward, FOREIGN, at)
        self.counts.imported += len(imported.rows)
        return caused

    def adopt(self, successor: Deployment) -> list[AnyEvent]:
        """Go on as :func:`~.relearning.relearned` made it of other features."""
        self.agent, self.course = successor.agent, successor.course
        self.encoding, self.schema = successor.encoding, successor.schema
        self.fill, self.schema_version = successor.fill, successor.schema_version
        self.model_version += 1
        self.open_alarms.clear()
        return self.raise_alarms(0)

    # ---------------------------------------------------------------- the log

    def apply(self, event: AnyEvent, at: float) -> None:
        """Change the state as the request did that the event came from.

        A change of features needs the past as well: see :mod:`~.restoring`.
        """
        match event:
            case Decided():
                made = self.decide(event.context, event.eligible_arms, at)
                self.departures += made.answer != event.answer
            case Rewarded():
                self._take(event, at)
            case Expired():
                self._end_wait(event, at)
            case events.Alarmed():
                self._hear(event)
            case events.Resolved():
                self.resolve(event)
            case events.ArmAdded():
                self.add_arm(event)
            case events.ArmRetired():
                self.retire_arm(event.arm)
            case events.Imported():
                self.import_history(event, at)


def make_agent(
    specification: Specification,
    seed: int,
    encoding: Features,
    arms: Sequence[str] | None = None,
) -> Agent:
    """The agent before its first decision."""
    arm_names = specification.arms if arms is None else tuple(arms)
    feature_names = encoding.schema().feature_names
    check_size(len(arm_names), len(feature_names))
    return Agent(
        specification.made_policy(),
        n_arms=len(arm_names),
        n_features=len(feature_names),
        seed=seed,
        arm_names=arm_names,
        feature_names=feature_names,
    )


def encode(schema: Schema, context: dict[str, Any]) -> FloatArray:
    """The context as numbers whose squares, and those of their inverses, are finite."""
    encoded = schema.encode_row(context)
    size = np.abs(encoded)
    good = (encoded == 0) | ((size >= LEAST) & (size <= MOST))
    if not good.all():
        feature = schema.feature_names[int(np.argmin(good))]
        raise ValueError(
            f"feature {feature!r} must be 0, or {LEAST:g} to {MOST:g} in size once standardised, "
            f"got {context[feature]!r}"
        )
    return encoded


def plain(context: dict[str, Any]) -> dict[str, Any]:
    """A context as JSON keeps it: whole numbers beyond a float's precision as floats."""
    return {
        name: float(value) if type(value) is int and 2**53 < abs(value) < 2**1023 else value
        for name, value in context.items()
    }


def same_context(kept: dict[str, Any], context: dict[str, Any]) -> bool:
    """Whether a context is the one that was kept; true is not 1 here."""
    one, other = sorted(kept.items()), sorted(plain(context).items())
    return msgspec.json.encode(one) == msgspec.json.encode(other)


def explores(agent: Agent) -> bool:
    """Whether a Greedy-First policy has switched."""
    return isinstance(agent.policy, GreedyFirst) and agent.state.explores
