"""Epsilon-greedy: greedy but for a share of decisions made at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from greedyfirst.compilation import template_kernel
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.policies import greedy, initial_pulls
from greedyfirst.policies.greedy import GreedyState, init, update
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import any_arm, certain, share_of_best
from greedyfirst.randomness import uniform
from greedyfirst.validation import FloatArray, choice, number, whole_number

__all__ = ["EpsilonGreedy", "choose", "init", "update"]


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Policy):
    """With probability ``epsilon`` any arm, else as :class:`~greedyfirst.policies.greedy.Greedy`.

    The initial pulls come first and are not replaced by random ones.
    """

    epsilon: float = 0.1
    warmup: str = "none"
    initial_pulls: int = 0

    exact_probabilities: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, at_least=0, at_most=1)
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        return self.Record(
            float(self.epsilon), WARMUPS.index(self.warmup), int(self.initial_pulls)
        )

    def probabilities(
        self, record: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray
    ) -> FloatArray:
        """A mixture of the greedy and the uniform choice."""
        arm = initial_pulls.due(state.initial, record.initial_pulls, step, eligible)
        if arm >= 0:
            return certain(arm, len(eligible))
        allowed = (eligible != 0.0).astype(np.float64)
        exploit = share_of_best(state.model.estimate @ context, eligible)
        return (1.0 - self.epsilon) * exploit + self.epsilon * allowed / allowed.sum()


@template_kernel
def choose(
    policy: Any,
    state: GreedyState,
    step: int,
    context: FloatArray,
    eligible: FloatArray,
    rng: np.uint64,
) -> int:
    """Greedy, or any arm."""
    # Draws 0 … n_arms are those of ties and of `any_arm`.
    explores = uniform(rng, eligible.shape[0] + 1) < policy.epsilon
    if explores and initial_pulls.due(state.initial, policy.initial_pulls, step, eligible) < 0:
        return any_arm(eligible, rng)
    return greedy.choose(policy, state, step, context, eligible, rng)
