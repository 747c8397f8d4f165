"""Comparing policies: the same draws for all

`simulate` runs every policy on the same contexts and noise, so that small differences show with
few instances. With an intercept greedy can be stuck with a wrong arm; Greedy-First notices.
"""

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import OFUL, Greedy, GreedyFirst, LinUCB, ThompsonSampling, simulate
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    WithIntercept,
)

problem = LinearProblem(
    contexts=WithIntercept(contexts=ClippedGaussian(n_features=3, covariance=0.5, bound=1.0)),
    arms=GaussianParameters(n_arms=5, mean=np.zeros(4), covariance=1.0),
    noise=GaussianNoise(sigma=0.5),
)
policies = {
    "Greedy": Greedy(),
    "Greedy-First": GreedyFirst(),
    "LinUCB": LinUCB(regularization="auto"),
    "OFUL": OFUL(sigma=0.5),
    "Thompson sampling": ThompsonSampling(sigma=0.5),
}
result = simulate(problem, policies, n_instances=100, horizon=2000, seed=1)
print(result.table())

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
result.plot(axes, title="Five arms, three features and an intercept")
figure.savefig("comparing_policies.png", dpi=120)
