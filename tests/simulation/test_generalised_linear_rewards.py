"""Policies for generalised linear rewards in ``simulate``."""

import re

import numpy as np
import pytest

from greedyfirst import GLMUCB, GLMGreedy, Greedy, GreedyFirst, simulate
from greedyfirst.problems import (
    GaussianNoise,
    GaussianParameters,
    GeneralizedLinearProblem,
    LinearProblem,
    UniformBall,
)

DISC = UniformBall(n_features=2)
CLICKS = GeneralizedLinearProblem(
    contexts=DISC, arms=GaussianParameters(n_arms=2, mean=[0.0, 0.0], covariance=4.0)
)
POLICIES = {
    "GLM Greedy": GLMGreedy(initial_pulls=2),
    "bounded": GLMGreedy(memory=64),
    "GLM-UCB": GLMUCB(b_max=None, reward_max=0.01),
    "Greedy-First": GreedyFirst(
        greedy=GLMGreedy(initial_pulls=2), t0=20, lambda0=0.5, fallback=GLMUCB(b_max=None)
    ),
}


def test_the_same_numbers_for_any_threads():
    one, two = (
        simulate(
            CLICKS, POLICIES, n_instances=12, horizon=200, seed=5, n_jobs=n_jobs, chunk_size=chunk
        )
        for n_jobs, chunk in ((1, None), (2, 1))
    )
    for name in ("mean", "half_width", "final", "switched_at", "eigenvalue_computations"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.switches["Greedy-First"] > 0
    assert len(np.unique(one.final)) > 24


@pytest.mark.parametrize("policy", [GLMGreedy(), GLMUCB(), POLICIES["Greedy-First"]])
def test_rewards_of_a_linear_problem_are_refused(policy):
    problem = LinearProblem(
        contexts=DISC, arms=[[1.0, 0.0], [0.0, 1.0]], noise=GaussianNoise(sigma=1)
    )
    expected = r"^rewards of problem\.draw\(\)\[\d+, \d+\] must be a number from 0 to 1 "
    with pytest.raises(ValueError, match=expected) as raised:
        simulate(problem, {"any": policy}, n_instances=1, horizon=50, seed=0)
    message = str(raised.value)
    assert "'logistic'" in message
    value = float(re.search(r"got (.*)$", message)[1])
    assert not 0 <= value <= 1


class Counts:
    """A user's own problem, with a half among its counts."""

    n_arms, n_features = 2, 1

    def draw(self, rng, horizon):
        rewards = [[1.0, 0.0], [2.0, 3.0], [0.0, 1.5], [0.5, 0.0]]
        return np.ones((4, 1)), rewards, np.zeros((4, 2))


def test_the_place_and_value_of_a_bad_count_are_told():
    expected = (
        r"^rewards of problem\.draw\(\)\[2, 1\] must be a whole number of at least 0 "
        r"\(link 'poisson'\), got 1\.5$"
    )
    policies = {"any": GLMGreedy(link="poisson")}
    with pytest.raises(ValueError, match=expected):
        simulate(Counts(), policies, n_instances=1, horizon=4, seed=0)


def test_one_policy_of_another_link_is_enough_to_refuse():
    counts = GeneralizedLinearProblem(contexts=DISC, arms=[[3.0, 0.0], [0.0, 3.0]], link="poisson")
    simulate(counts, {"linear": Greedy()}, n_instances=1, horizon=50, seed=0)
    with pytest.raises(ValueError, match=r"a number from 0 to 1 \(link 'logistic'\)"):
        simulate(
            counts, {"linear": Greedy(), "logistic": GLMGreedy()}, n_instances=1, horizon=50, seed=0
        )
