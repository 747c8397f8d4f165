"""A policy at work: what its events make of it.

Each method that answers a request changes the state and returns the events to be logged. Events
in the log are applied through the same code (:mod:`~.restoring`): a state that is made again from
the log equals the one that was lost, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from greedyfirst.agent import Agent
from greedyfirst.links import Identity
from greedyfirst.links.link import check_rewards
from greedyfirst.policies import GLMGreedy, Greedy, GreedyFirst
from greedyfirst.service.errors import Conflict, Invalid, Unknown
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent, Decided, Decision, Expired, Rewarded
from greedyfirst.service.state.contexts import encode, plain
from greedyfirst.service.state.history import Course
from greedyfirst.service.state.pending import Pending
from greedyfirst.service.state.specification import Features, Specification, check_size
from greedyfirst.validation import FloatArray

Outcome = Literal["counted", "duplicate", "late"]
#: The decision of a step, and the events about it so far: from the log.
Recall = Callable[[int], list[AnyEvent]]


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
        self._linear = self.agent.policy.reward_link() is Identity
        #: What features that came with later schemas had been before.
        self.fill: dict[str, events.Value] = {}
        self.pending = Pending()
        #: With rewards="sum": what has come so far of pending ones.
        self.parts: dict[int, dict[str, float]] = {}
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
        context = plain(context)
        encoded = self.encode(context)
        rewards, parts = agent.explain(encoded)
        expected = rewards.tolist()
        # With a link an expected reward may be finite where what it was made of is not.
        if not math.isfinite(sum(expected)) or not (self._linear or math.isfinite(parts.sum())):
            raise Invalid("context is too extreme: an expected reward there is not finite")
        try:
            chosen = agent.choose(encoded, eligible=eligible)
        except ValueError as error:
            raise Invalid(str(error).replace("eligible must", "eligible_arms must", 1)) from None
        step, name = agent.decisions, self.name
        self.pending.add(step, at)
        answer = Decision(
            decision_id=f"{name}:{step}",
            policy=name,
            arm=agent.arm_names[chosen],
            mode=self._mode(),
            step=step,
            at=at,
            model_version=self.model_version,
            schema_version=self.schema_version,
            expected_rewards=dict(zip(agent.arm_names, expected, strict=True)),
            contributions=dict(zip(agent.feature_names, parts[chosen].tolist(), strict=True)),
        )
        arms = None if eligible is None else tuple(eligible)
        return Decided(context=context, eligible_arms=arms, answer=answer)

    def encode(self, context: dict[str, Any]) -> FloatArray:
        """A context as numbers, or a refusal that names what is wrong in it."""
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
        waiting = step in self.pending
        known = self.parts.get(step, {})
        if waiting and part not in known:
            self.check_reward(sum(known.values(), value))
            rewarded = Rewarded(step=step, part=part, value=value, outcome="counted")
            return "counted", [rewarded, *self.take(rewarded, at)]
        if waiting:
            return self._again(step, part, value, known[part], "duplicate"), []
        for event in self.recall(step):
            if isinstance(event, Rewarded) and event.part == part:
                outcome: Outcome = "duplicate" if event.outcome == "counted" else "late"
                return self._again(step, part, value, event.value, outcome), []
        rewarded = Rewarded(step=step, part=part, value=value, outcome="late")
        return "late", [rewarded, *self.take(rewarded, at)]

    def _again(
        self, step: int, part: str, value: float, before: float, outcome: Outcome
    ) -> Outcome:
        if value != before:
            named = f" (part {part!r})" if part else ""
            raise Conflict(
                f"decision {self.name}:{step}{named} already has the reward {before}, not {value}"
            )
        return outcome

    def check_reward(self, value: float) -> None:
        """Refuse what the policy's model cannot learn."""
        try:
            check_rewards("value", self.agent.policy.reward_link(), value)
        except ValueError as error:
            raise Invalid(str(error)) from None

    def take(self, rewarded: Rewarded, at: float) -> list[AnyEvent]:
        """A reward's effect; the alarms that it raised."""
        if rewarded.outcome == "late":
            self.counts.late += 1
            return []
        step = rewarded.step
        if self.specification.rewards == "sum":
            known = self.parts.get(step, {})
            self.parts[step] = known | {rewarded.part: rewarded.value}
            self.counts.counted += 1
            return []
        alarms = self._learn(step, rewarded.value, at)
        self.pending.remove(step)
        self.counts.counted += 1
        return alarms

    def overdue(self, at: float) -> bool:
        """Whether the wait of the oldest pending decision is over."""
        wait = self.specification.reward_wait
        if wait is None or not self.pending:
            return False
        return at > self.pending.oldest()[1] + wait

    def expire(self, at: float) -> list[AnyEvent]:
        """End the waits that are over."""
        caused: list[AnyEvent] = []
        while self.overdue(at):
            step, _ = self.pending.oldest()
            learned = self.specification.default_reward
            if step in self.parts:
                learned = sum(self.parts[step].values())
            expired = Expired(step=step, learned=learned)
            caused += [expired, *self.end_wait(expired, at)]
        return caused

    def end_wait(self, expired: Expired, at: float) -> list[AnyEvent]:
        """The effect of a wait that is over; the alarms that it raised."""
        self.pending.remove(expired.step)
        parts = self.parts.pop(expired.step, {})
        if expired.learned is None:
            self.counts.missing += 1
            return []
        if not parts:
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
        return [] if self.agent.alarms == before else self.raise_alarms(self.agent.rewards)

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
                self.hear(alarm)
                raised.append(alarm)
        return raised

    def hear(self, alarm: events.Alarmed) -> None:
        """Keep an alarm until someone answers it."""
        if alarm.answered == "hold":
            self.open_alarms[alarm.arm] = alarm

    def as_now(self, context: dict[str, Any]) -> dict[str, Any]:
        """A context of an earlier schema, in the features of the current one."""
        if self.schema_version == 1:
            return context
        known = {feature.name for feature in self.encoding.features}
        return {name: value for name, value in (self.fill | context).items() if name in known}

    def adopt(self, successor: Deployment) -> list[AnyEvent]:
        """Go on as :func:`~.relearning.relearned` made it of other features; new alarms of it."""
        known, self.open_alarms = self.open_alarms, successor.open_alarms
        self.agent, self.course = successor.agent, successor.course
        self.encoding, self.schema = successor.encoding, successor.schema
        self.fill, self.schema_version = successor.fill, successor.schema_version
        self.model_version += 1
        answer = self.specification.on_alarm
        if answer == "hold":
            return [alarm for arm, alarm in self.open_alarms.items() if arm not in known]
        raised = [replace(alarm, answered=answer) for alarm in self.open_alarms.values()]
        if answer == "explore" and raised:
            self.explore()
        for alarm in raised if answer == "drop" else ():
            self.drop(alarm.arm)
        return [*raised]

    def explore(self) -> None:
        """What the policy does by itself at an alarm with on_alarm="explore"."""
        for arm in self.open_alarms:
            self.agent.watch_again(arm)
        self.open_alarms.clear()
        self.agent.explore()

    def drop(self, arm: str) -> None:
        """What the policy does by itself at an alarm with on_alarm="drop"."""
        self.open_alarms.pop(arm, None)
        with suppress(ValueError):  # the last arm is never dropped
            self.agent.drop_arm(arm)


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


def explores(agent: Agent) -> bool:
    """Whether a Greedy-First policy has switched."""
    return isinstance(agent.policy, GreedyFirst) and agent.state.explores
