"""A person corrects a reward, confirms one that was held, or declares it void."""

from __future__ import annotations

from typing import Any

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.log.events import AnyEvent, RewardCorrected, Rewarded
from greedyfirst.service.state import rewards
from greedyfirst.service.state.deployment import Deployment


def correction(
    deployment: Deployment, step: int, part: str, value: float | None, who: str, why: str
) -> RewardCorrected:
    """The event of a correction, which says what it will do; nothing is changed yet."""
    rewards.check_step(deployment, step)
    found = (event for event in deployment.recall(step) if isinstance(event, Rewarded))
    came = next((event for event in found if event.part == part), None)
    named = rewards.named(deployment, step, part)
    if step in deployment.amendments.erased:
        raise ConflictError(f"decision {named} was erased: its reward is void")
    if came is None:
        raise ConflictError(f"decision {named} has no reward that could be corrected")
    held = part in deployment.held.get(step, {})
    before = deployment.amendments.corrected.get(step, {}).get(part, came.value)
    if value == before and not held:
        said = "is void" if before is None else f"is {before}"
        raise ConflictError(f"the reward of decision {named} {said} already")
    event = RewardCorrected(
        step=step,
        part=part,
        value=value,
        before=before,
        effect=_effect(deployment, came, held=held),
        who=who,
        why=why,
    )
    _check_value(deployment, event)
    return event


def is_same(
    recorded: AnyEvent, step: int, part: str, value: float | None, who: str, why: str
) -> bool:
    """Whether this request was recorded so."""
    return isinstance(recorded, RewardCorrected) and (
        (recorded.step, recorded.part, recorded.value) == (step, part, value)
        and (recorded.who, recorded.why) == (who, why)
    )


def _effect(deployment: Deployment, came: Rewarded, *, held: bool) -> Any:
    """What a correction of this reward does."""
    if came.outcome == "late":
        return "recorded"
    if came.step in deployment.pending:
        return "waiting"
    left = {*deployment.held.get(came.step, {})} - {came.part}
    if left:
        return "waiting"
    return "learned" if held else "relearned"


def _check_value(deployment: Deployment, event: RewardCorrected) -> None:
    """Refuse what the policy's model could not learn."""
    step, value = event.step, event.value
    if event.effect == "waiting":
        parts = dict(deployment.parts.get(step, {}))
    else:
        parts = rewards.parts_of(deployment, step)
        parts = deployment.amendments.standing(step, parts)
    if value is not None and event.effect != "recorded":
        rewards.check_reward(deployment, sum((parts | {event.part: value}).values()))


def apply(deployment: Deployment, event: RewardCorrected, at: float) -> list[AnyEvent]:
    """The effect of a correction; what is "relearned" is made by :mod:`~.relearning`."""
    step, part = event.step, event.part
    book(deployment, event)
    if event.effect == "waiting":
        known = {**deployment.parts.get(step, {}), part: event.value}
        deployment.parts[step] = {name: each for name, each in known.items() if each is not None}
    if event.effect != "learned":
        return []
    deployment.parts.pop(step, None)
    parts = rewards.parts_of(deployment, step)
    value = deployment.amendments.learned(step, parts)
    if value is None:
        deployment.counts.voided += 1
        return []
    return rewards.learn_decision(deployment, step, value, at)


def book(deployment: Deployment, event: RewardCorrected) -> None:
    """Note the correction; the reward is held no more."""
    step, part = event.step, event.part
    if event.effect == "relearned":
        parts = rewards.parts_of(deployment, step)
        was_void = deployment.amendments.learned(step, parts) is None
    deployment.amendments.correct(step, part, event.value)
    if event.effect == "relearned":
        is_void = deployment.amendments.learned(step, parts) is None
        deployment.counts.voided += is_void - was_void
    left = deployment.held.pop(step, {})
    if {*left} - {part}:
        deployment.held[step] = {name: each for name, each in left.items() if name != part}
