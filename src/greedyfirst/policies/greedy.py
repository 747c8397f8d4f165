"""Greedy Bandit (Algorithm 1): play the arm whose estimated reward is highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.models.linear_part import (
    AUTO,
    RULE,
    checked_rule,
    linear_model,
    observe,
    warmup_option,
)
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.initial_pulls import InitialPulls
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong


class GreedyState(Record):
    """Estimates per arm."""

    #: Least squares or a learned ridge, as the warm-up says.
    model: Any = part()
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
        ``"auto"``: ridge regression whose prior is learned from the data, which learns from the
        first reward on, whatever the units and the zero of the rewards
        (:mod:`greedyfirst.models.learned_ridge`). Else least squares, and this is the estimate
        while an arm's Gram matrix is singular: ``"none"`` keeps it at 0 (Algorithm 1 as printed),
        ``"ridge"`` is the practice of the paper's figures, ``"pinv"`` the minimum-norm solution.
    regularization
        The penalty λ of a lasting ridge, (G + λI)⁻¹Σxy, instead of a learned one; for
        ``warmup="auto"`` only.
    initial_pulls
        Pulls of each arm, in turns, before the first greedy choice (m of §3.5).
    rule
        How a prior is learned: 2, or 1 as older releases did, for what was begun with them.

    Examples
    --------
    Each arm is pulled once, then the arm with the highest estimate:

    >>> from greedyfirst import Agent, Greedy
    >>> agent = Agent(Greedy(initial_pulls=1), n_arms=2, n_features=1, seed=1)
    >>> for reward in [0.0, 5.0]:
    ...     arm = agent.choose([1.0])
    ...     agent.update([1.0], arm, reward)
    >>> agent.choose([1.0]) == arm
    True
    """

    exploits: ClassVar[bool] = True
    warmup: str = AUTO
    initial_pulls: int = 0
    regularization: float | None = None
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        choice("warmup", self.warmup, (AUTO, *WARMUPS))
        whole_number("initial_pulls", self.initial_pulls, at_least=0)
        if self.regularization is not None:
            number("regularization", self.regularization, above=0)
            if self.warmup != AUTO:
                expected = 'None: least squares have none; warmup="auto" takes one'
                raise wrong("regularization", self.regularization, expected)

    @classmethod
    def examples(cls) -> Sequence[Greedy]:
        """Every option varied."""
        return [
            cls(),
            cls(regularization=2.0),
            cls(rule=1),
            cls(warmup="none"),
            cls(warmup="ridge"),
            cls(warmup="pinv", initial_pulls=2),
        ]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, the warm-up by number."""
        return {
            **super().option_values(n_arms, n_features),
            "warmup": warmup_option(self.warmup),
            "regularization": 0.0 if self.regularization is None else float(self.regularization),
        }

    def learns_at_once(self) -> bool:
        """Whether estimates learn from an arm's first row on, whatever their rank."""
        return self.warmup == AUTO

    def learns_prior(self) -> bool:
        """Whether the penalty is learned."""
        return self.warmup == AUTO and self.regularization is None

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyState:
        """The state before the first decision."""
        penalty = policy.regularization
        return GreedyState(
            memory,
            model=linear_model(memory, n_arms, n_features, policy.warmup, policy.rule, penalty),
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
            predict(state.model, context, state.scores)
        return arm

    @staticmethod
    @kernel
    def update(
        policy: Any, state: GreedyState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row for the estimates."""
        observe(state.model, policy.warmup, arm, context, reward)
