"""Fixed arm: always the same one, unless it may not be chosen."""

import numpy as np
import pytest

from greedyfirst import Agent, FixedArm


def test_always_the_same_arm():
    agent = Agent(FixedArm(arm=2), n_arms=4, n_features=1, seed=1)
    assert (agent.choose_many(np.ones((100, 1))) == 2).all()
    assert agent.probabilities([1.0]).tolist() == [0, 0, 1, 0]


def test_any_other_when_it_is_dropped():
    agent = Agent(FixedArm(arm=2), n_arms=4, n_features=1, seed=1)
    agent.drop_arm(2)
    assert agent.probabilities([1.0]) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert set(agent.choose_many(np.ones((100, 1)))) == {0, 1, 3}


def test_an_arm_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"arm must be one of the arms 0 to 1, got 2"):
        Agent(FixedArm(arm=2), n_arms=2, n_features=1)


def test_rewards_are_learned():
    agent = Agent(FixedArm(arm=1), n_arms=2, n_features=1, seed=1)
    agent.update([2.0], agent.choose([2.0]), 6.0)
    assert agent.expected_rewards([1.0]) == pytest.approx([0.0, 3.0])
