"""OFUL (Abbasi-Yadkori, Pál and Szepesvári): optimism over a confidence ellipsoid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.compiling.records import number as one_number
from greedyfirst.models import noise_scale, posterior
from greedyfirst.models.linear_part import AUTO, RULE, checked_rule
from greedyfirst.models.noise_scale import NoiseScale, checked_sigma, known_sigma
from greedyfirst.models.plain_ridge import LEARNED, checked_penalty, penalty_option, plain_ridge
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import SUMMARY, Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, number, wrong


class OFULState(Record):
    """Ridge regression per arm and the running maxima."""

    #: N(0, I/λ) prior and unit noise, so that its precision is V; or a prior that is learned.
    model: Any = part()
    noise: NoiseScale = part()
    #: L and S.
    longest_context: float = one_number()
    longest_estimate: float = one_number()
    scores: Scores = part()


@kernel
def radius(policy: Any, state: OFULState, context: FloatArray) -> float:
    """ρ, the confidence ellipsoid's radius at this context."""
    model = state.model
    n_arms, d = model.estimate.shape
    if policy.regularization == LEARNED:
        sigma = posterior.noise_scale(model, policy.sigma)
    else:
        sigma = noise_scale.scale(state.noise, policy.sigma, policy.sigma_start, n_arms, d)
    longest = max(state.longest_context, posterior.length(model, context))
    size, penalty = n_arms * d, posterior.penalty(model, policy.regularization)
    information = state.noise.rewards * longest * longest / (penalty * size)
    width = size * math.log(1.0 + information) - 2.0 * math.log(policy.delta)
    bound: float = sigma * math.sqrt(width)
    return bound + math.sqrt(penalty) * state.longest_estimate


@kernel
def bound_rewards(policy: Any, state: OFULState, context: FloatArray) -> None:
    """Upper confidence bounds of all arms."""
    model, value = state.model, state.scores.value
    posterior.prepare(model, context)
    state.scores.rounding = posterior.rounding(model)
    bound = radius(policy, state, context)
    for arm in range(value.shape[0]):
        spread = math.sqrt(posterior.variance(model, arm, context))
        value[arm] = posterior.mean(model, arm, context) + bound * spread


@kernel
def track(state: OFULState, context: FloatArray, step: int) -> None:
    """L and S after an update."""
    if step != SUMMARY:  # which is no context
        posterior.prepare(state.model, context)
        length = posterior.length(state.model, context)
        state.longest_context = max(state.longest_context, length)
    state.longest_estimate = max(state.longest_estimate, posterior.distance(state.model))


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
        λ, in the units of features and rewards. ``"auto"`` learns it, with the features' units, the
        mean of all rewards and the noise (:mod:`greedyfirst.models.learned_ridge`): the formula is
        then in units that the data has, L and S start at 0, and no unit matters.
    delta
        δ: the confidence sets fail with at most this probability.
    sigma
        The noise's standard deviation; ``None`` estimates it from the residuals.
    sigma_start
        Its value until there are more than K·d rewards, when it is estimated.
    rule
        How the prior is learned: 2, or 1 as older releases did, for what was begun with them.

    Examples
    --------
    >>> from greedyfirst import OFUL, Agent
    >>> agent = Agent(OFUL(sigma=0.5), n_arms=2, n_features=1, seed=1)
    >>> for arm in [0, 0, 0, 1]:
    ...     agent.update([1.0], arm, 0.0)
    >>> agent.choose([1.0])  # the arm with fewer rows has the wider confidence set
    1
    """

    regularization: float | str = 1.0
    delta: float = 0.99
    sigma: float | None = None
    sigma_start: float = 1.0
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        checked_penalty(self.regularization)
        number("delta", self.delta, above=0, below=1)
        checked_sigma(self.sigma)
        number("sigma_start", self.sigma_start, above=0)
        if self.learns_prior() and self.sigma_start != 1.0:
            expected = "left out: with regularization='auto' the noise is learned from the start"
            raise wrong("sigma_start", self.sigma_start, expected)

    @classmethod
    def examples(cls) -> Sequence[OFUL]:
        """Every option varied."""
        return [
            cls(),
            cls(regularization=0.5, delta=0.1, sigma=0.3),
            cls(sigma_start=0.1),
            cls(regularization="auto"),
            cls(regularization="auto", rule=1),
        ]

    def learns_prior(self) -> bool:
        """Whether the penalty is learned."""
        return self.regularization == AUTO

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, σ as a number also where it is estimated."""
        return {
            **super().option_values(n_arms, n_features),
            "regularization": penalty_option(self.regularization),
            "sigma": known_sigma(self.sigma),
        }

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> OFULState:
        """The state before the first decision."""
        state = OFULState(
            memory,
            model=plain_ridge(memory, n_arms, n_features, policy.regularization, policy.rule),
            noise=NoiseScale(memory),
            scores=Scores(memory, n_arms=n_arms),
        )
        least = 0.0 if policy.regularization == LEARNED else 1.0
        state.longest_context = state.longest_estimate = least
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
        posterior.observe(state.model, arm, context, reward, 1.0)
        if step != SUMMARY:  # it has no residual of its own
            residual = reward - inner(state.model.estimate[arm], context)
            noise_scale.observe(state.noise, residual)
        track(state, context, step)
