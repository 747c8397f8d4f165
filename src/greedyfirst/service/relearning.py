"""Other features for a policy: all that it learned is learned again, encoded anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service import events
from greedyfirst.service.contexts import encode
from greedyfirst.service.deployment import Deployment, explores, make_agent
from greedyfirst.service.events import AnyEvent, Decided, Expired, Rewarded, SchemaChanged
from greedyfirst.service.people import retire_arm
from greedyfirst.service.refusals import Invalid
from greedyfirst.service.specification import Features


def relearned(
    before: Deployment, changed: SchemaChanged, past: Iterable[tuple[float, AnyEvent]]
) -> Deployment:
    """A policy with the new features that has learned the ``past``; nothing else is changed.

    Refused where a context of the past, one that still waits for its reward included, cannot be
    encoded.
    """
    agent = before.agent
    successor = Deployment(
        before.specification,
        make_agent(before.specification, agent.seed, changed.schema, agent.arm_names),
        before.recall,
        changed.schema,
        changed.version,
    )
    successor.fill = before.fill | changed.fill
    learner = successor.agent
    decided: dict[int, Decided] = {}
    for arm, value, context, at in _learned(past, decided):
        successor.update(_encoded(successor, context), arm, value, FOREIGN, at)
    for waiting in decided.values():
        _encoded(successor, waiting.context)
    learner.decisions = agent.decisions
    learner.joined, learner.foreign = agent.joined, agent.foreign
    if explores(agent) and not explores(learner):
        learner.explore()
    for number, arm in enumerate(agent.arm_names):
        if agent.dropped[number] and not learner.dropped[number]:
            retire_arm(successor, arm)
    return successor


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


def _learned(
    past: Iterable[tuple[float, AnyEvent]], decided: dict[int, Decided]
) -> Iterable[tuple[str, float, dict[str, Any], float]]:
    """Arm, reward, context and time of everything learned, in the order in which it was.

    What still waits for its reward is left in ``decided``.
    """
    summed = False
    for at, event in past:
        match event:
            case events.Created():
                summed = event.specification.rewards == "sum"
            case Decided():
                decided[event.answer.step] = event
            case Rewarded() if event.outcome == "counted" and not summed:
                known = decided.pop(event.step)
                yield known.answer.arm, event.value, known.context, at
            case Expired():
                known = decided.pop(event.step)
                if event.learned is not None:
                    yield known.answer.arm, event.learned, known.context, at
            case events.Imported():
                for row in event.rows:
                    yield row.arm, row.reward, row.context, at
