"""Explore: the fallback decides from now on (the paper's algorithm)."""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.greedy_first.answers.answer import Answer
from greedyfirst.policies.greedy_first.phases import Deciding, explore


class Explore(Answer):
    """Switch to the fallback, for all arms.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1, arm_names=["low", "high"])
    >>> agent.answer("explore", "high")
    >>> agent.mode
    'fallback'
    """

    name = "explore"
    order = 2
    begins_exploring = True
    resolved = "Exploring was begun"
    answered = "the policy began to explore"
    choice = "Explore all arms."
    meaning = (
        "The policy sometimes takes arms that look worse, to learn about them. Costs some reward "
        "now; all arms get samples."
    )

    @staticmethod
    @kernel
    def answer_alarm(answer: Any, watch: Any, arm: int) -> None:
        """Switch."""
        watch.explores = True

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Switch now; nothing changes if the fallback decides already."""
        explore(agent)
