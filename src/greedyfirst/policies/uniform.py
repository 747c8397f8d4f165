"""Uniform: every arm with the same probability, as in a randomised trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV, LeastSquares
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray


class LearningState(Record):
    """Least squares per arm, so that estimates can be read off."""

    model: LeastSquares = part()
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Each eligible arm with probability 1/K, whatever the context.

    Rewards are learned from all the same, so that estimates can be read off.

    Examples
    --------
    >>> from greedyfirst import Agent, Uniform
    >>> agent = Agent(Uniform(), n_arms=4, n_features=1, seed=1)
    >>> agent.probabilities([1.0]).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> LearningState:
        """The state before the first decision."""
        return LearningState(
            memory,
            model=least_squares.init(memory, n_arms, n_features),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: LearningState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Scores 0 for all: ties are broken at random."""
        for arm in range(eligible.shape[0]):
            state.scores.value[arm] = 0.0
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: LearningState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of least squares."""
        least_squares.observe(state.model, PINV, arm, context, reward)
