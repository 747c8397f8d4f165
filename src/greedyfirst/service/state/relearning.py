"""A deployment learns its past again: with other features, or with what stands of its rewards."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace

from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import ConflictError, InvalidError
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import plain_context
from greedyfirst.service.log.events import (
    Alarmed,
    AnyEvent,
    Decided,
    Erased,
    Expired,
    RewardCorrected,
    Rewarded,
    SchemaChanged,
)
from greedyfirst.service.state import administration, corrections, erasure, rewards
from greedyfirst.service.state.answers import LEAVE_OPEN, answer_alone
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.specification import Features
from greedyfirst.validation import FloatArray

#: The events after which everything is learned again.
Cause = SchemaChanged | RewardCorrected | Erased


class Waiting(NamedTuple):
    """A decision of the past from which nothing has been learned yet, and parts of its reward."""

    decided: Decided
    parts: dict[str, float]


def is_cause(deployment: Deployment, event: AnyEvent) -> bool:
    """Whether everything is learned again after the event."""
    if isinstance(event, SchemaChanged):
        return not _only_ranges(deployment, event)
    if isinstance(event, Erased):
        return event.was in ("rewarded", "defaulted")
    return isinstance(event, RewardCorrected) and event.effect == "relearned"


def relearned(
    before: Deployment, cause: Cause, past: Iterable[tuple[float, AnyEvent]]
) -> Deployment:
    """A deployment that has learned from the ``past`` as it stands after the ``cause``.

    ``before`` is not changed. Arms come and go, and people answer, as they did. The test of
    diversity only raises alarms meanwhile: :func:`adopt` acts on those that nobody has answered. An
    error says which context of the past cannot be encoded, one that still waits for its reward
    included.
    """
    specification = replace(before.specification, on_alarm=LEAVE_OPEN)
    encoding, version, backfill = before.encoding, before.schema_version, before.backfill
    if isinstance(cause, SchemaChanged):
        encoding, version = cause.schema, cause.version
        backfill = backfill | cause.backfill
    agent = specification.made_agent(before.agent.seed, encoding)
    successor = Deployment(specification, agent, before.recall, encoding, version)
    successor.backfill = backfill
    successor.amendments = before.amendments.copied()
    if isinstance(cause, RewardCorrected):
        successor.amendments.correct(cause.step, cause.part, cause.value)
    elif isinstance(cause, Erased):
        successor.amendments.erased.add(cause.step)
    waiting: dict[int, Waiting] = {}
    for at, event in past:
        _apply_again(successor, event, at, waiting)
    for step, each in waiting.items():
        if not (each.decided.erased or step in successor.amendments.erased):
            _encoded(successor, each.decided.context)
    successor.specification = before.specification
    if agent.policy.watches:
        agent.answer_alarms(before.specification.on_alarm)
    return successor


def adopt(deployment: Deployment, cause: Cause, successor: Deployment, at: float) -> list[AnyEvent]:
    """Take over what :func:`relearned` made; the new alarms."""
    book(deployment, cause)
    deployment.agent, deployment.history = successor.agent, successor.history
    if deployment.control is not None and successor.control is not None:
        deployment.control.adopt(successor.control)
    return _take_over_alarms(deployment, successor.open_alarms, at)


def book(deployment: Deployment, cause: Cause) -> None:
    """Count and note what the cause says, without learning."""
    match cause:
        case RewardCorrected():
            corrections.book(deployment, cause)
        case Erased():
            erasure.book(deployment, cause)
        case SchemaChanged():
            deployment.use(cause.schema)
            deployment.schema_version = cause.version
            deployment.backfill = deployment.backfill | cause.backfill
    deployment.model_version += 1


def change_ranges(deployment: Deployment, changed: SchemaChanged) -> None:
    """Take over features of which only the plausible ranges are other ones."""
    deployment.use(changed.schema)
    deployment.schema_version = changed.version


def _take_over_alarms(
    deployment: Deployment, found: dict[str, Alarmed], at: float
) -> list[AnyEvent]:
    """The alarms that are new among those ``found``; an alarm that was open keeps its number."""
    alarms, answer = deployment.alarms, deployment.specification.on_alarm
    for arm in [*alarms.open]:
        if arm not in found:
            alarms.end(arm, "relearned", at)
    new: list[AnyEvent] = []
    for arm, alarm in found.items():
        known = alarms.open.get(arm)
        number = alarms.raised + 1 if known is None else known.number
        alarm = alarms.add(replace(alarm, number=number), at, leave_open=True)
        if known is None:
            new.append(replace(alarm, answered=answer))
    if answer != LEAVE_OPEN:
        for arm in found:
            if arm in alarms.open:
                answer_alone(deployment, answer, arm, at)
    return new


def _apply_again(
    successor: Deployment, event: AnyEvent, at: float, waiting: dict[int, Waiting]
) -> None:
    """Do what the event did, as it stands now; ``waiting`` are decisions without a reward."""
    match event:
        case Decided():
            successor.agent.decisions = event.answer.step
            if successor.control is not None:
                successor.control.number(event)
            waiting[event.answer.step] = Waiting(event, {})
        case Rewarded() if event.outcome != "late":
            waiting[event.step].parts[event.part] = event.value
            if event.outcome == "counted" and successor.specification.rewards != "sum":
                _learn(successor, event.step, waiting, at)
        case Expired() if not event.held:
            _learn(successor, event.step, waiting, at, event.learned)
        case RewardCorrected() if event.effect == "learned":
            _learn(successor, event.step, waiting, at)
        case events.Imported():
            for row in event.rows:
                context = _encoded(successor, row.context)
                rewards.learn(successor, context, row.arm, row.reward, FOREIGN, at)
        case events.Alarmed():
            answer_alone(successor, event.answered, event.arm, at)
        case events.Resolved() | events.ArmAdded() | events.ArmRetired() | events.ArmReinstated():
            with suppress(ConflictError):  # what was requested is so already
                administration.apply(successor, event, at)


def _learn(
    successor: Deployment,
    step: int,
    waiting: dict[int, Waiting],
    at: float,
    default: float | None = None,
) -> None:
    """Learn what stands of a decision's reward, or the default where none came."""
    decided, parts = waiting.pop(step)
    value = successor.amendments.learned(step, parts) if parts else default
    if value is not None and step not in successor.amendments.erased:
        context = _encoded(successor, decided.context)
        rewards.learn_decided(successor, decided, context, value, at)


def _encoded(successor: Deployment, context: dict[str, Any]) -> FloatArray:
    try:
        return successor.encode_past(context)
    except ValueError as error:
        sentence = str(error).replace("row", "context", 1)
        raise InvalidError(f"a context of the past does not fit: {sentence}") from None


def change(
    before: Deployment, schema: Features, backfill: dict[str, Any], who: str, why: str
) -> SchemaChanged | None:
    """The event of a change of features; None if they are so already."""
    backfill = plain_context(backfill)
    schema.check_names()
    _check_backfill(before, schema, backfill)
    if schema == before.encoding and backfill.items() <= before.backfill.items():
        return None
    version = before.schema_version + 1
    return SchemaChanged(version=version, schema=schema, backfill=backfill, who=who, why=why)


def _only_ranges(before: Deployment, changed: SchemaChanged) -> bool:
    """Whether contexts are encoded as before: only what is plausible has changed."""
    known = changed.backfill.items() <= before.backfill.items()
    return known and changed.schema.without_ranges() == before.encoding.without_ranges()


def _check_backfill(before: Deployment, schema: Features, backfill: dict[str, Any]) -> None:
    """Refuse values for the past that are missing, or that do not fit the new features."""
    features = {feature.name: feature for feature in schema.schema().features}
    missing = {*features} - {feature.name for feature in before.encoding.features} - {*backfill}
    if missing:
        raise InvalidError(f"fill must say what {sorted(missing)[0]!r} was in contexts so far")
    for name, value in backfill.items():
        if name not in features:
            raise InvalidError(f"fill names {name!r}, which is not a feature of the new schema")
        try:
            features[name].check_value(f"fill of {name!r}", value)
        except ValueError as error:
            raise InvalidError(str(error)) from None
