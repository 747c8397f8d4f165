"""The oracle: true parameters in a simulation, least squares on a table."""

import numpy as np
import pytest

from greedyfirst import Agent, Oracle, simulate
from greedyfirst.problems import (
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    TableProblem,
    UniformBall,
)


def test_it_never_regrets_when_it_knows_the_truth():
    problem = LinearProblem(
        contexts=UniformBall(n_features=3, radius=1.0),
        arms=GaussianParameters(n_arms=4, mean=[0.0] * 3),
        noise=GaussianNoise(sigma=1.0),
    )
    result = simulate(problem, {"Oracle": Oracle()}, n_instances=5, horizon=200, seed=1)
    assert (result.final == 0).all()
    assert result.pulls.sum(axis=2) == pytest.approx(200)


def test_on_a_table_it_is_the_classifier_by_least_squares():
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(300, 4))
    contexts = np.column_stack([contexts, contexts[:, 0] + contexts[:, 1]])  # collinear
    labels = rng.integers(3, size=300)
    rewards = np.eye(3)[labels]
    problem = TableProblem(contexts=contexts, rewards=rewards, shuffle=True)
    expected = np.linalg.lstsq(contexts, rewards, rcond=None)[0]
    found = problem.draw_parameters(rng)
    np.testing.assert_allclose(contexts @ found.T, contexts @ expected, atol=1e-9)
    result = simulate(problem, {"Oracle": Oracle()}, n_instances=3, horizon=300, seed=0)
    wrong = np.count_nonzero((contexts @ expected).argmax(axis=1) != labels)
    assert (result.final == wrong).all()


def test_outside_a_simulation_it_must_be_told():
    with pytest.raises(ValueError, match=r"^parameters must be an array: only a simulation"):
        Agent(Oracle(), n_arms=2, n_features=2)
    with pytest.raises(ValueError, match=r"^parameters must be"):
        Agent(Oracle(parameters=[[1.0, 2.0]]), n_arms=2, n_features=2)
