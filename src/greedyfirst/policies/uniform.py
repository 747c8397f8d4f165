"""Uniform: every arm with the same probability, as in a randomised trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from greedyfirst.compilation import template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV, LeastSquares
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import any_arm
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Each eligible arm with probability 1/K, whatever the context.

    Rewards are learned from all the same, so that estimates can be read off.
    """

    exact_probabilities: ClassVar[bool] = True

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        return self.Record()

    def probabilities(
        self, record: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray
    ) -> FloatArray:
        """The same for each eligible arm."""
        allowed = (eligible != 0.0).astype(np.float64)
        return allowed / allowed.sum()


class UniformState(NamedTuple):
    """Least squares per arm."""

    model: LeastSquares


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> UniformState:
    """The state before the first decision."""
    return UniformState(least_squares.init(memory, n_arms, n_features))


@template_kernel
def choose(
    policy: Any,
    state: UniformState,
    step: int,
    context: FloatArray,
    eligible: FloatArray,
    rng: np.uint64,
) -> int:
    """An arm at random."""
    return any_arm(eligible, rng)


@template_kernel
def update(
    policy: Any, state: UniformState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of least squares."""
    least_squares.observe(state.model, PINV, arm, context, reward)
