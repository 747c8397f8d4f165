"""Rewards: those that come, those that come too late, and those that never come."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from greedyfirst.links.link import check_rewards
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import ConflictError, InvalidError, NotFoundError
from greedyfirst.service.log.events import AnyEvent, Decided, Expired, Rewarded
from greedyfirst.service.state import alarms
from greedyfirst.service.state.deployment import Deployment, HeldReward
from greedyfirst.validation import FloatArray

Outcome = Literal["counted", "duplicate", "late", "held"]


def reward(
    deployment: Deployment, step: int, part: str, value: float, at: float
) -> tuple[Outcome, list[AnyEvent]]:
    """Take a reward: what became of it, and the events that it caused."""
    check_step(deployment, step)
    if part and deployment.specification.rewards != "sum":
        raise InvalidError('part must be left out: only rewards="sum" come in parts')
    waiting = step in deployment.pending
    known = deployment.parts.get(step, {}) | deployment.amendments.corrected.get(step, {})
    seen = part in known or part in deployment.held.get(step, {})
    for event in deployment.recall(step) if seen or not waiting else ():
        if isinstance(event, Rewarded) and event.part == part:
            _check_same(deployment, event, value)
            return "duplicate" if event.outcome == "counted" else event.outcome, []
    if waiting:
        return _take(deployment, step, part, value, at)
    if step in deployment.amendments.erased:
        raise ConflictError(f"decision {named(deployment, step)} was erased: it takes no reward")
    _check_range(deployment, value)
    rewarded = Rewarded(step=step, part=part, value=value, outcome="late")
    return "late", [rewarded, *apply_reward(deployment, rewarded, at)]


def _take(
    deployment: Deployment, step: int, part: str, value: float, at: float
) -> tuple[Outcome, list[AnyEvent]]:
    """Take a reward of a decision that waits for it."""
    plausible = _check_range(deployment, value)
    check_reward(deployment, sum(deployment.parts.get(step, {}).values(), value))
    outcome: Literal["counted", "held"] = "counted"
    if not plausible or step in deployment.dubious:
        outcome = "held"
    rewarded = Rewarded(step=step, part=part, value=value, outcome=outcome)
    return outcome, [rewarded, *apply_reward(deployment, rewarded, at)]


def _check_range(deployment: Deployment, value: float) -> bool:
    """Whether the reward is plausible; an error where others are refused."""
    limits = deployment.specification.reward_range
    if limits is None or limits.has(value):
        return True
    if limits.outside == "refuse":
        raise InvalidError(f"value must be {limits.words()}, the range of rewards, got {value}")
    return False


def check_step(deployment: Deployment, step: int) -> None:
    """Refuse the number of a decision that there is not."""
    if not 1 <= step <= deployment.agent.decisions:
        raise NotFoundError(f"there is no decision {deployment.decision_id(step)}")


def named(deployment: Deployment, step: int, part: str = "") -> str:
    """A decision, and the part of its reward, in a sentence."""
    return deployment.decision_id(step) + (f" (part {part!r})" if part else "")


def _check_same(deployment: Deployment, known: Rewarded, value: float) -> None:
    """Refuse another reward than the one that the decision has."""
    step, part = known.step, known.part
    corrected = deployment.amendments.corrected.get(step, {})
    if value in (known.value, corrected.get(part, known.value)):
        return
    has = f"already has the reward {known.value}"
    if part in corrected:
        now = corrected[part]
        has += ", which is void" if now is None else f", which was corrected to {now}"
    raise ConflictError(f"decision {named(deployment, step, part)} {has}, not {value}")


def check_reward(deployment: Deployment, value: float) -> None:
    """Refuse what the policy's model cannot learn, or that of current practice."""
    for agent in deployment.agents:
        try:
            check_rewards("value", agent.policy.reward_link(), value)
        except ValueError as error:
            raise InvalidError(str(error)) from None


def apply_reward(deployment: Deployment, rewarded: Rewarded, at: float) -> list[AnyEvent]:
    """A reward's effect; the alarms that it raised."""
    step, part, value = rewarded.step, rewarded.part, rewarded.value
    if rewarded.outcome == "late":
        deployment.counts.late += 1
        if _was_missing(deployment, rewarded):
            deployment.counts.missing -= 1
            deployment.counts.too_late += 1
        return []
    summed = deployment.specification.rewards == "sum"
    raised: list[AnyEvent] = []
    if rewarded.outcome == "held":
        outside = deployment.dubious.get(step, ())
        limits = deployment.specification.reward_range
        if limits is not None and not limits.has(value):
            outside = (*outside, "reward")
        held = HeldReward(value=value, at=at, outside=outside)
        deployment.held[step] = deployment.held.get(step, {}) | {part: held}
    elif summed:
        deployment.parts[step] = deployment.parts.get(step, {}) | {part: value}
    else:
        raised = learn_decision(deployment, step, value, at)
    if not summed:
        deployment.wait_no_more(step)
    deployment.counts.counted += rewarded.outcome == "counted"
    return raised


def _was_missing(deployment: Deployment, late: Rewarded) -> bool:
    """Whether no reward had come before this one, and nothing was learned instead."""
    missing = False
    for event in deployment.recall(late.step):
        if isinstance(event, Rewarded):
            return missing and event == late  # from the log: it is there already
        if isinstance(event, Expired):
            missing = event.learned is None
    return missing


def expire(
    deployment: Deployment, at: float, steps: Collection[int] | None = None
) -> list[AnyEvent]:
    """End the waits that are over; with ``steps``, up to the first that is not among them."""
    caused: list[AnyEvent] = []
    while deployment.overdue(at):
        step, _ = deployment.pending.oldest()
        if steps is not None and step not in steps:
            break
        learned = deployment.specification.default_reward
        held = step in deployment.held
        parts = deployment.parts.get(step)
        if parts and not held:
            learned = sum(parts.values())
        elif held or step in deployment.dubious or step in deployment.amendments.corrected:
            learned = None
        expired = Expired(step=step, learned=learned, held=held)
        caused += [expired, *apply_expiry(deployment, expired, at)]
    return caused


def apply_expiry(deployment: Deployment, expired: Expired, at: float) -> list[AnyEvent]:
    """The effect of a wait that is over; the alarms that it raised."""
    step = expired.step
    deployment.wait_no_more(step)
    if expired.held:
        return []
    parts = deployment.parts.pop(step, {})
    if expired.learned is None:
        void = step in deployment.amendments.corrected
        deployment.counts.voided += void
        deployment.counts.missing += not void
        return []
    if not parts:
        deployment.counts.defaulted += 1
    return learn_decision(deployment, step, expired.learned, at)


def parts_of(deployment: Deployment, step: int) -> dict[str, float]:
    """The parts in which the reward of a decision came in time, as they came."""
    return {
        event.part: event.value
        for event in deployment.recall(step)
        if isinstance(event, Rewarded) and event.outcome != "late"
    }


def learn_decision(deployment: Deployment, step: int, value: float, at: float) -> list[AnyEvent]:
    """Learn the reward of a decision; the alarms that it raised."""
    decided = deployment.recall(step)[0]
    assert isinstance(decided, Decided)
    if decided.erased:
        deployment.lacking.add(step)
    if deployment.lacking:
        control = deployment.control
        deployment.model_version += control is None or control.learns_from(decided)
        return []
    encoded = deployment.encode_past(decided.context)
    return learn_decided(deployment, decided, encoded, value, at)


def learn_decided(
    deployment: Deployment, decided: Decided, encoded: FloatArray, value: float, at: float
) -> list[AnyEvent]:
    """Learn the reward of this decision, of a control group only if that was asked for."""
    control, step = deployment.control, decided.answer.step
    if control is not None:
        control.learn(decided, encoded, value)
        if not control.learns_from(decided):
            return []
        if decided.answer.group == "control":
            step = FOREIGN
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
