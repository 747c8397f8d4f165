"""Uniform: each arm with the same probability, whatever it has learned."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst import Agent, Uniform


def test_every_arm_has_the_same_probability_after_any_rewards():
    agent = Agent(Uniform(), n_arms=5, n_features=2, seed=1)
    agent.update_many(np.eye(2), [0, 1], [100.0, -100.0])
    assert agent.probabilities([1.0, 1.0]) == pytest.approx([0.2] * 5)
    agent.drop_arm(2)
    assert agent.probabilities([1.0, 1.0]) == pytest.approx([0.25, 0.25, 0, 0.25, 0.25])


def test_arms_are_uniform_and_independent_of_the_previous_one():
    """Chi-square of 25 000 consecutive pairs, 24 degrees of freedom, at 1e-6."""
    arms = Agent(Uniform(), n_arms=5, n_features=1, seed=2).choose_many(np.ones((50_000, 1)))
    pairs = np.bincount(arms[::2] * 5 + arms[1::2], minlength=25)
    assert stats.chisquare(pairs).pvalue > 1e-6


def test_rewards_are_learned():
    agent = Agent(Uniform(), n_arms=2, n_features=2, seed=3)
    agent.update_many([[1.0, 0.0], [1.0, 1.0]], [1, 1], [2.0, 5.0])
    assert agent.expected_rewards([0.0, 1.0]) == pytest.approx([0.0, 3.0])
