"""Rewards: those that come, those that come too late, and those that never come."""

from __future__ import annotations

from typing import Literal

from greedyfirst.links.link import check_rewards
from greedyfirst.service.errors import ConflictError, InvalidError, NotFoundError
from greedyfirst.service.log.events import AnyEvent, Decided, Expired, Rewarded
from greedyfirst.service.state import alarms
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.validation import FloatArray

Outcome = Literal["counted", "duplicate", "late"]


def reward(
    deployment: Deployment, step: int, part: str, value: float, at: float
) -> tuple[Outcome, list[AnyEvent]]:
    """Take a reward: what became of it, and the events that it caused."""
    if not 1 <= step <= deployment.agent.decisions:
        raise NotFoundError(f"there is no decision {deployment.name}:{step}")
    if part and deployment.specification.rewards != "sum":
        raise InvalidError('part must be left out: only rewards="sum" come in parts')
    waiting = step in deployment.pending
    known = deployment.parts.get(step, {})
    if waiting and part not in known:
        check_reward(deployment, sum(known.values(), value))
        rewarded = Rewarded(step=step, part=part, value=value, outcome="counted")
        return "counted", [rewarded, *apply_reward(deployment, rewarded, at)]
    if waiting:
        _check_same(deployment, step, part, value, known[part])
        return "duplicate", []
    for event in deployment.recall(step):
        if isinstance(event, Rewarded) and event.part == part:
            _check_same(deployment, step, part, value, event.value)
            return "duplicate" if event.outcome == "counted" else "late", []
    rewarded = Rewarded(step=step, part=part, value=value, outcome="late")
    return "late", [rewarded, *apply_reward(deployment, rewarded, at)]


def _check_same(deployment: Deployment, step: int, part: str, value: float, before: float) -> None:
    """Refuse another reward than the one that the decision has."""
    if value != before:
        named = f" (part {part!r})" if part else ""
        decision = f"{deployment.name}:{step}{named}"
        raise ConflictError(f"decision {decision} already has the reward {before}, not {value}")


def check_reward(deployment: Deployment, value: float) -> None:
    """Refuse what the policy's model cannot learn."""
    try:
        check_rewards("value", deployment.agent.policy.reward_link(), value)
    except ValueError as error:
        raise InvalidError(str(error)) from None


def apply_reward(deployment: Deployment, rewarded: Rewarded, at: float) -> list[AnyEvent]:
    """A reward's effect; the alarms that it raised."""
    if rewarded.outcome == "late":
        deployment.counts.late += 1
        return []
    step = rewarded.step
    raised: list[AnyEvent] = []
    if deployment.specification.rewards == "sum":
        known = deployment.parts.get(step, {})
        deployment.parts[step] = known | {rewarded.part: rewarded.value}
    else:
        raised = _learn_decision(deployment, step, rewarded.value, at)
        deployment.pending.remove(step)
    deployment.counts.counted += 1
    return raised


def expire(deployment: Deployment, at: float) -> list[AnyEvent]:
    """End the waits that are over."""
    caused: list[AnyEvent] = []
    while deployment.overdue(at):
        step, _ = deployment.pending.oldest()
        learned = deployment.specification.default_reward
        if step in deployment.parts:
            learned = sum(deployment.parts[step].values())
        expired = Expired(step=step, learned=learned)
        caused += [expired, *apply_expiry(deployment, expired, at)]
    return caused


def apply_expiry(deployment: Deployment, expired: Expired, at: float) -> list[AnyEvent]:
    """The effect of a wait that is over; the alarms that it raised."""
    deployment.pending.remove(expired.step)
    parts = deployment.parts.pop(expired.step, {})
    if expired.learned is None:
        deployment.counts.missing += 1
        return []
    if not parts:
        deployment.counts.defaulted += 1
    return _learn_decision(deployment, expired.step, expired.learned, at)


def _learn_decision(deployment: Deployment, step: int, value: float, at: float) -> list[AnyEvent]:
    decided = deployment.recall(step)[0]
    assert isinstance(decided, Decided)
    encoded = deployment.encode_past(decided.context)
    return learn(deployment, encoded, decided.answer.arm, value, step, at)


def learn(
    deployment: Deployment, encoded: FloatArray, arm: str, value: float, step: int, at: float
) -> list[AnyEvent]:
    """Learn a reward; the alarms that it raised, and the arms that it fed."""
    agent = deployment.agent
    before, alarmed_at = agent.alarms, agent.alarmed_at
    agent.update(encoded, arm, value, step=step)
    deployment.model_version += 1
    deployment.history.add(agent, value, at)
    caused = alarms.fed_again(deployment, alarmed_at, at) if alarmed_at.any() else []
    return caused if agent.alarms == before else caused + alarms.new_alarms(deployment, at)
