"""One reward for one decision, in whatever order they come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greedyfirst import Agent, Greedy, OLSBandit
from greedyfirst.agent.rewarded_steps import RewardedSteps
from greedyfirst.files import data_file


@given(st.integers(0, 20), st.lists(st.integers(1, 60)))
def test_it_is_a_set_of_steps(first, added):
    steps, known = RewardedSteps(first), set(range(1, first + 1))
    for step in added:
        steps.add(step)
        known.add(step)
    steps = RewardedSteps.restored(*steps.stored())
    assert [step for step in range(1, 80) if step in steps] == sorted(known)
    assert list(steps.open_until(70)) == sorted(set(range(1, 71)) - known)


def test_its_room_is_a_bit_per_decision_that_waits_or_came_later():
    steps = RewardedSteps(0)
    for step in range(2, 80_001):
        steps.add(step)
    assert len(steps.stored()[1]) == 10_000
    steps.add(1)
    assert len(steps.stored()[1]) == 0
    assert steps.first == 80_000


def decided(n=6, policy=None):
    agent = Agent(policy or Greedy(), n_arms=2, n_features=2, seed=0)
    agent.choose_many(np.ones((n, 2)))
    return agent


def refuses(agent, step):
    before = agent.buffer.copy()
    counts = (agent.decisions, agent.joined, agent.foreign)
    with pytest.raises(ValueError, match=r"^step must be a decision without a reward"):
        agent.update([1.0, 2.0], 0, 1.0, step=step)
    np.testing.assert_array_equal(agent.buffer, before)
    assert counts == (agent.decisions, agent.joined, agent.foreign)


def test_a_second_reward_is_refused():
    agent = decided()
    agent.update([1.0, 2.0], 0, 1.0)
    refuses(agent, 1)
    for step in (4, 2, 6):
        agent.update([1.0, 2.0], 0, 1.0, step=step)
        refuses(agent, step)
    refuses(agent, 1)
    agent.update([1.0, 2.0], 0, 1.0, step=0)
    agent.update([1.0, 2.0], 0, 1.0, step=0)
    assert (agent.joined, agent.foreign) == (4, 2)


def test_rewards_without_a_step_go_to_the_oldest_decision_that_waits():
    """K = 2, q = 1 forces steps 1 to 4: their rewards alone are forced samples."""
    agent = decided(policy=OLSBandit(q=1))
    agent.update([1.0, 0.0], 1, 1.0, step=2)
    agent.update([1.0, 0.0], 0, 1.0)
    refuses(agent, 1)
    agent.update_many(np.ones((5, 2)), [0, 1, 0, 0, 0], np.ones(5))
    assert (agent.joined, agent.foreign) == (6, 1)
    np.testing.assert_array_equal(agent.state.forced.pulls, [2, 2])
    for step in range(1, 7):
        refuses(agent, step)


@pytest.mark.parametrize("in_order", [True, False])
def test_files_and_copies_know_it_too(in_order, tmp_path):
    agent = decided()
    for step in (1, 2) if in_order else (2, 5):
        agent.update([1.0, 2.0], 0, 1.0, step=step)
    agent.save(tmp_path / "agent")
    for other in (Agent.load(tmp_path / "agent"), Agent.from_bytes(agent.to_bytes())):
        refuses(other, 2)
        other.update([1.0, 2.0], 0, 1.0, step=4)
        other.update([1.0, 2.0], 0, 1.0)
        refuses(other, 3 if in_order else 1)


def test_a_file_that_does_not_tell_refuses_only_what_came_since(tmp_path):
    """Release 0.1.0 kept how many decisions had a reward, not which."""
    agent = decided()
    agent.update([1.0, 2.0], 0, 1.0, step=5)
    header = agent._header()
    del header["rewarded"]
    data_file.write(tmp_path / "agent", "agent", header, {"buffer": agent.buffer})
    old = Agent.load(tmp_path / "agent")
    old.update([1.0, 2.0], 0, 1.0, step=1)
    old.update([1.0, 2.0], 0, 1.0, step=3)
    refuses(old, 3)
    old.update([1.0, 2.0], 0, 1.0)
    refuses(old, 2)
    old.choose([1.0, 2.0])
    old.update([1.0, 2.0], 0, 1.0, step=7)
    refuses(old, 7)
