"""OFUL against the stacked K·d formula of EXPERIMENTS.md, in plain NumPy."""

import numpy as np
import pytest

from greedyfirst import OFUL, Agent
from greedyfirst.testing.trial_runs import play_one_by_one


class StackedOFUL:
    """One ridge regression on contexts in R^{Kd}: x in the arm's block, 0 elsewhere."""

    def __init__(self, n_arms, d, *, regularization, delta, sigma, sigma_start):
        self.n_arms, self.d, self.size = n_arms, d, n_arms * d
        self.regularization, self.delta = regularization, delta
        self.sigma, self.sigma_start = sigma, sigma_start
        self.gram = regularization * np.eye(self.size)
        self.moment = np.zeros(self.size)
        self.squares, self.rewards = 0.0, 0
        self.longest = self.largest = 1.0

    def stack(self, context, arm):
        row = np.zeros(self.size)
        row[arm * self.d : (arm + 1) * self.d] = context
        return row

    def noise(self):
        if self.sigma is not None:
            return self.sigma
        if self.rewards > self.size:
            return np.sqrt(self.squares / (self.rewards - self.d))
        return self.sigma_start

    def indices(self, context):
        longest = max(self.longest, np.linalg.norm(context))
        growth = 1 + self.rewards * longest**2 / (self.regularization * self.size)
        width = np.sqrt(self.size * np.log(growth) - 2 * np.log(self.delta))
        radius = self.noise() * width + np.sqrt(self.regularization) * self.largest
        inverse = np.linalg.inv(self.gram)
        theta = inverse @ self.moment
        rows = [self.stack(context, arm) for arm in range(self.n_arms)]
        return np.array([row @ theta + radius * np.sqrt(row @ inverse @ row) for row in rows])

    def update(self, context, arm, reward):
        row = self.stack(context, arm)
        self.gram += np.outer(row, row)
        self.moment += row * reward
        theta = np.linalg.solve(self.gram, self.moment)
        self.squares += (reward - row @ theta) ** 2
        self.rewards += 1
        self.longest = max(self.longest, np.linalg.norm(context))
        self.largest = max(self.largest, np.linalg.norm(theta))


@pytest.mark.parametrize(
    "options",
    [
        {"regularization": 1.0, "delta": 0.99, "sigma": 0.5, "sigma_start": 1.0},
        {"regularization": 1.0, "delta": 0.99, "sigma": None, "sigma_start": 100.0},
        {"regularization": 0.1, "delta": 0.05, "sigma": None, "sigma_start": 1.0},
    ],
    ids=["known noise", "unknown noise", "other constants"],
)
def test_the_stacked_formula_gives_the_same_indices_and_arms(options):
    n_arms, d, horizon = 3, 4, 300
    rng = np.random.default_rng(12)
    contexts = rng.normal(size=(horizon, d)) * rng.uniform(0.2, 2, size=(horizon, 1))
    rewards = contexts @ rng.normal(size=(d, n_arms)) + 0.5 * rng.normal(size=(horizon, n_arms))
    agent = Agent(OFUL(**options), n_arms=n_arms, n_features=d, seed=1)
    reference = StackedOFUL(n_arms, d, **options)
    for t in range(horizon):
        expected = reference.indices(contexts[t])
        arm = agent.choose(contexts[t])
        assert np.allclose(agent.state.scores.value, expected, rtol=1e-9)
        if t:
            assert arm == np.argmax(expected)
        agent.update(contexts[t], arm, float(rewards[t, arm]))
        reference.update(contexts[t], arm, rewards[t, arm])


def test_the_first_decision_is_a_tie():
    probabilities = Agent(OFUL(), n_arms=4, n_features=2, seed=0).probabilities([1.0, 2.0])
    assert probabilities.tolist() == [0.25] * 4


def test_regret_stops_growing_linearly():
    """A sanity check of the whole: with known noise the best arm is soon taken almost always."""
    rng = np.random.default_rng(13)
    contexts = rng.normal(size=(2000, 2))
    parameters = np.array([[1.0, 0.0], [-1.0, 0.0]])
    rewards = contexts @ parameters.T + 0.1 * rng.normal(size=(2000, 2))
    agent = Agent(OFUL(sigma=0.1), n_arms=2, n_features=2, seed=1)
    arms = play_one_by_one(agent, contexts, rewards)
    clear = np.abs(contexts[1000:, 0]) > 0.3
    assert (np.array(arms[1000:]) == (contexts[1000:, 0] < 0))[clear].mean() > 0.99
