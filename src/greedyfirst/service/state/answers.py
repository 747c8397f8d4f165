"""The answers to an alarm, in a deployment: what they are and say is the policy's table.

An alarm says that an arm's samples are not diverse enough. A person answers it, or the policy does
so by itself, as the specification's ``on_alarm`` says.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.errors import ConflictError

if TYPE_CHECKING:
    from greedyfirst.service.state.deployment import Deployment

    AnswerName = str
else:
    AnswerName = Literal[tuple(ANSWERS)]

#: The answer that leaves the alarm to a person.
LEAVE_OPEN: Any = next(name for name, answer in ANSWERS.items() if answer.leaves_open)
#: Those that explore all arms, and one arm.
EXPLORE = next(name for name, answer in ANSWERS.items() if answer.begins_exploring)
EXPLORE_ARM = next(name for name, answer in ANSWERS.items() if answer.explores_arm)


def resolve(deployment: Deployment, name: str, arm: str) -> None:
    """The effect of a person's answer about an arm."""
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
        return
    if answer.begins_exploring and EXPLORE_ARM in possible:
        _watch_on(deployment)
    agent.answer(name, arm)
    _close(deployment, name, arm)


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


def answer_alone(deployment: Deployment, name: str, arm: str) -> None:
    """The effect of the policy's own answer."""
    answer, agent = ANSWERS[name], deployment.agent
    if answer.leaves_open:
        return
    if answer.begins_exploring:
        _watch_on(deployment)
    _close(deployment, name, arm)
    if answer.begins_exploring and agent.explores:
        return
    with suppress(ValueError):  # the last arm is never dropped
        agent.answer(name, arm)


def _close(deployment: Deployment, name: str, arm: str) -> None:
    """Close the alarms that the answer settles."""
    if ANSWERS[name].begins_exploring:
        deployment.open_alarms.clear()
    else:
        deployment.open_alarms.pop(arm, None)
