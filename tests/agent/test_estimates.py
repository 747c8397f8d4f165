"""Estimates against numpy's least squares, row by row."""

import numpy as np
import pytest
from test_agent import N_ARMS, draw_rows, make, minimum_norm

from greedyfirst import EpsilonGreedy, Greedy, OLSBandit


def test_minimum_norm_estimates_from_the_first_row_on():
    """Against numpy.linalg.lstsq, with rows that repeat and rows that depend on each other."""
    agent = make(Greedy(warmup="pinv"))
    contexts, arms, rewards = draw_rows(60, seed=5)
    contexts[5:20, 3] = contexts[5:20, 0] - contexts[5:20, 1]
    contexts[7] = contexts[6]
    contexts[9] = 0.0
    for n, (context, arm, reward) in enumerate(zip(contexts, arms, rewards, strict=True), 1):
        agent.update(context, int(arm), reward)
        seen = contexts[:n], arms[:n], rewards[:n]
        for k in range(N_ARMS):
            np.testing.assert_allclose(
                agent.state.model.estimate[k], minimum_norm(*seen, k), rtol=1e-8, atol=1e-9
            )
        probe = contexts[(7 * n) % 60]
        truth = [probe @ minimum_norm(*seen, k) for k in range(N_ARMS)]
        np.testing.assert_allclose(agent.expected_rewards(probe), truth, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("warmup", ["none", "ridge", "pinv"])
@pytest.mark.parametrize("policy", [Greedy, OLSBandit, EpsilonGreedy])
def test_least_squares_once_the_rank_is_full(policy, warmup):
    agent = make(policy(warmup=warmup))
    rows = draw_rows(50, seed=6)
    agent.update_many(*rows)
    probe = np.array([1.0, -2.0, 0.5, 3.0])
    truth = [probe @ minimum_norm(*rows, k) for k in range(N_ARMS)]
    np.testing.assert_allclose(agent.expected_rewards(probe), truth, rtol=1e-9)


def test_estimates_stay_zero_while_singular_without_a_warmup():
    agent = make(Greedy(warmup="none"))
    contexts, _, rewards = draw_rows(4, seed=7)
    for n in range(3):
        agent.update(contexts[n], 0, rewards[n])
        np.testing.assert_array_equal(agent.expected_rewards(contexts[n]), 0.0)
    agent.update(contexts[3], 0, rewards[3])
    truth = contexts[0] @ np.linalg.solve(contexts, rewards)
    assert agent.expected_rewards(contexts[0])[0] == pytest.approx(truth, rel=1e-8)


def test_ridge_warmup_is_the_practice_of_the_figures():
    """(X'X + p²I)⁻¹X'y, p = ‖X‖₂/n, as EXPERIMENTS says."""
    agent = make(Greedy(warmup="ridge"))
    contexts, _, rewards = draw_rows(3, seed=8)
    for n in range(1, 4):
        agent.update(contexts[n - 1], 1, rewards[n - 1])
        X, y = contexts[:n], rewards[:n]
        p = np.linalg.norm(X, 2) / n
        beta = np.linalg.solve(X.T @ X + p**2 * np.eye(4), X.T @ y)
        np.testing.assert_allclose(agent.state.model.estimate[1], beta, rtol=1e-8)
