"""The answers to an alarm: one row each. Types, effects and words elsewhere come from this table.

An alarm says that an arm's samples are not diverse enough. A person answers it, or the policy does
so by itself, as the specification's ``on_alarm`` says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.state import watching

if TYPE_CHECKING:
    from greedyfirst.service.state.deployment import Deployment

AnswerName = Literal["explore", "drop", "hold"]
#: The answer that leaves the alarm to a person.
LEAVE_OPEN: AnswerName = "hold"


class Answer(NamedTuple):
    """What an answer does to a deployment, and what people read about it."""

    #: The effect of a person's answer about an arm.
    by_person: Callable[[Deployment, str], None]
    #: The effect of the policy's own answer.
    by_policy: Callable[[Deployment, str], None]
    #: The audit list: a person gave the answer; the policy gave it.
    resolved: str
    answered: str
    #: The form: the choice and what it means, where ``{arm}`` is the arm's name.
    choice: str
    meaning: str


def _explore(deployment: Deployment, arm: str) -> None:
    if watching.explores(deployment.agent):
        raise ConflictError(f"policy {deployment.name} explores already")
    deployment.agent.explore()
    deployment.open_alarms.clear()


def _explore_alone(deployment: Deployment, arm: str) -> None:
    if watching.explores(deployment.agent):
        return
    for alarmed in deployment.open_alarms:
        deployment.agent.watch_again(alarmed)
    deployment.open_alarms.clear()
    deployment.agent.explore()


def _drop(deployment: Deployment, arm: str) -> None:
    deployment.leave_out(arm, deployment.agent.drop_arm)


def _drop_alone(deployment: Deployment, arm: str) -> None:
    deployment.open_alarms.pop(arm, None)
    with suppress(ValueError):  # the last arm is never dropped
        deployment.agent.drop_arm(arm)


def _hold(deployment: Deployment, arm: str) -> None:
    deployment.agent.keep_greedy(arm)
    deployment.open_alarms.pop(arm, None)


def _wait(deployment: Deployment, arm: str) -> None:
    """The alarm stays open."""


ANSWERS: dict[AnswerName, Answer] = {
    "explore": Answer(
        _explore,
        _explore_alone,
        resolved="Exploring was begun",
        answered="the policy began to explore",
        choice="Explore.",
        meaning="The policy sometimes takes arms that look worse, to learn about them. Costs some "
        "reward now; all arms get samples.",
    ),
    "drop": Answer(
        _drop,
        _drop_alone,
        resolved="The arm was dropped",
        answered="the arm was dropped",
        choice="Drop {arm}.",
        meaning="It is never chosen again, and the policy goes on greedily with the other arms. "
        "Right when you know that it is not worth it.",
    ),
    "hold": Answer(
        _hold,
        _wait,
        resolved="The arm was kept, and is not tested any more",
        answered="a person is to decide",
        choice="Hold on.",
        meaning="The policy goes on greedily with all arms and does not test {arm} any more. Right "
        "when you know that greedy is safe for it.",
    ),
}
