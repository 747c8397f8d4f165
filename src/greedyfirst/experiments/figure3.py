"""Figure 3: logistic rewards, contexts with covariate diversity.

K = 2 arms, T = 2000 rounds, β ~ N(0, I). Contexts are N(0, 0.5·I), each coordinate clipped to
[-x_max, x_max], then scaled onto the ball of radius x_max: (a) d = 3, x_max = 1; (b) d = 10,
x_max = 5. The paper ran 10 instances; here it is 200. GLM-UCB knows the true parameters' norm.
"""

from __future__ import annotations

from greedyfirst.experiments.experiment import Experiment
from greedyfirst.policies import GLMUCB, GLMGreedy
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianParameters,
    GeneralizedLinearProblem,
    WithinBall,
)

N_ARMS, HORIZON, N_INSTANCES = 2, 2000, 200
CONTEXT_VARIANCE = 0.5
LINK = "logistic"


def panel(name: str, *, n_features: int, x_max: float) -> Experiment:
    """One of the two panels."""
    clipped = ClippedGaussian(n_features=n_features, covariance=CONTEXT_VARIANCE, bound=x_max)
    return Experiment(
        name=name,
        title=f"Figure 3({name[-1]}): logistic rewards, d = {n_features}, x_max = {x_max:g}",
        problem=GeneralizedLinearProblem(
            contexts=WithinBall(contexts=clipped, radius=x_max),
            arms=GaussianParameters(n_arms=N_ARMS, mean=[0.0] * n_features),
            link=LINK,
        ),
        policies={
            "GLM Greedy": GLMGreedy(link=LINK, initial_pulls=n_features, rule=1),
            "GLM-UCB": GLMUCB(link=LINK, x_max=x_max, b_max=None, horizon=HORIZON, rule=1),
        },
        horizon=HORIZON,
        n_instances=N_INSTANCES,
        settings={
            "arms": N_ARMS,
            "features": n_features,
            "x_max": x_max,
            "link": LINK,
            "contexts": "N(0, 0.5 I), each coordinate clipped to [-x_max, x_max], "
            "then scaled onto the ball of radius x_max",
            "arm parameters": "N(0, I)",
            "b_max of GLM-UCB": "the true one of each instance",
        },
    )


EXPERIMENTS = (
    panel("fig3a", n_features=3, x_max=1.0),
    panel("fig3b", n_features=10, x_max=5.0),
)
