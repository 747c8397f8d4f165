"""OFUL (Abbasi-Yadkori, Pál and Szepesvári): optimism over a confidence ellipsoid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.compiling.records import number as one_number
from greedyfirst.models import gaussian_posterior, noise_scale
from greedyfirst.models.gaussian_posterior import GaussianPosterior
from greedyfirst.models.noise_scale import NoiseScale, checked_sigma, known_sigma
from greedyfirst.numerics.matrices import quadratic
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, number


class OFULState(Record):
    """Ridge regression per arm and the running maxima."""

    #: N(0, I/λ) prior and unit noise: its precision is V.
    model: GaussianPosterior = part()
    noise: NoiseScale = part()
    #: L and S.
    longest_context: float = one_number()
    longest_estimate: float = one_number()
    scores: Scores = part()


@kernel
def radius(policy: Any, state: OFULState, context: FloatArray) -> float:
    """ρ, the confidence ellipsoid's radius at this context."""
    n_arms, d = state.model.estimate.shape
    sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    longest = max(state.longest_context, math.sqrt(inner(context, context)))
    size = n_arms * d
    information = state.noise.rewards * longest * longest / (policy.regularization * size)
    width = size * math.log(1.0 + information) - 2.0 * math.log(policy.delta)
    bound: float = sigma * math.sqrt(width)
    return bound + math.sqrt(policy.regularization) * state.longest_estimate


@kernel
def bound_rewards(policy: Any, state: OFULState, context: FloatArray) -> None:
    """Upper confidence bounds of all arms."""
    bound, model, value = radius(policy, state, context), state.model, state.scores.value
    for arm in range(value.shape[0]):
        spread = math.sqrt(max(quadratic(model.covariance[arm], context), 0.0))
        value[arm] = inner(model.estimate[arm], context) + bound * spread


@kernel
def track(state: OFULState, context: FloatArray, step: int) -> None:
    """L and S after an update."""
    squared = 0.0
    for arm in range(state.model.estimate.shape[0]):
        estimate = state.model.estimate[arm]
        squared += inner(estimate, estimate)
    if step != SUMMARY:  # which is no context
        state.longest_context = max(state.longest_context, math.sqrt(inner(context, context)))
    state.longest_estimate = max(state.longest_estimate, math.sqrt(squared))


@dataclass(frozen=True, kw_only=True)
class OFUL(Policy):
    r"""OFUL on the stacked parameter of all arms, :math:`\theta \in R^{Kd}`.

    The context of arm i is x in block i and 0 elsewhere, so the regularised Gram matrix is block
    diagonal: :math:`V_i = \lambda I + \sum xx^\top`, :math:`\hat\theta_i = V_i^{-1}\sum xy`, and

    .. math:: \pi_t = \arg\max_i\ x^\top\hat\theta_i + \rho_t\lVert x\rVert_{V_i^{-1}}, \quad
              \rho_t = \hat\sigma\sqrt{Kd\log(1 + (t-1)L^2/(\lambda Kd)) - 2\log\delta}
              + \sqrt\lambda\,S,

    t - 1 the number of rewards so far, L the largest :math:`\lVert x\rVert` and S the largest
    :math:`\lVert\hat\theta\rVert` so far, each at least 1. O(Kd²) a decision.

    Parameters
    ----------
    regularization
        λ.
    delta
        δ: the confidence sets fail with at most this probability.
    sigma
        The noise's standard deviation; ``None`` estimates it from the residuals.
    sigma_start
        Its value until there are more than K·d rewards, when it is estimated.
    """

    regularization: float = 1.0
    delta: float = 0.99
    sigma: float | None = None
    sigma_start: float = 1.0

    def __post_init__(self) -> None:
        number("regularization", self.regularization, above=0)
        number("delta", self.delta, above=0, below=1)
        checked_sigma(self.sigma)
        number("sigma_start", self.sigma_start, above=0)

    @classmethod
    def examples(cls) -> Sequence[OFUL]:
        """Every option varied."""
        return [cls(), cls(regularization=0.5, delta=0.1, sigma=0.3), cls(sigma_start=0.1)]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, σ as a number also where it is estimated."""
        return {**super().option_values(n_arms, n_features), "sigma": known_sigma(self.sigma)}

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> OFULState:
        """The state before the first decision."""
        covariance = np.eye(n_features) / policy.regularization
        state = OFULState(
            memory,
            model=gaussian_posterior.init(memory, n_arms, np.zeros(n_features), covariance),
            noise=NoiseScale(memory),
            scores=Scores(memory, n_arms=n_arms),
        )
        state.longest_context = state.longest_estimate = 1.0
        return state

    @staticmethod
    @kernel
    def score(
        policy: Any, state: OFULState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Scores by the upper confidence bounds."""
        bound_rewards(policy, state, context)
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: OFULState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of ridge regression, its residual, and the running maxima."""
        gaussian_posterior.observe(state.model, arm, context, reward, 1.0)
        if step != SUMMARY:  # it has no residual of its own
            residual = reward - inner(state.model.estimate[arm], context)
            noise_scale.observe(state.noise, residual)
        track(state, context, step)
