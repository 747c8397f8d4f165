"""Rule 1 of exploring arms one by one, which agents and logs of older releases keep."""

import numpy as np
import pytest
from scipy.linalg import eigh

from greedyfirst import Agent, GreedyFirst
from greedyfirst.policies.greedy_first.first_rule import GROWTH, SHARE


def played(agent, n, *, n_arms=3, seed=0, shift=0.0, scale=1.0, units=1.0, worst=-4.0):
    """Decisions of an agent on rows with an intercept; the last arm pays ``worst`` everywhere."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_arms, 4))
    truth[-1] = [worst, 0.0, 0.0, 0.0]
    arms = []
    for _ in range(n):
        row = np.array([1.0, *rng.normal(size=3)])
        noise = 0.3 * rng.normal()
        arm = agent.choose(row * units)
        agent.update(row * units, arm, scale * (float(truth[arm] @ row) + noise) + shift)
        arms.append(arm)
    return arms


def least_shares(agent):
    """The smallest share of all samples in any direction, by a generalised eigenvalue problem."""
    grams = agent.state.model.gram
    total = grams.sum(axis=0)
    return np.array([eigh(gram, total, eigvals_only=True)[0] for gram in grams])


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_starves_when_it_lacks_its_share_in_some_direction(seed):
    agent = Agent(GreedyFirst(rule=1), n_arms=3, n_features=4, seed=seed)
    played(agent, 20, seed=seed)
    looks = 0
    for k in range(400):
        played(agent, 1, seed=1000 * seed + k)
        watch = agent.state.watch
        if watch.look_at == watch.clock + 1 + int(GROWTH * watch.clock):
            looks += 1
            assert (watch.starving == (least_shares(agent) < SHARE / 3)).all()
    assert looks >= 8
    report = agent.diversity()
    np.testing.assert_allclose(
        [arm.min_eigenvalue for arm in report.arms], least_shares(agent), rtol=1e-6
    )
    assert all(arm.threshold == SHARE / 3 for arm in report.arms)


def raised(agent, row):
    """How much each arm's score is above what is expected of it."""
    agent.probabilities(row)
    above = agent.state.scores.value - agent.expected_rewards(row)
    return np.where(abs(above) < 1e-12, 0.0, above)


def test_a_starving_arm_gets_the_benefit_of_the_doubt_and_a_fed_arm_does_not():
    agent = Agent(GreedyFirst(rule=1), n_arms=2, n_features=4, seed=2)
    played(agent, 300, n_arms=2, worst=-1.0)
    model, watch = agent.state.model, agent.state.watch
    watch.starving[:] = [False, True]
    row = np.array([1.0, 0.3, -0.2, 0.1])
    deviation = np.sqrt(model.noise_variance * row @ model.covariance[1] @ row)
    np.testing.assert_allclose(raised(agent, row), [0.0, watch.width * deviation], rtol=1e-12)
    assert watch.width == 1.0  # 0.25·log₂(1 + 300/8) is above it
    watch.starving[:] = False
    assert raised(agent, row).tolist() == [0.0, 0.0]


def test_collinear_contexts_starve_no_arm_for_that():
    agent = Agent(GreedyFirst(rule=1), n_arms=2, n_features=5, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(400):
        x = rng.normal(size=2)
        row = np.array([1.0, *x, x[0] - x[1], 3.0 * x[1]])
        arm = agent.choose(row)
        agent.update(row, arm, float(x[arm]) + 0.1 * rng.normal())
    assert not agent.state.watch.starving.any()
    assert agent.state.watch.rank == 3
