"""LinUCB against the formula, computed afresh by NumPy for every decision."""

import numpy as np
import pytest

from greedyfirst import Agent, LinUCB

N_ARMS, D, ROUNDS = 3, 4, 120


def textbook_arm(rows, context, alpha, regularization):
    """The arm with the highest bound, by a fresh inverse of each arm's matrix."""
    bounds = []
    for arm in range(N_ARMS):
        x = np.array([row for row, taken, _ in rows if taken == arm]).reshape(-1, D)
        y = np.array([reward for _, taken, reward in rows if taken == arm])
        inverse = np.linalg.inv(regularization * np.eye(D) + x.T @ x)
        width = np.sqrt(context @ inverse @ context)
        bounds.append(context @ inverse @ x.T @ y + alpha * width)
    return int(np.argmax(bounds)), np.array(bounds)


@pytest.mark.parametrize(("alpha", "regularization"), [(1.0, 1.0), (0.2, 5.0), (0.0, 0.3)])
def test_arms_are_those_of_the_formula(alpha, regularization):
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(N_ARMS, D))
    policy = LinUCB(alpha=alpha, regularization=regularization)
    agent = Agent(policy, n_arms=N_ARMS, n_features=D, seed=1)
    rows = []
    for step in range(ROUNDS):
        context = rng.normal(size=D)
        expected, bounds = textbook_arm(rows, context, alpha, regularization)
        arm = agent.choose(context)
        if len(set(bounds)) == N_ARMS:  # no tie, which the seed would break
            assert arm == expected, step
        np.testing.assert_allclose(agent.state.scores.value, bounds, rtol=1e-9, atol=1e-12)
        reward = float(truth[arm] @ context + rng.normal())
        agent.update(context, arm, reward)
        rows.append((context, arm, reward))


def test_estimates_are_the_ridge_solution():
    rng = np.random.default_rng(5)
    contexts, rewards = rng.normal(size=(50, D)), rng.normal(size=50)
    agent = Agent(LinUCB(regularization=2.0), n_arms=2, n_features=D, seed=1)
    agent.update_many(contexts, np.zeros(50, int), rewards)
    solution = np.linalg.solve(2.0 * np.eye(D) + contexts.T @ contexts, contexts.T @ rewards)
    np.testing.assert_allclose(agent.state.model.estimate[0], solution, rtol=1e-10)
    np.testing.assert_array_equal(agent.state.model.estimate[1], np.zeros(D))
