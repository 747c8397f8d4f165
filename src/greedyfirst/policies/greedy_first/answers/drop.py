"""Drop: the arm is not chosen any more, and the policy stays greedy."""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.greedy_first.answers.answer import Answer
from greedyfirst.policies.greedy_first.phases import Deciding, return_to_greedy


class Drop(Answer):
    """Go on greedily without the arm.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1, arm_names=["low", "high"])
    >>> agent.answer("drop", "high")
    >>> {agent.choose([1.0]) for _ in range(20)}
    {0}
    """

    name = "drop"
    order = 3
    drops_arm = True
    resolved = "The arm was dropped"
    answered = "the arm was dropped"
    choice = "Drop {arm}."
    meaning = (
        "It is never chosen again; the policy goes on with the other arms. Right when you know "
        "that it is not worth it."
    )

    @staticmethod
    @kernel
    def answer_alarm(answer: Any, watch: Any, arm: int) -> None:
        """Drop the arm, unless it is the last one."""
        watch.exempt[arm] = True
        left = 0
        for other in range(watch.dropped.shape[0]):
            if not watch.dropped[other]:
                left += 1
        if left > 1:
            watch.dropped[arm] = True

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Drop the arm and go on greedily."""
        return_to_greedy(agent, arm, dropped=True)
