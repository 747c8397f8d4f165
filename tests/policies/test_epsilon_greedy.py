"""Epsilon-greedy: Greedy's choice, replaced by any arm with probability ε."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst import Agent, EpsilonGreedy, Greedy
from greedyfirst.testing.trial_runs import play_one_by_one


def trained(policy):
    rng = np.random.default_rng(51)
    contexts, rewards = rng.normal(size=(60, 2)), rng.normal(size=(60, 4))
    agent = Agent(policy, n_arms=4, n_features=2, seed=3)
    return agent, play_one_by_one(agent, contexts, rewards)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_the_best_arm_has_one_minus_epsilon_and_its_share(epsilon):
    agent, _ = trained(EpsilonGreedy(epsilon=epsilon, warmup="pinv"))
    context = np.array([0.4, -0.7])
    best = np.argmax(agent.expected_rewards(context))
    expected = np.full(4, epsilon / 4)
    expected[best] += 1 - epsilon
    assert agent.probabilities(context) == pytest.approx(expected, abs=1e-12)


def test_epsilon_zero_is_greedy():
    assert trained(EpsilonGreedy(epsilon=0, warmup="pinv"))[1] == trained(Greedy(warmup="pinv"))[1]


def test_epsilon_one_is_uniform():
    """Chi-square on 4000 decisions at 1e-6."""
    agent, _ = trained(EpsilonGreedy(epsilon=1, warmup="pinv"))
    arms = agent.choose_many(np.ones((4000, 2)))
    assert stats.chisquare(np.bincount(arms, minlength=4)).pvalue > 1e-6


def test_initial_pulls_are_never_replaced():
    _, arms = trained(EpsilonGreedy(epsilon=1, initial_pulls=3))
    assert arms[:12] == [0, 1, 2, 3] * 3
