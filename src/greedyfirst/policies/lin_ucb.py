"""LinUCB (Li, Chu, Langford and Schapire, 2010; disjoint linear models): optimism per arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models import gaussian_posterior
from greedyfirst.models.gaussian_posterior import GaussianPosterior
from greedyfirst.numerics.matrices import quadratic
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, number


class LinUCBState(Record):
    """Ridge regression per arm."""

    #: N(0, I/λ) prior and unit noise: its precision is A.
    model: GaussianPosterior = part()
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    r"""LinUCB with a ridge regression of its own for each arm.

    .. math:: \pi_t = \arg\max_i\ x^\top\hat\theta_i + \alpha\sqrt{x^\top A_i^{-1}x}, \quad
              A_i = \lambda I + \sum xx^\top, \quad \hat\theta_i = A_i^{-1}\sum xy .

    The width α does not grow with time, unlike that of :class:`~greedyfirst.policies.oful.OFUL`.
    O(Kd²) a decision, O(d²) an update.

    Parameters
    ----------
    alpha
        α: how many of its own standard deviations, for noise of scale 1, an arm's estimate is
        raised by. 0 is greedy with a lasting ridge.
    regularization
        λ.
    """

    alpha: float = 1.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        number("alpha", self.alpha, at_least=0)
        number("regularization", self.regularization, above=0)

    @classmethod
    def examples(cls) -> Sequence[LinUCB]:
        """Every option varied."""
        return [cls(), cls(alpha=0.1, regularization=0.5), cls(alpha=0)]

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> LinUCBState:
        """The state before the first decision."""
        covariance = np.eye(n_features) / policy.regularization
        return LinUCBState(
            memory,
            model=gaussian_posterior.init(memory, n_arms, np.zeros(n_features), covariance),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: LinUCBState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Scores by the upper confidence bounds."""
        model = state.model
        for arm in range(eligible.shape[0]):
            width = math.sqrt(max(quadratic(model.covariance[arm], context), 0.0))
            estimate = inner(model.estimate[arm], context)
            state.scores.value[arm] = estimate + policy.alpha * width
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: LinUCBState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of ridge regression."""
        gaussian_posterior.observe(state.model, arm, context, reward, 1.0)
