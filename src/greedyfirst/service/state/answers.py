"""The answers to an alarm, in a deployment: what they are and say is the policy's table.

An alarm says that an arm's samples are not diverse enough. A person answers it, or the policy does
so by itself, as the specification's ``on_alarm`` says. It is answered once: who wants to change an
answer has to say so.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from greedyfirst.service.log.events import Resolved
    from greedyfirst.service.state.deployment import Deployment

    AnswerName = str
else:
    AnswerName = Literal[tuple(ANSWERS)]

#: The answer that leaves the alarm to a person.
LEAVE_OPEN: Any = next(name for name, answer in ANSWERS.items() if answer.leaves_open)
#: Those that explore all arms, and one arm.
EXPLORE = next(name for name, answer in ANSWERS.items() if answer.begins_exploring)
EXPLORE_ARM = next(name for name, answer in ANSWERS.items() if answer.explores_arm)


def addressed(deployment: Deployment, asked: Resolved) -> Resolved:
    """A person's answer with the alarm that it is about, and the answer that it changes.

    Refused if that alarm has been answered by a person, or has come to its end otherwise, unless
    the answer says that it is a change. Without an alarm's number it is about the arm's newest one.
    """
    found = _addressed(deployment, asked)
    if deployment.agent.dropped[deployment.arm_number(asked.arm)]:
        raise ConflictError(f"arm {asked.arm!r} is not in use any more; put it back first")
    return found


def _addressed(deployment: Deployment, asked: Resolved) -> Resolved:
    record, arm = deployment.alarms, asked.arm
    newest = record.newest.get(arm)
    number = newest if asked.alarm is None else asked.alarm
    opened = record.open.get(arm)
    if number is None or (opened is not None and opened.number == number):
        return replace(asked, alarm=number)
    ending = record.ended.get(number)
    if ending is None or ending.arm != arm:
        raise NotFoundError(f"policy {deployment.name} has no alarm {number} of arm {arm!r}")
    happened = ending.sentence(number)
    if number != newest:
        raise ConflictError(f"{happened}; the newest alarm of arm {arm!r} is {newest}")
    by_person = ending.how == "answered" and ending.who is not None
    if not asked.change and (by_person or asked.alarm is not None):
        hint = '; to change the answer, send "change": true' if ending.how == "answered" else ""
        raise ConflictError(f"{happened}{hint}")
    if ending.how != "answered":
        return replace(asked, alarm=None)
    return replace(asked, alarm=number, before=ending.answer)


def resolve(deployment: Deployment, resolved: Resolved, at: float) -> None:
    """The effect of a person's answer about an arm."""
    name, arm = resolved.resolution, resolved.arm
    answer, agent = ANSWERS[name], deployment.agent
    possible = agent.policy.answers()
    if name not in possible:
        raise ConflictError(
            f"policy {deployment.name} cannot {name}: its answers are {', '.join(possible)}"
        )
    if answer.begins_exploring and agent.explores:
        raise ConflictError(f"policy {deployment.name} explores already")
    if answer.explores_arm:
        _check_unexplored(deployment, arm)
    if answer.drops_arm:
        deployment.leave_out(arm, partial(agent.answer, name))
    else:
        if answer.begins_exploring and EXPLORE_ARM in possible:
            _watch_on(deployment)
        agent.answer(name, arm)
    note(deployment, resolved, at)


def note(deployment: Deployment, resolved: Resolved, at: float) -> None:
    """Note in the record of alarms what a person answered."""
    _close(deployment, resolved.resolution, resolved.arm, at, resolved.who)
    deployment.alarms.change(resolved, at)


def _check_unexplored(deployment: Deployment, arm: str) -> None:
    """Refuse to explore an arm that is not in use, or that is explored already."""
    number = deployment.arm_number(arm)
    if deployment.agent.dropped[number]:
        raise ConflictError(f"arm {arm!r} is not in use any more")
    if deployment.agent.diversity().arms[number].explored:
        raise ConflictError(f"arm {arm!r} is explored already")


def _watch_on(deployment: Deployment) -> None:
    """Go on testing the arms with open alarms: exploring all arms is the answer to them."""
    for alarmed in deployment.open_alarms:
        deployment.agent.watch_again(alarmed, anew=False)


def answer_alone(deployment: Deployment, name: str, arm: str, at: float) -> None:
    """The effect of the policy's own answer."""
    answer, agent = ANSWERS[name], deployment.agent
    if answer.leaves_open:
        return
    if answer.begins_exploring:
        _watch_on(deployment)
    _close(deployment, name, arm, at)
    if answer.begins_exploring and agent.explores:
        return
    with suppress(ValueError):  # the last arm is never dropped
        agent.answer(name, arm)


def _close(deployment: Deployment, name: str, arm: str, at: float, who: str | None = None) -> None:
    """Close the alarms that the answer settles."""
    settled = [*deployment.open_alarms] if ANSWERS[name].begins_exploring else [arm]
    for each in settled:
        deployment.alarms.end(each, "answered", at, answer=name, who=who)
