"""OFUL (Abbasi-Yadkori, Pál and Szepesvári): optimism over a confidence ellipsoid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from greedyfirst.compilation import kernel, template_kernel
from greedyfirst.linalg import quadratic
from greedyfirst.memory import Memory
from greedyfirst.models import gaussian_posterior, noise_scale
from greedyfirst.models.gaussian_posterior import COVARIANCE, MEAN, GaussianPosterior
from greedyfirst.models.noise_scale import UNKNOWN, checked_sigma
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.selection import SCORE
from greedyfirst.validation import FloatArray, number
from greedyfirst.vector_loops import inner


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

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        sigma = UNKNOWN if self.sigma is None else float(self.sigma)
        return self.Record(
            float(self.regularization), float(self.delta), sigma, float(self.sigma_start)
        )


class OFULState(NamedTuple):
    """Ridge regression per arm and the running maxima."""

    model: GaussianPosterior  # N(0, I/λ) prior and unit noise: its precision is V
    noise: FloatArray  # (2,), see noise_scale
    longest: FloatArray  # (2,) L, S
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> OFULState:
    """The state before the first decision."""
    covariance = np.eye(n_features) / policy.regularization
    state = OFULState(
        gaussian_posterior.init(memory, n_arms, np.zeros(n_features), covariance),
        noise_scale.init(memory),
        memory.take(2),
        memory.take(3, n_arms),
    )
    state.longest[:] = 1.0
    return state


@kernel
def radius(policy: Any, state: OFULState, context: FloatArray) -> float:
    """ρ, the confidence ellipsoid's radius at this context."""
    n_arms, _, d = state.model.vectors.shape
    sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    longest = max(state.longest[0], math.sqrt(inner(context, context)))
    size = n_arms * d
    information = (
        state.noise[noise_scale.COUNT] * longest * longest / (policy.regularization * size)
    )
    width = size * math.log(1.0 + information) - 2.0 * math.log(policy.delta)
    bound: float = sigma * math.sqrt(width)
    return bound + math.sqrt(policy.regularization) * float(state.longest[1])


@kernel
def score(policy: Any, state: OFULState, context: FloatArray) -> None:
    """Upper confidence bounds of all arms."""
    bound = radius(policy, state, context)
    for arm in range(state.outlook.shape[1]):
        spread = math.sqrt(max(quadratic(state.model.matrices[arm, COVARIANCE], context), 0.0))
        state.outlook[SCORE, arm] = inner(state.model.vectors[arm, MEAN], context) + bound * spread


@template_kernel
def weigh(
    policy: Any, state: OFULState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """Scores by the upper confidence bounds."""
    score(policy, state, context)
    return -1


@template_kernel
def update(
    policy: Any, state: OFULState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of ridge regression, its residual, and the running maxima."""
    model = state.model
    gaussian_posterior.observe(model, arm, context, reward, 1.0)
    if step != SUMMARY:  # it has no residual of its own
        noise_scale.observe(state.noise, reward - inner(model.vectors[arm, MEAN], context))
    track(state, context, step)


@kernel
def track(state: OFULState, context: FloatArray, step: int) -> None:
    """L and S after an update."""
    squared = 0.0
    for other in range(state.outlook.shape[1]):
        estimate = state.model.vectors[other, MEAN]
        squared += inner(estimate, estimate)
    if step != SUMMARY:  # which is no context
        state.longest[0] = max(state.longest[0], math.sqrt(inner(context, context)))
    state.longest[1] = max(state.longest[1], math.sqrt(squared))
