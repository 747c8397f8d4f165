"""Greedy Bandit (Algorithm 1): play the arm whose estimated reward is highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import WARMUPS, LeastSquares
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.initial_pulls import InitialPulls
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, choice, whole_number


class GreedyState(Record):
    """Least squares per arm."""

    model: LeastSquares = part()
    initial: InitialPulls = part()
    scores: Scores = part()


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

    exploits: ClassVar[bool] = True
    warmup: str = "none"
    initial_pulls: int = 0

    def __post_init__(self) -> None:
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)

    @classmethod
    def examples(cls) -> Sequence[Greedy]:
        """Every option varied."""
        return [cls(), cls(warmup="ridge"), cls(warmup="pinv", initial_pulls=2)]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, the warm-up by number."""
        values = super().option_values(n_arms, n_features)
        return {**values, "warmup": WARMUPS.index(self.warmup)}

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyState:
        """The state before the first decision."""
        return GreedyState(
            memory,
            model=least_squares.init(memory, n_arms, n_features),
            initial=initial_pulls.init(memory, n_arms),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: GreedyState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """The arm that is due, else -1 and scores by the estimates."""
        arm = initial_pulls.due(state.initial, policy.initial_pulls, step, eligible)
        if arm < 0:
            predict(state.model.estimate, context, state.scores)
        return arm

    @staticmethod
    @kernel
    def update(
        policy: Any, state: GreedyState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of least squares."""
        least_squares.observe(state.model, policy.warmup, arm, context, reward)
