"""A policy of your own: three functions

A policy is a class with `init`, `score` and `update`. Nothing has to be registered: it works with
`Agent` and `simulate` at once, and can be the fallback of Greedy-First. This one values an arm by
its mean reward plus a bonus that shrinks with its pulls (UCB1), and does not look at the context.
Decorated with `greedyfirst.compiling.kernels.kernel`, `score` and `update` would be compiled; as
they are, they run as plain Python.
"""

import math
from dataclasses import dataclass

import matplotlib.pyplot as plt

from greedyfirst import GreedyFirst, Policy, simulate
from greedyfirst.compiling.records import Record, floats, integers, part
from greedyfirst.policies.selection import Scores
from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBox, WithIntercept
from greedyfirst.validation import FloatArray, IntArray


class UCB1State(Record):
    """What the policy remembers."""

    pulls: IntArray = integers("n_arms")
    totals: FloatArray = floats("n_arms")
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class UCB1(Policy):
    """The highest mean reward, raised by √(2 log t / pulls)."""

    width: float = 0.5

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return UCB1State(memory, n_arms=n_arms, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    def score(policy, state, step, context, eligible):
        for arm in range(len(eligible)):
            if state.pulls[arm] == 0:
                return arm
            bonus = policy.width * math.sqrt(2 * math.log(step) / state.pulls[arm])
            state.scores.value[arm] = state.totals[arm] / state.pulls[arm] + bonus
        return -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.pulls[arm] += 1
        state.totals[arm] += reward


figure, pictures = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for picture, effect in zip(pictures, [0.0, 0.5], strict=True):
    problem = LinearProblem(
        contexts=WithIntercept(contexts=UniformBox(n_features=1)),
        arms=[[0.3, effect], [0.0, -effect]],
        noise=GaussianNoise(sigma=0.5),
    )
    policies = {"UCB1": UCB1(), "Greedy-First": GreedyFirst()}
    result = simulate(problem, policies, n_instances=20, horizon=500, seed=1)
    title = "contexts matter" if effect else "contexts do not matter"
    print(title)
    print(result.table())
    result.plot(picture, title=title)
figure.savefig("own_policy.png", dpi=120)
