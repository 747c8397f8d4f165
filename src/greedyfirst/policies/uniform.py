"""Uniform: every arm with the same probability, as in a randomised trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from greedyfirst.compilation import template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV, LeastSquares
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import SCORE
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Each eligible arm with probability 1/K, whatever the context.

    Rewards are learned from all the same, so that estimates can be read off.
    """

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        return self.Record()


class UniformState(NamedTuple):
    """Least squares per arm."""

    model: LeastSquares
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> UniformState:
    """The state before the first decision."""
    return UniformState(least_squares.init(memory, n_arms, n_features), memory.take(3, n_arms))


@template_kernel
def weigh(
    policy: Any, state: UniformState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """Scores 0 for all: ties are broken at random."""
    for arm in range(eligible.shape[0]):
        state.outlook[SCORE, arm] = 0.0
    return -1


@template_kernel
def update(
    policy: Any, state: UniformState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of least squares."""
    least_squares.observe(state.model, PINV, arm, context, reward)
