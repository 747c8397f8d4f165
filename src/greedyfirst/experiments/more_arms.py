"""More than two arms: the figures of the appendix with K = 5, and K varied.

``k5-d3`` and ``k5-d7`` are Figure 2(a) with five arms and three or seven features. ``k5-dimension``
runs Greedy alone in d = 2, ..., 10, with noise of standard deviation 0.25·√d, which keeps the ratio
of signal to noise: with few features Greedy may never return to an arm that it once misjudged; from
about d = K - 1 on contexts bring it back.

``d5-arms`` is the other half of the appendix's sentence, for which it has no figure: Greedy
"degrades with the number of arms". d = 5 is fixed and K varied; K = 5 is ``k5-dimension``'s d = 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from greedyfirst.experiments import figure2
from greedyfirst.experiments.experiment import Experiment, Varied
from greedyfirst.policies import Greedy
from greedyfirst.problems import GaussianNoise, LinearProblem

N_ARMS = 5
DIMENSIONS = tuple(range(2, 11))
N_FEATURES = 5
ARMS = (2, 3, 4, 5, 6, 8, 10, 15, 20)
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


def problem(n_arms: int, n_features: int) -> LinearProblem:
    """Figure 2's contexts and N(0, I) parameters, with the same signal to noise ratio in any d."""
    return LinearProblem(
        contexts=figure2.contexts(n_features, intercept=False),
        arms=figure2.arm_parameters(n_arms, n_features, intercept=False, mixture=False),
        noise=GaussianNoise(sigma=SIGMA_PER_ROOT_FEATURE * math.sqrt(n_features)),
    )


def greedy_alone(
    name: str, title: str, sizes: Mapping[str, tuple[int, int]], varied: Varied
) -> Experiment:
    """Greedy on a problem of each size (n_arms, n_features), by label."""
    n_arms = sorted({size[0] for size in sizes.values()})
    n_features = sorted({size[1] for size in sizes.values()})
    return Experiment(
        name=name,
        title=title,
        problem={label: problem(*size) for label, size in sizes.items()},
        policies={label: Greedy(warmup="ridge") for label in sizes},
        horizon=figure2.HORIZON,
        n_instances=figure2.N_INSTANCES,
        settings={
            "arms": n_arms if len(n_arms) > 1 else n_arms[0],
            "features": n_features if len(n_features) > 1 else n_features[0],
            "intercept": False,
            "noise": "0.25·√d",
            "contexts": figure2.CONTEXTS_IN_WORDS,
            "arm parameters": "N(0, I)",
        },
        varied=varied,
    )


def dimensions() -> Experiment:
    """Greedy in each dimension."""
    return greedy_alone(
        "k5-dimension",
        f"Greedy with K = {N_ARMS} arms and d features",
        {f"Greedy, d={d}": (N_ARMS, d) for d in DIMENSIONS},
        Varied("d", DIMENSIONS, boxes=True),
    )


def arms() -> Experiment:
    """Greedy with each number of arms."""
    return greedy_alone(
        "d5-arms",
        f"Greedy with K arms and d = {N_FEATURES} features",
        {f"Greedy, K={n}": (n, N_FEATURES) for n in ARMS},
        Varied("K", ARMS, boxes=True),
    )


EXPERIMENTS = (all_policies(3), all_policies(7), dimensions(), arms())
