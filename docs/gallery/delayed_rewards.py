"""Delayed rewards: outcomes that come later, in any order

A treatment's outcome is known after up to 60 further patients. Each decision has a number; its
reward is given with that number (`step=`). The same patients are treated twice: once with
outcomes at once, once with the delay.
"""

import heapq

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import Agent, GreedyFirst

PATIENTS = 600
effects = np.array([[0.5, 1.0], [0.5, -1.0]])


def treat(longest_delay):
    """The regret after each patient, when outcomes wait for up to this many patients."""
    rng = np.random.default_rng(5)
    agent = Agent(GreedyFirst(), n_arms=2, n_features=2, seed=1)
    waiting, regret = [], []
    for day in range(PATIENTS):
        patient = np.array([1.0, rng.uniform(-1, 1)])
        noise, delay = rng.normal(scale=0.5), int(rng.uniform() * longest_delay)
        arm = agent.choose(patient)
        regret.append(np.max(effects @ patient) - effects[arm] @ patient)
        outcome = (
            day + delay,
            agent.decisions,
            arm,
            tuple(patient),
            effects[arm] @ patient + noise,
        )
        heapq.heappush(waiting, outcome)
        while waiting and waiting[0][0] <= day:
            _, step, taken, seen, reward = heapq.heappop(waiting)
            agent.update(seen, taken, reward, step=step)
    late = f"{len(waiting)} outcomes still to come"
    print(f"delay up to {longest_delay:2d}: regret {np.sum(regret):5.1f}, {late}")
    return np.cumsum(regret)


figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for longest in (0, 20, 60):
    axes.plot(treat(longest), label=f"up to {longest} patients later" if longest else "at once")
axes.set(xlabel="patients", ylabel="regret so far", title="What a delay of outcomes costs")
axes.legend(title="outcomes come")
figure.savefig("delayed_rewards.png", dpi=120)
