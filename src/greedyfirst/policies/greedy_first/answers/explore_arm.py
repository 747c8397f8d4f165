"""Explore the arm: it is given to some contexts while it starves, and the others stay greedy."""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.greedy_first.answers.answer import Answer
from greedyfirst.policies.greedy_first.phases import Deciding, explore_arm


class ExploreArm(Answer):
    """Explore this arm alone, as long as it starves.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1, arm_names=["low", "high"])
    >>> agent.answer("explore_arm", "high")
    >>> agent.mode
    'greedy'
    """

    name = "explore_arm"
    order = 1
    explores_arm = True
    resolved = "The arm is explored while it starves"
    answered = "the policy explores the arm"
    choice = "Explore {arm} alone."
    meaning = (
        "While it starves, it gets the benefit of the doubt: it is assigned to some although "
        "another arm looks better, where it may be the best. The other arms go on as they are."
    )

    @staticmethod
    @kernel
    def answer_alarm(answer: Any, watch: Any, arm: int) -> None:
        """Explore the arm while it starves."""
        watch.explored[arm] = True

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Explore the arm from now on, while it starves."""
        explore_arm(agent, arm)
