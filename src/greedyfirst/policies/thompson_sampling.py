"""Thompson sampling with a Gaussian prior (the paper's prior-dependent TS)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.models import gaussian_posterior, noise_scale, posterior
from greedyfirst.models.linear_part import AUTO, RULE, checked_rule, learning_ridge
from greedyfirst.models.noise_scale import NoiseScale, checked_sigma, known_sigma
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, array, number, wrong


class PosteriorState(Record):
    """Posterior per arm, and the noise's scale."""

    #: With a prior that is given, or one that is learned.
    model: Any = part()
    noise: NoiseScale = part()
    scores: Scores = part()


def left_out(name: str, value: Any, default: Any) -> None:
    """Refuse an option that has no say where the prior is learned."""
    if np.ndim(value) > 0 or value != default:
        raise wrong(name, value, 'left out: an "auto" prior learns it')


@kernel
def score_draws(model: Any, scale: float, context: FloatArray, scores: Scores) -> None:
    """Mean and spread of x'β per arm, β ~ N(μ, scale²Σ)."""
    predict(model, context, scores)
    for arm in range(scores.spread.shape[0]):
        scores.spread[arm] = scale * math.sqrt(posterior.variance(model, arm, context))


def _plain(value: np.ndarray) -> Any:
    """A number or nested tuples: what a frozen record can hold, compare and print."""
    if value.ndim == 0:
        return float(value)
    return tuple(_plain(item) for item in value)


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
        A number v (v·I), a vector (the diagonal) or a positive definite matrix, in the units of
        features and rewards. ``"auto"`` learns the prior, its mean too, and no unit matters
        (:mod:`greedyfirst.models.learned_ridge`).
    sigma, sigma_start
        As in :class:`~greedyfirst.policies.oful.OFUL`.
    rule
        How the prior is learned: 2, or 1 as older releases did, for what was begun with them.

    Examples
    --------
    With a normal prior of variance 1 and noise of variance 1, three rewards of 1.0 give a
    posterior mean of 3/4:

    >>> from greedyfirst import Agent, ThompsonSampling
    >>> agent = Agent(ThompsonSampling(sigma=1.0), n_arms=2, n_features=1, seed=1)
    >>> for _ in range(3):
    ...     agent.update([1.0], 0, 1.0)
    >>> agent.expected_rewards([1.0]).tolist()
    [0.75, 0.0]
    """

    prior_mean: Any = 0.0
    prior_covariance: Any = 1.0
    sigma: float | None = None
    sigma_start: float = 1.0
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        checked_sigma(self.sigma)
        number("sigma_start", self.sigma_start, above=0)
        if self.learns_prior():
            left_out("prior_mean", self.prior_mean, 0.0)
            left_out("sigma_start", self.sigma_start, 1.0)
            return
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

    @classmethod
    def examples(cls) -> Sequence[ThompsonSampling]:
        """Every option varied."""
        correlated = [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]]
        return [
            cls(),
            cls(prior_mean=0.5, prior_covariance=2.0, sigma=0.3),
            cls(prior_mean=[0.5, 0, 0, -1], prior_covariance=[1, 2, 3, 4], sigma_start=9),
            cls(prior_covariance=correlated, sigma=0.5),
            cls(prior_covariance="auto"),
            cls(prior_covariance="auto", sigma=0.5),
            cls(prior_covariance="auto", rule=1),
        ]

    def learns_prior(self) -> bool:
        """Whether the prior is learned."""
        return isinstance(self.prior_covariance, str) and self.prior_covariance == AUTO

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, the prior as a vector and a matrix, empty ones if it is learned."""
        if self.learns_prior():
            return {
                **super().option_values(n_arms, n_features),
                "prior_covariance": np.zeros((0, 0)),
                "prior_mean": np.zeros(0),
                "sigma": known_sigma(self.sigma),
            }
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
        return {
            **super().option_values(n_arms, n_features),
            "prior_mean": mean,
            "prior_covariance": covariance,
            "sigma": known_sigma(self.sigma),
        }

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> PosteriorState:
        """The state before the first decision."""
        mean, covariance = policy.prior_mean, policy.prior_covariance
        return PosteriorState(
            memory,
            model=gaussian_posterior.init(memory, n_arms, mean, covariance)
            if len(mean)
            else learning_ridge(memory, n_arms, n_features, policy.rule),
            noise=NoiseScale(memory),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: PosteriorState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Each arm's draw of its reward."""
        scale = posterior.noise_scale(state.model, policy.sigma)
        score_draws(state.model, scale, context, state.scores)
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: PosteriorState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row for the posterior, with the noise scale as it is known at this time."""
        n_arms, d = state.model.estimate.shape
        sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
        posterior.observe(state.model, arm, context, reward, sigma * sigma)
        if step != SUMMARY:  # it has no residual of its own
            residual = reward - inner(state.model.estimate[arm], context)
            noise_scale.observe(state.noise, residual)
