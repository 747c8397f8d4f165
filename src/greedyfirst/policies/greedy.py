"""Greedy Bandit (Algorithm 1): play the arm whose estimated reward is highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from greedyfirst.compilation import template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import ESTIMATE, WARMUPS, LeastSquares
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import predict
from greedyfirst.validation import FloatArray, choice, whole_number


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    r"""Greedy Bandit: :math:`\pi_t = \arg\max_i X_t^\top\hat\beta_i`, ties at random.

    No exploration. Rate optimal for two arms under covariate diversity (Theorem 1); without it,
    successful with the probability of Theorem 2. O(Kd) a decision, O(d²) an update.

    Parameters
    ----------
    warmup
        The estimate while an arm's Gram matrix is singular: ``"none"`` keeps it at 0 (Algorithm 1
        as printed), ``"ridge"`` is the practice of the paper's figures, ``"pinv"`` the
        minimum-norm least squares solution.
    initial_pulls
        Pulls of each arm, in turns, before the first greedy choice (m of §3.5).
    """

    warmup: str = "none"
    initial_pulls: int = 0

    def __post_init__(self) -> None:
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        return self.Record(WARMUPS.index(self.warmup), int(self.initial_pulls))


class GreedyState(NamedTuple):
    """Least squares per arm."""

    model: LeastSquares
    initial: FloatArray  # (n_arms, 4), see initial_pulls
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyState:
    """The state before the first decision."""
    return GreedyState(
        least_squares.init(memory, n_arms, n_features),
        initial_pulls.init(memory, n_arms),
        memory.take(3, n_arms),
    )


@template_kernel
def weigh(
    policy: Any, state: GreedyState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """The arm that is due, else -1 and scores by the estimates."""
    arm = initial_pulls.due(state.initial, policy.initial_pulls, step, eligible)
    if arm < 0:
        predict(state.model.vectors, ESTIMATE, context, state.outlook)
    return arm


@template_kernel
def update(
    policy: Any, state: GreedyState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of least squares."""
    least_squares.observe(state.model, policy.warmup, arm, context, reward)
