"""Ridge regression with a learned prior, against dense algebra and SciPy's normal density."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from greedyfirst import Agent, Greedy, LinUCB
from greedyfirst.models.learned_prior import DOUBT, GUESS, PENALTIES


def table(n, seed, *, intercept=True, n_arms=3, noise=0.3):
    """Rows, arms and rewards: features of different units, arms as they come."""
    rng = np.random.default_rng(seed)
    units = np.array([1.0, 30.0, 0.02, 5.0])
    rows = rng.normal(size=(n, 4)) * units + 0.5 * units
    if intercept:
        rows[:, 0] = 1.0
    arms = rng.integers(n_arms, size=n)
    truth = rng.normal(size=(n_arms, 4)) / units
    return rows, arms, (rows * truth[arms]).sum(axis=1) + noise * rng.normal(size=n) + 2.0


def learned(rows, arms, rewards, **options):
    """The model after these rows."""
    agent = Agent(Greedy(**options), n_arms=int(arms.max()) + 1, n_features=rows.shape[1], seed=0)
    agent.update_many(rows, arms, rewards)
    return agent.state.model


def at_learning(n):
    """The number of rewards, n or a little more, at which the prior is learned."""
    at = 1
    while at < n:
        at += 1 + int(0.3 * at)
    return at


def varied(rows):
    """The columns that can be told from the constant, and the constant itself."""
    return [j for j in range(rows.shape[1]) if j == 0 or np.ptp(rows[:, j]) > 0.0]


def prior_shape(rows, rule):
    """Q of these rows, written out; they have an intercept, or have no constant at all."""
    squares = np.diag((rows**2).mean(axis=0))
    w = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    if (rows[:, 0] == 1.0).all():
        w = np.eye(rows.shape[1])[0]
    if rule == 1 or not np.allclose(rows @ w, 1.0):
        return squares
    means = rows.mean(axis=0)
    variances = np.diag(rows.var(axis=0))
    spread = w @ variances @ w
    shape = np.outer(means, means) + variances
    if spread > 1e-12:
        shape -= np.outer(variances @ w, variances @ w) / spread
    return shape


@pytest.mark.parametrize("rule", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 700, 5000])
def test_estimates_are_those_of_a_prior_that_is_written_out(n, rule):
    rows, arms, rewards = table(n, seed=n)
    model = learned(rows, arms, rewards, rule=rule)
    known = varied(rows) if rule == 2 else range(4)
    shape = prior_shape(rows[: model.learned_at], rule)[np.ix_(known, known)]
    for arm in range(len(model.pulls)):
        own, y = rows[arms == arm][:, known], rewards[arms == arm]
        reference = model.reference[known]
        precision = own.T @ own + model.penalty * shape
        rise = np.linalg.solve(precision, own.T @ (y - own @ reference))
        expected = np.zeros(4)
        expected[known] = reference + (0.0 if model.noise_variance == 0 else rise)
        np.testing.assert_allclose(model.estimate[arm], expected, rtol=1e-6, atol=1e-9)
        covariance = np.zeros((4, 4))
        covariance[np.ix_(known, known)] = np.linalg.inv(precision)
        np.testing.assert_allclose(model.covariance[arm], covariance, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        model.gram[:, known][:, :, known],
        [
            rows[arms == arm][:, known].T @ rows[arms == arm][:, known]
            for arm in range(arms.max() + 1)
        ],
    )


def test_dummies_and_shifted_features_have_the_prior_that_is_written_out():
    rng = np.random.default_rng(5)
    n = at_learning(300)
    rows = np.column_stack([np.eye(3)[rng.integers(3, size=n)], rng.normal(2000.0, 5.0, size=n)])
    arms, rewards = rng.integers(2, size=n), rng.normal(size=n) + rows[:, 1]
    model = learned(rows, arms, rewards)
    precision = model.penalty * prior_shape(rows[: model.learned_at], 2)
    mean = rewards[: model.learned_at].mean()
    for arm in range(2):
        own, y = rows[arms == arm], rewards[arms == arm]
        expected = mean + rows @ np.linalg.solve(own.T @ own + precision, own.T @ (y - mean))
        np.testing.assert_allclose(rows @ model.estimate[arm], expected, rtol=1e-6, atol=1e-8)


def log_evidence(rows, arms, rewards, reference, prior):
    """By the density of all rewards at once, at the likeliest variance; up to a constant."""
    centred = rewards - rows @ reference
    same = arms[:, None] == arms[None, :]
    shape = np.eye(len(rows)) + same * (rows @ prior @ rows.T)
    variance = centred @ np.linalg.solve(shape, centred) / len(rows)
    density = multivariate_normal(mean=np.zeros(len(rows)), cov=variance * shape)
    return density.logpdf(centred), variance


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [10, 40, 150])
@pytest.mark.parametrize("rule", [1, 2])
def test_the_penalty_is_the_likeliest_around(n, seed, rule):
    n = at_learning(n)
    rows, arms, rewards = table(n, seed, noise=[0.01, 0.3, 3.0][seed % 3])
    rows, arms, rewards = rows[:n], arms[:n], rewards[:n]
    model = learned(rows, arms, rewards, rule=rule)
    d, n = rows.shape[1], model.learned_at
    rows, arms, rewards = rows[:n], arms[:n], rewards[:n]
    prior = np.linalg.inv(prior_shape(rows, rule))
    posterior = []
    for ratio in PENALTIES:
        likelihood, _ = log_evidence(rows, arms, rewards, model.reference, prior / (d * ratio))
        posterior.append(likelihood - 0.5 * (np.log(ratio / GUESS) / DOUBT) ** 2)
    step = model.step
    around = posterior[max(step - 1, 0) : step + 2]
    assert posterior[step] == pytest.approx(max(around), rel=1e-9)
    assert model.penalty == d * PENALTIES[step]
    _, variance = log_evidence(rows, arms, rewards, model.reference, prior / model.penalty)
    assert model.noise_variance == pytest.approx(variance, rel=1e-6)


def test_the_prior_mean_is_the_mean_reward_where_contexts_hold_a_constant():
    n = at_learning(50)
    rows, arms, rewards = table(n, seed=3)
    model = learned(rows, arms, rewards)
    mean = rewards[: model.learned_at].mean()
    np.testing.assert_allclose(rows @ model.reference, mean, rtol=1e-8)
    dummies = np.eye(5)[np.arange(n) % 5]
    model = learned(dummies, arms, rewards)
    # Each category that shows for the first time has the prior learned anew.
    np.testing.assert_allclose(model.reference, rewards[: model.learned_at].mean(), rtol=1e-8)


def test_without_a_constant_the_prior_mean_is_the_best_multiple_of_the_next_best():
    n = at_learning(80)
    rows, arms, rewards = table(n, seed=4, intercept=False)
    model = learned(rows, arms, rewards)
    n = model.learned_at
    rows, rewards = rows[:n], rewards[:n]
    nearest = rows @ np.linalg.lstsq(rows, np.ones(n), rcond=None)[0]
    expected = nearest * (nearest @ rewards) / (nearest @ nearest)
    np.testing.assert_allclose(rows @ model.reference, expected, rtol=1e-6, atol=1e-9)


def test_an_arm_without_rows_is_worth_what_all_arms_suggest():
    agent = Agent(Greedy(), n_arms=3, n_features=2, seed=0)
    for reward in (100.0, 104.0, 99.0, 101.0):
        agent.update([1.0, reward - 100.0], 0, reward)
    expected = agent.expected_rewards([1.0, 0.0])
    assert expected[1] == expected[2] == pytest.approx(101.0)


def test_rewards_that_are_all_alike_tell_no_arms_apart():
    agent = Agent(Greedy(), n_arms=3, n_features=2, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        row = [1.0, rng.normal()]
        np.testing.assert_allclose(agent.probabilities(row), 1 / 3)
        agent.update(row, agent.choose(row), 7.0)
    agent.update([1.0, 0.0], 1, 8.0)
    assert agent.probabilities([1.0, 0.0]).tolist() == [0.0, 1.0, 0.0]


def test_collinear_columns_change_nothing_but_the_prior():
    rows, arms, rewards = table(at_learning(300), seed=6)
    doubled = np.column_stack([rows, rows[:, 1] - 2.0 * rows[:, 3]])
    plain, wide = (learned(each, arms, rewards) for each in (rows, doubled))
    for arm in range(3):
        ours, theirs = rows @ plain.estimate[arm], doubled @ wide.estimate[arm]
        np.testing.assert_allclose(ours, theirs, atol=0.02 * rewards.std())


def test_a_category_that_shows_late_is_learned_in_any_unit():
    rng = np.random.default_rng(8)
    rows = np.column_stack([np.ones(60), rng.normal(size=60), np.zeros(60)])
    rows[45:, 2] = rng.integers(2, size=15)
    arms, rewards = rng.integers(2, size=60), rng.normal(size=60) + 3.0 * rows[:, 2]
    one = learned(rows, arms, rewards)
    other = learned(rows * [1.0, 1.0, 1000.0], arms, rewards)
    np.testing.assert_allclose(one.estimate, other.estimate * [1.0, 1.0, 1000.0], rtol=1e-6)


def test_a_penalty_that_is_given_is_the_plain_ridge():
    rows, arms, rewards = table(200, seed=9)
    model = learned(rows, arms, rewards, regularization=2.5)
    for arm in range(3):
        own, y = rows[arms == arm], rewards[arms == arm]
        ridge = np.linalg.solve(own.T @ own + 2.5 * np.eye(4), own.T @ y)
        np.testing.assert_allclose(model.estimate[arm], ridge, rtol=1e-6, atol=1e-9)
    ours = Agent(Greedy(regularization=1.0), n_arms=3, n_features=4, seed=1)
    linear = Agent(LinUCB(alpha=0, regularization=1.0), n_arms=3, n_features=4, seed=1)
    for row in rows:
        arm = ours.choose(row)
        assert linear.choose(row) == arm
        for agent in (ours, linear):
            agent.update(row, arm, float(row[arm]))
