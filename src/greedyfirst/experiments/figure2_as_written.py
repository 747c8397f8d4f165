"""Figure 2 to the letter of the text, where the published figure departs from it.

- Contexts 0.5 × N(0, I) are draws times 0.5, of variance 0.25, truncated to ‖x‖∞ ≤ 1. The text
  writes 10 × N(0, I) for a prior of variance 100, so the number scales the draw.
- In b and d each arm's β comes from the mixture by a coin of its own.
- The intercept's coefficients are drawn as the others: N(0, I) is the true prior in c.
- Estimates are 0 while an arm's Gram matrix is singular (Algorithm 1), and OLS Bandit's first
  samples are those of its schedule (Algorithm 4).
- Greedy-First estimates λ₀ at t₀ = 4Kd with d = 3, with or without an intercept, and tests from
  then on; only a zero is zero (Algorithm 5).

What the text does not say is as in the figure: OFUL's and Thompson sampling's constants, and the
noise scale before it can be estimated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from greedyfirst.experiments import figure2
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.policies import Greedy, GreedyFirst, OLSBandit, Policy
from greedyfirst.problems import (
    ArmParameters,
    ContextDistribution,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    MixtureParameters,
    TruncatedGaussian,
    WithIntercept,
)

N_ARMS, N_FEATURES = figure2.N_ARMS, figure2.N_FEATURES
CONTEXT_SCALE, MIXTURE_SCALE = 0.5, 0.5
T0 = figure2.T0_MULTIPLE * N_ARMS * N_FEATURES


def contexts(*, intercept: bool) -> ContextDistribution:
    """0.5 × N(0, I) given that ‖x‖∞ ≤ 1, behind an intercept or not."""
    features = TruncatedGaussian(
        n_features=N_FEATURES,
        covariance=CONTEXT_SCALE**2,
        bound=figure2.CONTEXT_BOUND,
        norm="linf",
    )
    return WithIntercept(contexts=features) if intercept else features


def arm_parameters(*, intercept: bool, mixture: bool) -> ArmParameters:
    """β ~ N(0, I); in a mixture each β from 0.5 × N(1, I) or 0.5 × N(-1, I), by its own coin."""
    ones = np.ones(N_FEATURES + intercept)
    if not mixture:
        return GaussianParameters(n_arms=N_ARMS, mean=0.0 * ones)
    return MixtureParameters(
        components=[
            GaussianParameters(
                n_arms=N_ARMS, mean=sign * MIXTURE_SCALE * ones, covariance=MIXTURE_SCALE**2
            )
            for sign in (1.0, -1.0)
        ],
        shared=False,
    )


def policies(published: dict[str, Policy]) -> dict[str, Policy]:
    """The policies of the figure, with the algorithms as printed."""
    ols_bandit = OLSBandit(h=figure2.H, q=figure2.Q, warmup="none")
    greedy_first = GreedyFirst(
        warmup="none",
        t0=T0,
        fallback=ols_bandit,
        span="full",
        carry_over=False,
        on_alarm="explore",
    )
    printed: dict[str, Policy] = {
        "Greedy": Greedy(warmup="none"),
        "Greedy-First": greedy_first,
        "OLS Bandit": ols_bandit,
    }
    return published | printed


def panel(published: Experiment) -> Experiment:
    """A panel of the figure, as the text has it."""
    intercept = bool(published.settings["intercept"])
    mixture = published.settings["prior"] == "incorrect prior"
    return replace(
        published,
        name=f"{published.name}-as-written",
        title=f"{published.title}; as written",
        problem=LinearProblem(
            contexts=contexts(intercept=intercept),
            arms=arm_parameters(intercept=intercept, mixture=mixture),
            noise=GaussianNoise(sigma=figure2.SIGMA),
        ),
        policies=policies(dict(published.policies)),
        settings={
            **published.settings,
            "contexts": "0.5 × N(0, I), truncated to a largest coordinate of 1",
            "arm parameters": "each 0.5 × N(+1, I) or 0.5 × N(-1, I), by a fair coin of its own"
            if mixture
            else "N(0, I)",
        },
        readings={},
        published_as=published.name,
    )


#: By the name of the panel.
PANELS = {published.name: panel(published) for published in figure2.EXPERIMENTS}
