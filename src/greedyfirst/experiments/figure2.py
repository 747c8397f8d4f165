"""Figure 2: linear rewards, with and without covariate diversity, with and without the true prior.

K = 2 arms, d = 3 features, T = 10 000 rounds, 1000 instances, noise N(0, 0.25). The text's contexts
are truncated Gaussians; the published figure clips each coordinate instead, and so does this one.
Panels c and d add an intercept, whose coefficients are scaled by 0.2: covariate diversity fails.
In b and d policies do not know the prior or the noise. Other practices of the published figure that
the text does not mention: ridge estimates while singular, a round-robin start of OLS Bandit, and a
Greedy-First whose test begins at 2·t₀ and takes an estimate below 1e-5 for zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from greedyfirst.experiments.experiment import Experiment
from greedyfirst.policies import (
    OFUL,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Policy,
    PriorFreeThompsonSampling,
    ThompsonSampling,
)
from greedyfirst.problems import (
    ArmParameters,
    ClippedGaussian,
    ContextDistribution,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    MixtureParameters,
    WithIntercept,
)

N_ARMS, N_FEATURES, HORIZON, N_INSTANCES = 2, 3, 10_000, 1000
SIGMA = 0.5
CONTEXT_VARIANCE, CONTEXT_BOUND = 0.5, 1.0
CONTEXTS_IN_WORDS = "N(0, 0.5 I), each coordinate clipped to [-1, 1]"
INTERCEPT_SCALE = 0.2
H, Q = 5.0, 1
T0_MULTIPLE = 4  # t₀ in units of K·d
UNKNOWN_SIGMA_START = 100.0
WRONG_PRIOR_VARIANCE = 100.0
LAMBDA0_MINIMUM = 1e-5


def contexts(n_features: int, *, intercept: bool) -> ContextDistribution:
    """N(0, 0.5·I) with coordinates clipped to [-1, 1], behind an intercept or not."""
    features = ClippedGaussian(
        n_features=n_features, covariance=CONTEXT_VARIANCE, bound=CONTEXT_BOUND
    )
    return WithIntercept(contexts=features) if intercept else features


def arm_parameters(
    n_arms: int, n_features: int, *, intercept: bool, mixture: bool
) -> ArmParameters:
    """β ~ N(0, I); in a mixture all β ~ N(1, I)/2 or all β ~ N(-1, I)/2, by one fair coin."""
    scale = np.ones(n_features + intercept)
    if intercept:
        scale[0] = INTERCEPT_SCALE
    if not mixture:
        return GaussianParameters(n_arms=n_arms, mean=0.0 * scale, covariance=scale**2)
    half = 0.5 * scale
    return MixtureParameters(
        components=[
            GaussianParameters(n_arms=n_arms, mean=sign * half, covariance=half**2)
            for sign in (1.0, -1.0)
        ]
    )


def ols_bandit(d: int, *, h: float = H, q: int = Q) -> OLSBandit:
    """OLS Bandit with a round-robin start."""
    return OLSBandit(h=h, q=q, warmup="ridge", initial_pulls=d)


def greedy_first(
    n_arms: int, d: int, *, h: float = H, q: int = Q, t0_multiple: int = T0_MULTIPLE
) -> GreedyFirst:
    """Greedy-First whose test begins at 2·t₀, and whose fallback is OLS Bandit from its start."""
    t0 = t0_multiple * n_arms * d
    return GreedyFirst(
        warmup="ridge",
        t0=t0,
        test_after=2 * t0,
        lambda0_minimum=LAMBDA0_MINIMUM,
        fallback=ols_bandit(d, h=h, q=q),
        span="full",
        carry_over=False,
        on_alarm="explore",
    )


def greedy_first_without_intercept(n_arms: int, n_features: int) -> dict[str, Policy]:
    """Greedy-First with t₀ = 4Kd as the text has it: d = 3, also where an intercept is added."""
    t0 = T0_MULTIPLE * n_arms * n_features
    counted = greedy_first(n_arms, n_features + 1)
    return {f"Greedy-First, t0 = {t0}": replace(counted, t0=t0, test_after=2 * t0)}


def policies(
    n_arms: int, d: int, *, sigma: float | None, prior_variance: float = 1.0
) -> dict[str, Policy]:
    """The six policies of the figure; d counts the intercept."""
    start = UNKNOWN_SIGMA_START
    return {
        "Greedy": Greedy(warmup="ridge"),
        "Greedy-First": greedy_first(n_arms, d),
        "OLS Bandit": ols_bandit(d),
        "OFUL": OFUL(sigma=sigma, sigma_start=start),
        "Prior-free TS": PriorFreeThompsonSampling(sigma=sigma, sigma_start=start),
        "Prior-dependent TS": ThompsonSampling(
            prior_covariance=prior_variance, sigma=sigma, sigma_start=start
        ),
    }


def panel(
    name: str,
    *,
    title: str,
    intercept: bool,
    correct_prior: bool,
    n_arms: int = N_ARMS,
    n_features: int = N_FEATURES,
) -> Experiment:
    """One of the four panels, or the like with another number of arms and features.

    t₀ = 4Kd counts the intercept in d; a Greedy-First that does not is played beside.
    """
    prior = "correct prior" if correct_prior else "incorrect prior"
    diversity = "no covariate diversity" if intercept else "covariate diversity"
    return Experiment(
        name=name,
        title=f"{title}: {prior}, {diversity}",
        problem=LinearProblem(
            contexts=contexts(n_features, intercept=intercept),
            arms=arm_parameters(n_arms, n_features, intercept=intercept, mixture=not correct_prior),
            noise=GaussianNoise(sigma=SIGMA),
        ),
        policies=policies(
            n_arms,
            n_features + intercept,
            sigma=SIGMA if correct_prior else None,
            prior_variance=1.0 if correct_prior else WRONG_PRIOR_VARIANCE,
        ),
        horizon=HORIZON,
        n_instances=N_INSTANCES,
        settings={
            "arms": n_arms,
            "features": n_features,
            "intercept": intercept,
            "noise": SIGMA,
            "contexts": CONTEXTS_IN_WORDS,
            "arm parameters": "N(0, I)"
            if correct_prior
            else "all N(+1, I)/2 or all N(-1, I)/2, by a fair coin",
            "prior": prior,
        },
        readings=greedy_first_without_intercept(n_arms, n_features) if intercept else {},
    )


EXPERIMENTS = (
    panel("fig2a", title="Figure 2(a)", intercept=False, correct_prior=True),
    panel("fig2b", title="Figure 2(b)", intercept=False, correct_prior=False),
    panel("fig2c", title="Figure 2(c)", intercept=True, correct_prior=True),
    panel("fig2d", title="Figure 2(d)", intercept=True, correct_prior=False),
)
