"""Hold: the policy stays greedy in spite of the alarm; the arm is not tested any more."""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.greedy_first.answers.answer import Answer
from greedyfirst.policies.greedy_first.phases import Deciding, return_to_greedy


class Hold(Answer):
    """Go on greedily with the arm, and leave it to the decision-maker.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1, arm_names=["low", "high"])
    >>> agent.answer("hold", "high")
    >>> agent.mode
    'greedy'
    """

    name = "hold"
    order = 4
    leaves_open = True
    resolved = "The arm was kept, and is not tested any more"
    answered = "a person is to decide"
    choice = "Hold on."
    meaning = (
        "It is chosen only where it looks best, and is not tested any more. Right when you know "
        "that greedy is safe for it."
    )

    @staticmethod
    @kernel
    def answer_alarm(answer: Any, watch: Any, arm: int) -> None:
        """Test the arm no more."""
        watch.exempt[arm] = True

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Keep the arm and go on greedily."""
        return_to_greedy(agent, arm, dropped=False)
