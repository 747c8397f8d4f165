"""LinUCB (Li, Chu, Langford and Schapire, 2010; disjoint linear models): optimism per arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models import posterior
from greedyfirst.models.doubt import squared_width
from greedyfirst.models.linear_part import AUTO, FIRST_RULE, RULE, checked_rule
from greedyfirst.models.noise_scale import UNKNOWN
from greedyfirst.models.plain_ridge import checked_penalty, penalty_option, plain_ridge
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, number

#: What kernels get for an α that grows.
GROWING = -1.0


class LinUCBState(Record):
    """Ridge regression per arm."""

    #: N(0, I/λ) prior and unit noise, so that its precision is A; or a prior that is learned.
    model: Any = part()
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    r"""LinUCB with a ridge regression of its own for each arm.

    .. math:: \pi_t = \arg\max_i\ x^\top\hat\theta_i + \alpha\sqrt{x^\top A_i^{-1}x}, \quad
              A_i = \lambda I + \sum xx^\top, \quad \hat\theta_i = A_i^{-1}\sum xy .

    A width α that is given does not grow with time, so that an arm that was unlucky may be given up
    for good. With a prior that is learned the width grows by default. O(Kd²) a decision, O(d²) an
    update.

    Parameters
    ----------
    alpha
        α: how many of its own standard deviations, for noise of scale 1, an arm's estimate is
        raised by. 0 is greedy with a lasting ridge. ``None`` is 1; but with
        ``regularization="auto"`` the width is the benefit of the doubt of
        :mod:`greedyfirst.models.doubt`, which grows like √log(1 + t/Kd), and the noise's scale that
        of each arm's own rewards.
    regularization
        λ, in the units of features and rewards. ``"auto"`` learns it, with the features' units, the
        mean of all rewards and the noise's scale, by which an α is multiplied: no unit matters
        (:mod:`greedyfirst.models.learned_ridge`).
    rule
        How the prior is learned: 2, or 1 as older releases did, for what was begun with them.

    Examples
    --------
    With λ = 1 an arm whose context was seen n times has the bonus α/√(n + 1). The arm with fewer
    rows is taken:

    >>> from greedyfirst import Agent, LinUCB
    >>> agent = Agent(LinUCB(alpha=1.0), n_arms=2, n_features=1, seed=1)
    >>> for arm in [0, 0, 0, 1]:
    ...     agent.update([1.0], arm, 0.0)
    >>> agent.choose([1.0])
    1
    """

    alpha: float | None = None
    regularization: float | str = 1.0
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        if self.alpha is not None:
            number("alpha", self.alpha, at_least=0)
        checked_penalty(self.regularization)

    @classmethod
    def examples(cls) -> Sequence[LinUCB]:
        """Every option varied."""
        return [
            cls(),
            cls(alpha=0.1, regularization=0.5),
            cls(alpha=0),
            cls(regularization="auto"),
            cls(regularization="auto", alpha=2, rule=1),
        ]

    def learns_prior(self) -> bool:
        """Whether the penalty is learned."""
        return self.regularization == AUTO

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, the penalty as a number also where it is learned."""
        return {
            **super().option_values(n_arms, n_features),
            "alpha": self.width(),
            "regularization": penalty_option(self.regularization),
        }

    def width(self) -> float:
        """α; negative for the width that grows."""
        if self.alpha is not None:
            return float(self.alpha)
        return GROWING if self.learns_prior() and self.rule != FIRST_RULE else 1.0

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> LinUCBState:
        """The state before the first decision."""
        return LinUCBState(
            memory,
            model=plain_ridge(memory, n_arms, n_features, policy.regularization, policy.rule),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: LinUCBState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Scores by the upper confidence bounds."""
        model = state.model
        alpha = policy.alpha * posterior.noise_scale(model, UNKNOWN)
        lack = 1.0 + step / (model.estimate.shape[0] * context.shape[0])
        posterior.prepare(model, context)
        state.scores.rounding = posterior.rounding(model)
        for arm in range(eligible.shape[0]):
            if policy.alpha < 0.0:
                squared = squared_width(model, arm, lack, float(step))
                alpha = math.sqrt(squared) * posterior.arm_scale(model, arm)
            width = math.sqrt(posterior.variance(model, arm, context))
            state.scores.value[arm] = posterior.mean(model, arm, context) + alpha * width
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: LinUCBState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of ridge regression."""
        posterior.observe(state.model, arm, context, reward, 1.0)
