"""Other features for a deployment: everything is learned again from the log, encoded anew."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import ConflictError, InvalidError
from greedyfirst.service.log import events
from greedyfirst.service.log.events import (
    Alarmed,
    AnyEvent,
    Decided,
    Expired,
    Rewarded,
    SchemaChanged,
)
from greedyfirst.service.state import administration, rewards
from greedyfirst.service.state.answers import LEAVE_OPEN, answer_alone
from greedyfirst.service.state.contexts import plain
from greedyfirst.service.state.deployment import Deployment, make_agent
from greedyfirst.service.state.specification import Features
from greedyfirst.validation import FloatArray


def relearned(
    before: Deployment, changed: SchemaChanged, past: Iterable[tuple[float, AnyEvent]]
) -> Deployment:
    """A deployment with the new features that has learned from the ``past``.

    ``before`` is not changed. Arms come and go, and people answer, as they did. The test of
    diversity, with the new features, only raises alarms meanwhile: :func:`adopt` acts on those that
    nobody has answered. An error says which context of the past cannot be encoded, one that still
    waits for its reward included.
    """
    specification = replace(before.specification, on_alarm=LEAVE_OPEN)
    agent = make_agent(specification, before.agent.seed, changed.schema)
    successor = Deployment(specification, agent, before.recall, changed.schema, changed.version)
    successor.backfill = before.backfill | changed.backfill
    waiting: dict[int, Decided] = {}
    for at, event in past:
        _apply_again(successor, event, at, waiting)
    for decided in waiting.values():
        _encoded(successor, decided.context)
    successor.specification = before.specification
    if agent.policy.watches:
        agent.answer_alarms(before.specification.on_alarm)
    return successor


def adopt(deployment: Deployment, successor: Deployment, at: float) -> list[AnyEvent]:
    """Take over what :func:`relearned` made; the new alarms."""
    deployment.agent, deployment.history = successor.agent, successor.history
    deployment.encoding, deployment.schema = successor.encoding, successor.schema
    deployment.backfill = successor.backfill
    deployment.schema_version = successor.schema_version
    deployment.model_version += 1
    return _take_over_alarms(deployment, successor.open_alarms, at)


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
    successor: Deployment, event: AnyEvent, at: float, waiting: dict[int, Decided]
) -> None:
    """Do what the event did; ``waiting`` has the decisions without a reward."""
    match event:
        case Decided():
            successor.agent.decisions = event.answer.step
            waiting[event.answer.step] = event
        case Rewarded() if event.outcome == "counted" and successor.specification.rewards != "sum":
            _learn(successor, waiting.pop(event.step), event.value, at)
        case Expired():
            decided = waiting.pop(event.step)
            if event.learned is not None:
                _learn(successor, decided, event.learned, at)
        case events.Imported():
            for row in event.rows:
                context = _encoded(successor, row.context)
                rewards.learn(successor, context, row.arm, row.reward, FOREIGN, at)
        case events.Alarmed():
            answer_alone(successor, event.answered, event.arm, at)
        case events.Resolved() | events.ArmAdded() | events.ArmRetired() | events.ArmReinstated():
            with suppress(ConflictError):  # what was requested is so already
                administration.apply(successor, event, at)


def _learn(successor: Deployment, decided: Decided, value: float, at: float) -> None:
    context = _encoded(successor, decided.context)
    rewards.learn(successor, context, decided.answer.arm, value, decided.answer.step, at)


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
    backfill = plain(backfill)
    _check_backfill(before, schema, backfill)
    if schema == before.encoding and backfill.items() <= before.backfill.items():
        return None
    version = before.schema_version + 1
    return SchemaChanged(version=version, schema=schema, backfill=backfill, who=who, why=why)


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
