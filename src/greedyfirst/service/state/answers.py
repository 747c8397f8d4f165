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
    if answer.drops_arm:
        deployment.leave_out(arm, partial(agent.answer, name))
        return
    agent.answer(name, arm)
    _close(deployment, name, arm)


def answer_alone(deployment: Deployment, name: str, arm: str) -> None:
    """The effect of the policy's own answer."""
    answer, agent = ANSWERS[name], deployment.agent
    if answer.leaves_open or (answer.begins_exploring and agent.explores):
        return
    if answer.begins_exploring:
        for alarmed in deployment.open_alarms:
            agent.watch_again(alarmed)
    _close(deployment, name, arm)
    with suppress(ValueError):  # the last arm is never dropped
        agent.answer(name, arm)


def _close(deployment: Deployment, name: str, arm: str) -> None:
    """Close the alarms that the answer settles."""
    if ANSWERS[name].begins_exploring:
        deployment.open_alarms.clear()
    else:
        deployment.open_alarms.pop(arm, None)
