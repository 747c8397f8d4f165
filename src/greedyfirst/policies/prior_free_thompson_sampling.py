"""Thompson sampling without a prior (Agrawal and Goyal)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from greedyfirst.compilation import kernel, template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import gaussian_posterior, noise_scale
from greedyfirst.models.gaussian_posterior import MEAN, GaussianPosterior
from greedyfirst.models.noise_scale import UNKNOWN, checked_sigma
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.thompson_sampling import weigh_draws
from greedyfirst.validation import FloatArray, number
from greedyfirst.vector_loops import inner


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

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        sigma = UNKNOWN if self.sigma is None else float(self.sigma)
        return self.Record(float(self.scale), float(self.delta), sigma, float(self.sigma_start))


class PriorFreeThompsonSamplingState(NamedTuple):
    """Ridge regression per arm."""

    model: GaussianPosterior  # N(0, I) prior and unit noise: its precision is B
    noise: FloatArray  # (2,), see noise_scale
    outlook: FloatArray  # (3, n_arms), see selection


def init(
    policy: Any, n_arms: int, n_features: int, memory: Memory
) -> PriorFreeThompsonSamplingState:
    """The state before the first decision."""
    return PriorFreeThompsonSamplingState(
        gaussian_posterior.init(memory, n_arms, np.zeros(n_features), np.eye(n_features)),
        noise_scale.init(memory),
        memory.take(3, n_arms),
    )


@kernel
def spread(policy: Any, state: PriorFreeThompsonSamplingState) -> float:
    """v, by which the draws' standard deviations are scaled."""
    n_arms, _, d = state.model.vectors.shape
    sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    t = state.noise[noise_scale.COUNT] + 1.0
    width: float = 9.0 * n_arms * d * math.log(t / policy.delta)
    return float(policy.scale) * sigma * math.sqrt(width)


@template_kernel
def weigh(
    policy: Any,
    state: PriorFreeThompsonSamplingState,
    step: int,
    context: FloatArray,
    eligible: FloatArray,
) -> int:
    """Each arm's draw of its reward."""
    weigh_draws(state.model, spread(policy, state), context, state.outlook)
    return -1


@template_kernel
def update(
    policy: Any,
    state: PriorFreeThompsonSamplingState,
    step: int,
    context: FloatArray,
    arm: int,
    reward: float,
) -> None:
    """One row of ridge regression and its residual."""
    gaussian_posterior.observe(state.model, arm, context, reward, 1.0)
    if step != SUMMARY:  # it has no residual of its own
        noise_scale.observe(state.noise, reward - inner(state.model.vectors[arm, MEAN], context))
