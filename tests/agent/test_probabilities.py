"""Exact choice probabilities: closed forms, and how often arms are chosen."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    FixedArm,
    Greedy,
    GreedyFirst,
    OLSBandit,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    Uniform,
)


def posterior(X, y, variance):
    """Mean and covariance from a N(0, I) prior and noise of this variance."""
    covariance = np.linalg.inv(np.eye(X.shape[1]) + X.T @ X / variance)
    return covariance @ X.T @ y / variance, covariance


@pytest.mark.parametrize("n", [1, 10, 3000])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 40.0])
def test_two_arm_thompson_sampling(n, scale):
    """P(arm 0) = Φ((m₀ - m₁)/√(s₀² + s₁²)), also where one arm is known far better."""
    rng = np.random.default_rng(n)
    agent = Agent(ThompsonSampling(sigma=0.7), n_arms=2, n_features=3, seed=0)
    X, y = rng.normal(size=(n + 2, 3)), rng.normal(size=n + 2)
    arms = np.repeat([0, 1], [n, 2])
    agent.update_many(X, arms, y)
    x = scale * rng.normal(size=3)
    means, variances = [], []
    for arm in range(2):
        mean, covariance = posterior(X[arms == arm], y[arms == arm], 0.49)
        means.append(x @ mean)
        variances.append(x @ covariance @ x)
    truth = norm.cdf((means[0] - means[1]) / math.sqrt(sum(variances)))
    np.testing.assert_allclose(agent.probabilities(x), [truth, 1 - truth], atol=1e-9)


def test_two_arm_prior_free_thompson_sampling():
    """Spread v·√(x'B⁻¹x), v = 0.2·σ·√(9·K·d·log(t/δ)), t - 1 rewards so far."""
    rng = np.random.default_rng(1)
    agent = Agent(PriorFreeThompsonSampling(sigma=0.5), n_arms=2, n_features=3, seed=0)
    X, y, arms = rng.normal(size=(20, 3)), rng.normal(size=20), rng.integers(2, size=20)
    agent.update_many(X, arms, y)
    x = rng.normal(size=3)
    v = 0.2 * 0.5 * math.sqrt(9 * 2 * 3 * math.log(21 / 0.99))
    fits = [posterior(X[arms == arm], y[arms == arm], 1.0) for arm in range(2)]
    spread = v * math.sqrt(sum(x @ covariance @ x for _, covariance in fits))
    truth = norm.cdf(x @ (fits[0][0] - fits[1][0]) / spread)
    np.testing.assert_allclose(agent.probabilities(x), [truth, 1 - truth], atol=1e-9)


def test_three_arm_thompson_sampling():
    """Means 0 and variances v: P(arm 0) = 1/4 + asin(ρ)/2π, ρ = v₀/√((v₀+v₁)(v₀+v₂))."""
    agent = Agent(ThompsonSampling(sigma=1.0), n_arms=3, n_features=1, seed=0)
    agent.update_many(np.ones((4, 1)), [1, 1, 1, 2], np.zeros(4))
    v = np.array([1.0, 1 / 4, 1 / 2])
    truth = []
    for arm in range(3):
        a, b = (other for other in range(3) if other != arm)
        rho = v[arm] / math.sqrt((v[arm] + v[a]) * (v[arm] + v[b]))
        truth.append(0.25 + math.asin(rho) / (2 * math.pi))
    np.testing.assert_allclose(agent.probabilities([1.0]), truth, atol=1e-9)
    np.testing.assert_allclose(agent.probabilities([0.0]), 1 / 3)


def test_an_arm_that_is_hopeless():
    agent = Agent(ThompsonSampling(sigma=0.01), n_arms=2, n_features=1, seed=0)
    agent.update_many(np.ones((200, 1)), [0, 1] * 100, [5.0, -5.0] * 100)
    np.testing.assert_allclose(agent.probabilities([1.0]), [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("policy", [Greedy(), OFUL(), Greedy(warmup="ridge")])
def test_ties_are_shared(policy):
    agent = Agent(policy, n_arms=4, n_features=2, seed=0)
    np.testing.assert_allclose(agent.probabilities([1.0, 2.0]), 0.25)


def test_ties_of_some_arms():
    agent = Agent(Greedy(warmup="pinv"), n_arms=3, n_features=1, seed=0)
    agent.update_many([[1.0], [1.0], [1.0]], [0, 1, 2], [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(agent.probabilities([1.0]), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(agent.probabilities([-1.0]), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(agent.probabilities([0.0]), 1 / 3)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy(epsilon):
    agent = Agent(EpsilonGreedy(epsilon=epsilon, warmup="pinv"), n_arms=4, n_features=1, seed=0)
    agent.update_many([[1.0], [1.0], [1.0]], [0, 1, 2], [2.0, 1.0, 2.0])
    share = epsilon / 4
    truth = [(1 - epsilon) / 2 + share, share, (1 - epsilon) / 2 + share, share]
    np.testing.assert_allclose(agent.probabilities([1.0]), truth)
    agent.drop_arm(3)
    share = epsilon / 3
    truth = [(1 - epsilon) / 2 + share, share, (1 - epsilon) / 2 + share, 0.0]
    np.testing.assert_allclose(agent.probabilities([1.0]), truth)


@pytest.mark.parametrize(
    "policy",
    [Greedy(initial_pulls=2), EpsilonGreedy(epsilon=0.5, initial_pulls=2), OLSBandit(q=2)],
    ids=lambda policy: type(policy).__name__,
)
def test_pulls_that_are_due_are_certain(policy):
    agent = Agent(policy, n_arms=2, n_features=1, seed=0)
    for _ in range(4):
        due = agent.probabilities([1.0])
        assert sorted(due) == [0.0, 1.0]
        assert due[agent.choose([1.0])] == 1.0


def test_a_due_arm_that_was_dropped():
    agent = Agent(Greedy(initial_pulls=5), n_arms=3, n_features=1, seed=0)
    agent.drop_arm(0)
    np.testing.assert_array_equal(agent.probabilities([1.0]), [0.0, 0.5, 0.5])


def test_policies_that_do_not_learn():
    uniform = Agent(Uniform(), n_arms=3, n_features=1, seed=0)
    np.testing.assert_allclose(uniform.probabilities([1.0]), 1 / 3)
    fixed = Agent(FixedArm(arm=1), n_arms=3, n_features=1, seed=0)
    np.testing.assert_array_equal(fixed.probabilities([1.0]), [0.0, 1.0, 0.0])
    fixed.drop_arm(1)
    np.testing.assert_array_equal(fixed.probabilities([1.0]), [0.5, 0.0, 0.5])


def test_thompson_sampling_after_a_drop():
    """Of three arms with N(0, 1) each, two are left: one half."""
    agent = Agent(ThompsonSampling(), n_arms=3, n_features=1, seed=0)
    agent.drop_arm(1)
    np.testing.assert_allclose(agent.probabilities([1.0]), [0.5, 0.0, 0.5], atol=1e-9)


def test_greedy_first_takes_its_fallbacks_probabilities_after_a_switch():
    agent = Agent(
        GreedyFirst(warmup="pinv", fallback=EpsilonGreedy(epsilon=0.4, warmup="pinv")),
        n_arms=2,
        n_features=1,
        seed=0,
    )
    agent.update_many([[1.0], [1.0]], [0, 1], [1.0, 2.0])
    np.testing.assert_array_equal(agent.probabilities([1.0]), [0.0, 1.0])
    agent.explore()
    np.testing.assert_allclose(agent.probabilities([1.0]), [0.2, 0.8])
    agent.keep_greedy(0)
    np.testing.assert_array_equal(agent.probabilities([1.0]), [0.0, 1.0])


@pytest.mark.parametrize(
    "policy",
    [
        ThompsonSampling(sigma=1.0),
        PriorFreeThompsonSampling(sigma=0.2),
        EpsilonGreedy(epsilon=0.6, warmup="pinv"),
        Uniform(),
        GreedyFirst(fallback=ThompsonSampling(sigma=1.0)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_arms_are_chosen_with_these_probabilities(policy):
    """False alarms: 1e-5 per policy (χ² with 2 degrees of freedom); seed fixed."""
    n = 20_000
    agent = Agent(policy, n_arms=3, n_features=2, seed=11)
    rng = np.random.default_rng(2)
    agent.update_many(rng.normal(size=(9, 2)), [0, 1, 2] * 3, rng.normal(size=9))
    if isinstance(policy, GreedyFirst):
        agent.explore()
    x = np.array([1.0, -0.5])
    probabilities = agent.probabilities(x)
    counts = np.bincount(agent.choose_many(np.tile(x, (n, 1))), minlength=3)
    assert (probabilities > 0.005).all()
    statistic = ((counts - n * probabilities) ** 2 / (n * probabilities)).sum()
    assert statistic < -2 * math.log(1e-5)


def test_asking_changes_no_decision():
    asked, silent = (Agent(ThompsonSampling(), n_arms=3, n_features=2, seed=5) for _ in range(2))
    for x in np.random.default_rng(3).normal(size=(30, 2)):
        asked.probabilities(x[::-1])
        arm = asked.choose(x)
        assert silent.choose(x) == arm
        asked.update(x, arm, x[0])
        silent.update(x, arm, x[0])
    assert asked.decisions == 30


@pytest.mark.parametrize(
    "policy",
    [
        Greedy(),
        Greedy(initial_pulls=2),
        GreedyFirst(),
        EpsilonGreedy(),
        OLSBandit(h=1, q=1),
        ThompsonSampling(),
        Uniform(),
        FixedArm(arm=1),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_the_propensity_is_the_probability_of_the_arm_taken(policy):
    rng = np.random.default_rng(3)
    agent = Agent(policy, n_arms=3, n_features=2, seed=5)
    for _ in range(30):
        x = rng.normal(size=2)
        expected = agent.probabilities(x)
        arm = agent.choose(x)
        assert agent.propensity == pytest.approx(expected[arm], abs=1e-12)
        agent.update(x, arm, rng.normal())


def test_the_propensity_among_some_arms():
    agent = Agent(Uniform(), n_arms=4, n_features=1, seed=1)
    agent.choose([1.0], eligible=[0, 2])
    assert agent.propensity == 0.5
    agent.choose([1.0])
    assert agent.propensity == 0.25


def test_there_is_no_propensity_before_the_first_decision():
    with pytest.raises(ValueError, match="there was none"):
        _ = Agent(Greedy(), n_arms=2, n_features=1).propensity
