"""Prices: learn what each kind of customer pays

A shop tries three prices for the same item. What it earns from a visit depends on the price and
on the visitor: those who come from an advertisement buy at low prices only, returning customers
at any. The agent is told only what a visit earned at the price that it set.
"""

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import Agent, GreedyFirst

PRICES = [5.0, 8.0, 12.0]
rng = np.random.default_rng(1)


def chances(visitor):
    """The probability to buy at each price, which nobody knows."""
    _, returning, from_advertisement = visitor
    likes = 0.6 + 0.3 * returning - 0.2 * from_advertisement
    sensitive = 0.02 + 0.05 * from_advertisement
    return np.clip([likes - sensitive * (price - 5.0) for price in PRICES], 0.0, 1.0)


agent = Agent(
    GreedyFirst(),
    n_arms=3,
    n_features=3,
    seed=1,
    arm_names=[f"{price:.0f} euros" for price in PRICES],
    feature_names=["any visitor", "returning", "from advertisement"],
)
earned, best, set_prices = [], [], []
for _ in range(3000):
    visitor = np.array([1.0, rng.random() < 0.4, rng.random() < 0.5])
    arm = agent.choose(visitor)
    buys = rng.random() < chances(visitor)[arm]
    agent.update(visitor, arm, reward=PRICES[arm] * buys)
    earned.append(PRICES[arm] * chances(visitor)[arm])
    best.append(np.max(PRICES * chances(visitor)))
    set_prices.append(arm)

for name, visitor in [("returning", [1, 1, 0]), ("from an advertisement", [1, 0, 1])]:
    expected = agent.expected_rewards(visitor)
    print(f"{name}: {agent.arm_names[int(np.argmax(expected))]}, {expected.max():.2f} a visit")
share = np.sum(earned) / np.sum(best)
print(f"earned {share:.1%} of what the best price for each visitor would have earned on average")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for arm, name in enumerate(agent.arm_names):
    given = np.cumsum(np.array(set_prices) == arm) / np.arange(1, 3001)
    axes.plot(np.arange(1, 3001), given, label=name)
axes.set(xlabel="visits", ylabel="share of visits so far", title="Which prices were set")
axes.legend()
figure.savefig("pricing.png", dpi=120)
