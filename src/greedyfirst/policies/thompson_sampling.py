"""Thompson sampling with a Gaussian prior (the paper's prior-dependent TS)."""

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
from greedyfirst.policies.selection import SCORE, SPREAD
from greedyfirst.validation import FloatArray, array, number, wrong
from greedyfirst.vector_loops import inner


@dataclass(frozen=True, kw_only=True, eq=False)
class ThompsonSampling(Policy):
    r"""Thompson sampling: draw each arm's parameter from its posterior, play the best draw.

    Posterior :math:`\beta_i \sim N(\mu_i, \Sigma_i)` from the prior and rewards with noise
    :math:`N(0, \hat\sigma^2)`, σ̂ taken at the time of each update. The decision needs the draws
    only through :math:`x^\top\tilde\beta_i \sim N(x^\top\mu_i, x^\top\Sigma_i x)`, independent
    across arms: one normal draw per arm gives decisions of exactly the same law as drawing whole
    parameters. O(Kd²) a decision.

    Parameters
    ----------
    prior_mean
        A number (the same for all coefficients) or a vector (n_features,).
    prior_covariance
        A number v (v·I), a vector (the diagonal) or a positive definite matrix.
    sigma, sigma_start
        As in :class:`~greedyfirst.policies.oful.OFUL`.
    """

    prior_mean: Any = 0.0
    prior_covariance: Any = 1.0
    sigma: float | None = None
    sigma_start: float = 1.0

    def __post_init__(self) -> None:
        checked_sigma(self.sigma)
        number("sigma_start", self.sigma_start, above=0)
        for name, most in (("prior_mean", 1), ("prior_covariance", 2)):
            given = getattr(self, name)
            expected = f"a number or an array of finite numbers with at most {most} axes"
            try:
                value = np.asarray(given)
            except ValueError:
                raise wrong(name, given, expected) from None
            if value.ndim > most:
                raise wrong(name, given, expected)
            array(name, np.atleast_1d(value), (None,) * max(value.ndim, 1))
            object.__setattr__(self, name, _plain(value))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form: the prior as a vector and a matrix."""
        mean = np.asarray(self.prior_mean, dtype=np.float64)
        mean = np.full(n_features, mean) if mean.ndim == 0 else mean
        mean = array("prior_mean", mean, (n_features,))
        covariance = np.asarray(self.prior_covariance, dtype=np.float64)
        if covariance.ndim < 2:
            diagonal = np.full(n_features, covariance) if covariance.ndim == 0 else covariance
            covariance = np.diag(array("prior_covariance", diagonal, (n_features,)))
        covariance = array("prior_covariance", covariance, (n_features, n_features))
        symmetric = np.allclose(covariance, covariance.T, rtol=1e-12, atol=0)
        if not symmetric or np.linalg.eigvalsh(covariance)[0] <= 0:
            raise wrong("prior_covariance", self.prior_covariance, "symmetric positive definite")
        sigma = UNKNOWN if self.sigma is None else float(self.sigma)
        return self.Record(mean, covariance, sigma, float(self.sigma_start))


def _plain(value: np.ndarray) -> Any:
    """A number or nested tuples: what a frozen record can hold, compare and print."""
    if value.ndim == 0:
        return float(value)
    return tuple(_plain(item) for item in value)


class ThompsonSamplingState(NamedTuple):
    """Posterior per arm."""

    model: GaussianPosterior
    noise: FloatArray  # (2,), see noise_scale
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> ThompsonSamplingState:
    """The state before the first decision."""
    return ThompsonSamplingState(
        gaussian_posterior.init(memory, n_arms, policy.prior_mean, policy.prior_covariance),
        noise_scale.init(memory),
        memory.take(3, n_arms),
    )


@kernel
def weigh_draws(
    model: GaussianPosterior, scale: float, context: FloatArray, outlook: FloatArray
) -> None:
    """Mean and spread of x'β per arm, β ~ N(μ, scale²Σ)."""
    for arm in range(outlook.shape[1]):
        variance = quadratic(model.matrices[arm, COVARIANCE], context)
        outlook[SCORE, arm] = inner(model.vectors[arm, MEAN], context)
        outlook[SPREAD, arm] = scale * math.sqrt(max(variance, 0.0))


@template_kernel
def weigh(
    policy: Any, state: ThompsonSamplingState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """Each arm's draw of its reward."""
    weigh_draws(state.model, 1.0, context, state.outlook)
    return -1


@template_kernel
def update(
    policy: Any,
    state: ThompsonSamplingState,
    step: int,
    context: FloatArray,
    arm: int,
    reward: float,
) -> None:
    """One row for the posterior, with the noise scale as it is known at this time."""
    model = state.model
    n_arms, _, d = model.vectors.shape
    sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    gaussian_posterior.observe(model, arm, context, reward, sigma * sigma)
    if step != SUMMARY:  # it has no residual of its own
        noise_scale.observe(state.noise, reward - inner(model.vectors[arm, MEAN], context))
