"""Thompson sampling without a prior (Agrawal and Goyal)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.models import gaussian_posterior, noise_scale
from greedyfirst.models.noise_scale import NoiseScale, checked_sigma, known_sigma
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.policies.thompson_sampling import PosteriorState, score_draws
from greedyfirst.validation import FloatArray, number


@kernel
def spread(policy: Any, state: PosteriorState) -> float:
    """v, by which the draws' standard deviations are scaled."""
    n_arms, d = state.model.estimate.shape
    sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    t = state.noise.rewards + 1.0
    width: float = 9.0 * n_arms * d * math.log(t / policy.delta)
    return float(policy.scale) * sigma * math.sqrt(width)


@dataclass(frozen=True, kw_only=True)
class PriorFreeThompsonSampling(Policy):
    r"""Prior-free Thompson sampling: draw from :math:`N(\hat\beta_i, v_t^2B_i^{-1})`.

    :math:`B_i = I + \sum xx^\top`, :math:`\hat\beta_i = B_i^{-1}\sum xy`,
    :math:`v_t = c\,\hat\sigma\sqrt{9Kd\log(t/\delta)}`, t - 1 the number of rewards so far.
    O(Kd²) a decision.

    Parameters
    ----------
    scale
        c; 0.2 is the practice of the paper's figures, 1 the theory's value.
    delta
        δ.
    sigma, sigma_start
        As in :class:`~greedyfirst.policies.oful.OFUL`.

    Examples
    --------
    Two arms with the same rewards are equally likely to be taken:

    >>> from greedyfirst import Agent, PriorFreeThompsonSampling
    >>> agent = Agent(PriorFreeThompsonSampling(sigma=1.0), n_arms=2, n_features=1, seed=1)
    >>> for arm in [0, 1]:
    ...     agent.update([1.0], arm, 1.0)
    >>> agent.probabilities([1.0]).round(6).tolist()
    [0.5, 0.5]
    """

    scale: float = 0.2
    delta: float = 0.99
    sigma: float | None = None
    sigma_start: float = 1.0

    def __post_init__(self) -> None:
        number("scale", self.scale, above=0)
        number("delta", self.delta, above=0, below=1)
        checked_sigma(self.sigma)
        number("sigma_start", self.sigma_start, above=0)

    @classmethod
    def examples(cls) -> Sequence[PriorFreeThompsonSampling]:
        """Every option varied."""
        return [cls(), cls(scale=0.05, delta=0.5, sigma=0.3), cls(sigma_start=0.2)]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, σ as a number also where it is estimated."""
        return {**super().option_values(n_arms, n_features), "sigma": known_sigma(self.sigma)}

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> PosteriorState:
        """The state before the first decision: N(0, I) and unit noise, whose precision is B."""
        mean, covariance = np.zeros(n_features), np.eye(n_features)
        return PosteriorState(
            memory,
            model=gaussian_posterior.init(memory, n_arms, mean, covariance),
            noise=NoiseScale(memory),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: PosteriorState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Each arm's draw of its reward."""
        score_draws(state.model, spread(policy, state), context, state.scores)
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: PosteriorState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of ridge regression and its residual."""
        gaussian_posterior.observe(state.model, arm, context, reward, 1.0)
        if step != SUMMARY:  # it has no residual of its own
            residual = reward - inner(state.model.estimate[arm], context)
            noise_scale.observe(state.noise, residual)
