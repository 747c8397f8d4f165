"""More than two arms: the figures of the appendix with K = 5.

``k5-d3`` and ``k5-d7`` are Figure 2(a) with five arms and three or seven features. ``k5-dimension``
runs Greedy alone in d = 2, ..., 10, with noise of standard deviation 0.25·√d, which keeps the ratio
of signal to noise: with few features Greedy may never return to an arm that it once misjudged; from
about d = K - 1 on contexts bring it back.
"""

from __future__ import annotations

import math

from greedyfirst.experiments import figure2
from greedyfirst.experiments.experiment import Experiment, Varied
from greedyfirst.policies import Greedy
from greedyfirst.problems import GaussianNoise, LinearProblem

N_ARMS = 5
DIMENSIONS = tuple(range(2, 11))
SIGMA_PER_ROOT_FEATURE = 0.25


def all_policies(n_features: int) -> Experiment:
    """Figure 2(a) with five arms."""
    return figure2.panel(
        f"k5-d{n_features}",
        title=f"K = {N_ARMS}, d = {n_features}",
        intercept=False,
        correct_prior=True,
        n_arms=N_ARMS,
        n_features=n_features,
    )


def problem(n_features: int) -> LinearProblem:
    """Figure 2's contexts and N(0, I) parameters, with the same signal to noise ratio in any d."""
    return LinearProblem(
        contexts=figure2.contexts(n_features, intercept=False),
        arms=figure2.arm_parameters(N_ARMS, n_features, intercept=False, mixture=False),
        noise=GaussianNoise(sigma=SIGMA_PER_ROOT_FEATURE * math.sqrt(n_features)),
    )


def dimensions() -> Experiment:
    """Greedy in each dimension."""
    labels = {f"Greedy, d={d}": d for d in DIMENSIONS}
    return Experiment(
        name="k5-dimension",
        title=f"Greedy with K = {N_ARMS} arms and d features",
        problem={label: problem(d) for label, d in labels.items()},
        policies={label: Greedy(warmup="ridge") for label in labels},
        horizon=figure2.HORIZON,
        n_instances=figure2.N_INSTANCES,
        settings={
            "arms": N_ARMS,
            "features": list(DIMENSIONS),
            "intercept": False,
            "noise": "0.25·√d",
            "contexts": figure2.CONTEXTS_IN_WORDS,
            "arm parameters": "N(0, I)",
        },
        varied=Varied("d", DIMENSIONS, boxes=True),
    )


EXPERIMENTS = (all_policies(3), all_policies(7), dimensions())
