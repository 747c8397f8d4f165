"""Other features for a policy: its past is lived through again, encoded anew."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from greedyfirst.policies import GreedyFirst
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import Conflict, Invalid
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent, Decided, Expired, Rewarded, SchemaChanged
from greedyfirst.service.state import administration as people
from greedyfirst.service.state.contexts import encode
from greedyfirst.service.state.deployment import Deployment, explores, make_agent
from greedyfirst.service.state.specification import Features


def relearned(
    before: Deployment, changed: SchemaChanged, past: Iterable[tuple[float, AnyEvent]]
) -> Deployment:
    """A policy with the new features that has lived through the ``past``; nothing else is changed.

    Arms come and go, and people answer, as they did. The test of diversity, with the new features,
    only raises alarms meanwhile: :meth:`Deployment.adopt` acts on those that nobody has answered.
    Refused where a context of the past, one that still waits for its reward included, cannot be
    encoded.
    """
    specification = replace(before.specification, on_alarm="hold")
    agent = make_agent(specification, before.agent.seed, changed.schema)
    successor = Deployment(specification, agent, before.recall, changed.schema, changed.version)
    successor.fill = before.fill | changed.fill
    waiting: dict[int, Decided] = {}
    for at, event in past:
        _live_through(successor, event, at, waiting)
    for decided in waiting.values():
        _encoded(successor, decided.context)
    successor.specification = before.specification
    if isinstance(agent.policy, GreedyFirst):
        agent.answer_alarms(before.specification.on_alarm)
    return successor


def _live_through(
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
                successor.update(context, row.arm, row.reward, FOREIGN, at)
        case events.Alarmed():
            _answer(successor, event)
        case events.Resolved() | events.ArmAdded() | events.ArmRetired():
            with suppress(Conflict):  # what a person asked for is so already
                people.act(successor, event, at)


def _learn(successor: Deployment, decided: Decided, value: float, at: float) -> None:
    context = _encoded(successor, decided.context)
    successor.update(context, decided.answer.arm, value, decided.answer.step, at)


def _answer(successor: Deployment, alarm: events.Alarmed) -> None:
    """What the policy did by itself at an alarm."""
    if alarm.answered == "explore" and not explores(successor.agent):
        successor.explore()
    if alarm.answered == "drop":
        successor.drop(alarm.arm)


def check_fill(before: Deployment, schema: Features, fill: dict[str, Any]) -> None:
    """Refuse values for the past that are missing, or that do not fit the new features."""
    features = {feature.name: feature for feature in schema.schema().features}
    missing = {*features} - {feature.name for feature in before.encoding.features} - {*fill}
    if missing:
        raise Invalid(f"fill must say what {sorted(missing)[0]!r} was in contexts so far")
    for name, value in fill.items():
        if name not in features:
            raise Invalid(f"fill names {name!r}, which is not a feature of the new schema")
        try:
            features[name].check_value(f"fill of {name!r}", value)
        except ValueError as error:
            raise Invalid(str(error)) from None


def _encoded(successor: Deployment, context: dict[str, Any]) -> Any:
    try:
        return encode(successor.schema, successor.as_now(context))
    except ValueError as error:
        sentence = str(error).replace("row", "context", 1)
        raise Invalid(f"a context of the past does not fit: {sentence}") from None
