"""Doses: arms that starve, alarms, and answers

Three doses; the middle one is worse for everybody, the others each suit the young or the old. A
greedy policy gives each only where it looks best, so little is learned about the rest. With
`on_alarm="hold"` the agent says so and waits: a person drops the middle dose, and lets the others
have the benefit of the doubt.
"""

import matplotlib.pyplot as plt
import numpy as np

from greedyfirst import Agent, GreedyFirst

DOSES = ["low", "middle", "high"]
rng = np.random.default_rng(3)


def outcome(patient, arm):
    """What a dose does to a patient; unknown."""
    _, age = patient
    return [0.2 + 0.5 * age, -1.0, 0.2 - 0.5 * age][arm] + 0.3 * rng.normal()


policy = GreedyFirst(on_alarm="hold")
agent = Agent(policy, n_arms=3, n_features=2, seed=1, arm_names=DOSES)
pulls = []
for day in range(1, 401):
    patient = np.array([1.0, rng.uniform(-1, 1)])
    arm = agent.choose(patient)
    agent.update(patient, arm, outcome(patient, arm))
    pulls.append(agent.pulls.copy())
    if day == 200:
        print(agent.diversity())
        for age in (-1.0, 1.0):
            print(f"expected at age {age:+.0f}:", agent.expected_rewards([1.0, age]).round(2))
        agent.answer("drop", "middle")
        for each in agent.diversity().arms:
            if each.starving and not each.dropped:
                agent.answer("explore_arm", each.name)
young = [1.0, -1.0]
print("a young patient gets:", agent.arm_names[agent.choose(young)], "raised by:", agent.raised_by)
print("given after that:", dict(zip(DOSES, (pulls[-1] - pulls[199]).tolist(), strict=True)))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for arm, name in enumerate(DOSES):
    axes.plot(np.arange(1, 401), np.array(pulls)[:, arm], label=name)
axes.axvline(200, color="0.4", linestyle=":", label="a person answers the alarms")
axes.set(xlabel="patients", ylabel="given so far", title="How often each dose was given")
axes.legend()
figure.savefig("dosing.png", dpi=120)
