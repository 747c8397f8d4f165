"""Clicks: yes/no rewards with a logistic model

Two headlines; a reader clicks or does not. `GLMGreedy` fits the probability of a click by maximum
likelihood, which stays between 0 and 1. Readers differ in how much they like sport, from -1 to 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import Agent, GLMGreedy

rng = np.random.default_rng(2)
TRUE = np.array([[-1.0, 2.0], [-0.5, -1.0]])  # constant and liking of sport, for each headline


def probability(linear):
    return 1 / (1 + np.exp(-linear))


agent = Agent(GLMGreedy(initial_pulls=20), n_arms=2, n_features=2, seed=1)
for _ in range(2000):
    reader = np.array([1.0, rng.uniform(-1, 1)])
    headline = agent.choose(reader)
    agent.update(reader, headline, int(rng.random() < probability(TRUE[headline] @ reader)))

liking = np.linspace(-1, 1, 41)
readers = np.column_stack([np.ones_like(liking), liking])
estimated = np.array([agent.expected_rewards(reader) for reader in readers])
for at in (-1.0, 0.0, 1.0):
    chances = agent.expected_rewards([1.0, at])
    print(f"liking {at:+.0f}: estimated chances of a click", chances.round(2).tolist())

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for headline, colour in enumerate(["#0b6e4f", "#d1495b"]):
    truth = probability(readers @ TRUE[headline])
    axes.plot(liking, truth, color=colour, linestyle=":", label=f"headline {headline + 1}, truth")
    axes.plot(
        liking, estimated[:, headline], color=colour, label=f"headline {headline + 1}, estimate"
    )
axes.set(xlabel="liking of sport", ylabel="probability of a click", title="After 2000 readers")
axes.legend()
figure.savefig("clicks.png", dpi=120)
