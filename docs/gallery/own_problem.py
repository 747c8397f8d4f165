"""A problem of your own: simulate what you expect

Before real decisions: write down what contexts and rewards may look like, and see what each
policy would cost. A problem is a law of contexts, a law of the arms' parameters, and noise. Here
ages are skewed and the arms differ little.
"""

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import Greedy, GreedyFirst, Uniform, simulate
from greedyfirst.problems import FromFunction, GaussianNoise, GaussianParameters, LinearProblem


def people(rng, size):
    """An intercept, a skewed age and a yes/no question."""
    age = rng.gamma(shape=2.0, scale=0.5, size=size)
    return np.column_stack([np.ones(size), age - 1.0, rng.random(size) < 0.3])


problem = LinearProblem(
    contexts=FromFunction(n_features=3, draw=people),
    arms=GaussianParameters(n_arms=3, mean=np.zeros(3), covariance=0.1),
    noise=GaussianNoise(sigma=0.5),
)
policies = {"Greedy": Greedy(), "Greedy-First": GreedyFirst(), "any arm": Uniform()}
result = simulate(problem, policies, n_instances=100, horizon=1000, seed=1)
print(result.table())

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
result.plot(axes, title="Regret on 100 draws of this problem")
figure.savefig("own_problem.png", dpi=120)
