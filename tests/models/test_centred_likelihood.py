"""The ridge about the features' means: its formula, SciPy and statsmodels; no zero matters."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize

from greedyfirst import GLMUCB, Agent, GLMGreedy, GreedyFirst
from greedyfirst.models.likelihood import PENALTY
from support.glm_reference import FAMILIES, MEANS, draw_rewards, log_likelihood

every_link = pytest.mark.parametrize("link", ["logistic", "probit", "poisson"])


def shape_of(rows, constant):
    """Q of rows, all of whose features vary, but for an intercept; ``constant`` is w."""
    mean, variances = rows.mean(axis=0), rows.var(axis=0)
    if constant is None:
        return np.diag((rows**2).mean(axis=0))
    shape = np.outer(mean, mean) + np.diag(variances)
    along = variances * constant
    if along @ constant > 0:
        shape -= np.outer(along, along) / (along @ constant)
    return shape


def penalised_maximum(link, rows, rewards, shape):
    """SciPy's, in coordinates in which the prior is standard normal."""
    root = np.linalg.cholesky(np.linalg.inv(PENALTY * shape))

    def loss(b):
        return 0.5 * b @ b - log_likelihood(link, rows @ (root @ b), rewards).sum()

    return root @ optimize.minimize(loss, np.zeros(len(root)), options={"gtol": 1e-8}).x


def separated_rows(kind, n=9, seed=0):
    """Contexts, their constant w, and rewards that a direction separates under every link."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal([3.0, -40.0], [1.0, 2.0], size=(n, 2))
    if kind == "intercept":
        return np.c_[np.ones(n), numbers], np.array([1.0, 0, 0]), np.zeros(n)
    if kind == "dummies":
        groups = np.eye(2)[np.arange(n) % 2]
        return np.c_[groups, numbers], np.array([1.0, 1, 0, 0]), np.zeros(n)
    return np.c_[numbers, numbers[:, :1] * rng.normal(size=(n, 1))], None, np.zeros(n)


@every_link
@pytest.mark.parametrize("kind", ["intercept", "dummies", "none"])
def test_until_it_exists_the_estimate_is_the_penalised_maximum(link, kind):
    rows, constant, rewards = separated_rows(kind)
    agent = Agent(GLMGreedy(link=link), n_arms=2, n_features=rows.shape[1], seed=0)
    agent.update_many(rows, np.arange(len(rows)) % 2, rewards)
    model = agent.state.model
    assert not model.exists.any()
    # The prior of an arm that waits is the one that was learned last.
    shape = shape_of(rows[: model.prior.learned_at], constant)
    for arm in range(2):
        own = np.arange(arm, len(rows), 2)
        expected = penalised_maximum(link, rows[own], rewards[own], shape)
        np.testing.assert_allclose(
            rows @ model.estimate[arm], rows @ expected, rtol=1e-4, atol=1e-5
        )


def test_an_arm_without_rows_has_the_prior_s_variance():
    rows, constant, rewards = separated_rows("intercept")
    agent = Agent(GreedyFirst(greedy=GLMGreedy()), n_arms=2, n_features=3, seed=0)
    agent.update_many(rows[:6], np.zeros(6, int), rewards[:6])
    model = agent.state.model
    covariance = np.linalg.inv(PENALTY * shape_of(rows[: model.prior.learned_at], constant))
    there = model.there
    found = there.T @ np.linalg.inv(model.precisions) @ there
    np.testing.assert_allclose(found[1], covariance, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[2], covariance, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[0], model.covariance[0], rtol=1e-6, atol=1e-9)


# --------------------------------------------------------------------------- no zero, no unit


def table(kind, n, seed):
    """Contexts; dummies of groups that show up one after the other."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2))
    if kind == "intercept":
        return np.c_[np.ones(n), numbers]
    if kind == "dummies":
        return np.c_[np.eye(3)[rng.integers(3, size=n)], numbers]
    return np.c_[numbers, numbers[:, 0] * numbers[:, 1]]


def played(policy, contexts, shown, link, seed):
    """Decisions and estimates of an agent that is shown other numbers for these contexts."""
    rng = np.random.default_rng(1000 + seed)
    d = contexts.shape[1]
    predictors = contexts @ rng.normal(scale=0.6 if link == "poisson" else 2.0, size=(d, 3))
    rewards = draw_rewards(rng, link, np.clip(predictors, -4.0, 3.0))
    agent = Agent(policy, n_arms=3, n_features=d, seed=5)
    arms = []
    for row, reward in zip(shown, rewards, strict=True):
        arms.append(agent.choose(row))
        agent.update(row, arms[-1], reward[arms[-1]])
    return np.array(arms), shown @ agent.state.model.estimate.T


CHANGES = {
    "shifted": ([1.0, 1.0], [10.0, 300.0]),
    "years and seconds": ([5.0, 1e5], [2020.0, 1.7e9]),
    "tiny and negative": ([1e-6, -3.0], [0.0, -7.0]),
}


@every_link
@pytest.mark.parametrize("kind", ["intercept", "dummies"])
@pytest.mark.parametrize("seed", range(2))
def test_no_affine_change_of_a_feature_changes_a_decision(link, kind, seed):
    contexts = table(kind, 400, seed)
    policies = GLMGreedy(link=link), GreedyFirst(greedy=GLMGreedy(link=link, memory=64))
    for policy in policies:
        arms, predictors = played(policy, contexts, contexts, link, seed)
        assert len(set(arms[:50])) > 1
        for units, zeros in CHANGES.values():
            shown = contexts.copy()
            shown[:, -2:] = contexts[:, -2:] * units + zeros
            again, found = played(policy, contexts, shown, link, seed)
            np.testing.assert_array_equal(again, arms)
            np.testing.assert_allclose(found, predictors, rtol=1e-6, atol=1e-6)


@every_link
@pytest.mark.parametrize("seed", range(2))
def test_without_a_constant_no_unit_matters(link, seed):
    contexts = table("none", 400, seed)
    for policy in (GLMGreedy(link=link), GreedyFirst(greedy=GLMGreedy(link=link))):
        arms, predictors = played(policy, contexts, contexts, link, seed)
        again, found = played(policy, contexts, contexts * [1e5, 1e-3, 7.0], link, seed)
        np.testing.assert_array_equal(again, arms)
        np.testing.assert_allclose(found, predictors, rtol=1e-6, atol=1e-6)


@every_link
def test_estimates_of_glm_ucb_know_no_zero_and_its_decisions_no_unit(link):
    """Its radius has x_max and b_max in the units of contexts, which change with them."""
    contexts = table("intercept", 400, 0)
    policy = GLMUCB(link=link, x_max=4.0, b_max=0.25, reward_max=0.01, initial_pulls=1)
    arms, _ = played(policy, contexts, contexts, link, 0)
    other = GLMUCB(link=link, x_max=400.0, b_max=0.0025, reward_max=0.01, initial_pulls=1)
    again, _ = played(other, contexts, 100.0 * contexts, link, 0)
    np.testing.assert_array_equal(again, arms)
    shown = contexts * [1.0, 5.0, 1.0] + [0.0, 300.0, 0.0]
    for n in (4, 12, 60):
        rewards = draw_rewards(np.random.default_rng(n), link, 0.5 * contexts[:n, 1])
        found = []
        for rows in (contexts, shown):
            agent = Agent(policy, n_arms=3, n_features=3, seed=5)
            agent.update_many(rows[:n], np.arange(n) % 3, rewards)
            found.append(rows @ agent.state.model.estimate.T)
        np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------- far from 0


@every_link
@pytest.mark.parametrize("memory", ["exact", 64])
def test_seconds_since_1970_cost_no_digits(link, memory):
    rng = np.random.default_rng(3)
    n = 500 if memory == "exact" else 64
    centred = np.c_[np.ones(n), rng.normal(size=(n, 2))]
    rewards = draw_rewards(rng, link, centred @ [0.3, -0.8, 0.5])
    shown = centred * [1.0, 1e5, 1.0] + [0.0, 1.7e9, 0.0]
    agent = Agent(GLMGreedy(link=link, memory=memory), n_arms=1, n_features=3)
    for row, reward in zip(shown, rewards, strict=True):
        agent.update(row, 0, reward)
    assert agent.state.model.exists.all()
    fit = sm.GLM(rewards, centred, FAMILIES[link]).fit(tol=1e-14, maxiter=200)
    z = shown @ agent.state.model.estimate[0]
    np.testing.assert_allclose(z, centred @ fit.params, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        agent.expected_rewards(shown[7]), MEANS[link](centred[7] @ fit.params), rtol=1e-6
    )


def test_a_new_category_stands_for_the_average_of_the_known_ones():
    rng = np.random.default_rng(8)
    known = np.c_[np.eye(2)[rng.integers(2, size=300)], np.zeros(300), rng.normal(size=300)]
    rewards = draw_rewards(rng, "logistic", known @ [1.0, -1.0, 0.0, 1.0])
    found = []
    for zero in (0.0, 1000.0):
        rows = known + np.array([0.0, 0.0, 0.0, zero])
        agent = Agent(GLMGreedy(), n_arms=1, n_features=4)
        agent.update_many(rows, np.zeros(300, int), rewards)
        model = agent.state.model
        mean = rows[: model.prior.learned_at, :2].mean(axis=0)
        agent.probabilities([0.0, 0.0, 1.0, 0.5 + zero])
        found.append(agent.state.scores.value[0])
        average = np.array([*mean, 0.0, 0.5 + zero])
        assert found[-1] == pytest.approx(average @ model.estimate[0], rel=1e-9)
    assert found[0] == pytest.approx(found[1], rel=1e-8)


def test_a_constant_that_varies_after_all():
    """An intercept of 500 rows that is another number then: estimates are those of statsmodels."""
    rng = np.random.default_rng(2)
    rows = np.c_[np.ones(600), rng.normal(50.0, 3.0, size=600)]
    rows[500:, 0] = rng.normal(size=100)
    rewards = draw_rewards(rng, "logistic", rows @ [0.5, 0.02])
    agent = Agent(GLMGreedy(), n_arms=1, n_features=2)
    for row, reward in zip(rows, rewards, strict=True):
        agent.update(row, 0, reward)
    fit = sm.GLM(rewards, rows, FAMILIES["logistic"]).fit(tol=1e-14)
    np.testing.assert_allclose(agent.state.model.estimate[0], fit.params, rtol=1e-7)
