"""Greedy against Algorithm 1 with ``lstsq`` from scratch in every round."""

import numpy as np
import pytest

from greedyfirst import Agent, Greedy
from greedyfirst.testing.trial_runs import play_one_by_one

N_ARMS, D, HORIZON = 3, 3, 200


def estimate(x, y, warmup):
    """Algorithm 1 and the remark after it, for one arm's rows."""
    if np.linalg.matrix_rank(x) == D or warmup == "pinv":
        return np.linalg.lstsq(x, y, rcond=None)[0]
    if warmup == "none" or len(x) == 0:
        return np.zeros(D)
    penalty = (np.linalg.norm(x, 2) / len(x)) ** 2
    return np.linalg.solve(x.T @ x + penalty * np.eye(D), x.T @ y)


@pytest.mark.parametrize("initial_pulls", [0, 2, 4])
@pytest.mark.parametrize("warmup", ["none", "ridge", "pinv"])
def test_the_arm_with_the_highest_estimate_is_chosen(warmup, initial_pulls):
    rng = np.random.default_rng(61)
    contexts = rng.normal(size=(HORIZON, D))
    rewards = contexts @ rng.normal(size=(D, N_ARMS)) + 0.5 * rng.normal(size=(HORIZON, N_ARMS))
    policy = Greedy(warmup=warmup, initial_pulls=initial_pulls)
    agent = Agent(policy, n_arms=N_ARMS, n_features=D, seed=1)
    arms = np.array(play_one_by_one(agent, contexts, rewards))
    for t in range(HORIZON):
        if t < N_ARMS * initial_pulls:
            assert arms[t] == t % N_ARMS
            continue
        scores = np.zeros(N_ARMS)
        for arm in range(N_ARMS):
            mine = arms[:t] == arm
            scores[arm] = contexts[t] @ estimate(contexts[:t][mine], rewards[:t][mine, arm], warmup)
        # Estimates that are exactly 0 tie; any of the tied arms may be taken.
        assert scores[arms[t]] >= scores.max() - 1e-9


def test_ties_are_broken_uniformly():
    agent = Agent(Greedy(), n_arms=4, n_features=2, seed=0)
    assert agent.probabilities([1.0, 2.0]).tolist() == [0.25] * 4
