"""Maximum likelihood by passes over a log, against statsmodels and row by row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

from greedyfirst import GLMUCB, Agent, GLMGreedy, GreedyFirst
from greedyfirst.models.likelihood import PENALTY
from greedyfirst.tables import log_rows

N_ARMS, N_FEATURES = 3, 3
FAMILIES = {
    "logistic": sm.families.Binomial(),
    "probit": sm.families.Binomial(sm.families.links.Probit()),
    "poisson": sm.families.Poisson(),
    "identity": sm.families.Gaussian(),
}


def make_rows(link, n, seed=0):
    rng = np.random.default_rng(seed)
    x = np.c_[np.ones(n), rng.normal(size=(n, N_FEATURES - 1))]
    arms = rng.integers(0, N_ARMS, n)
    z = (x * rng.normal(scale=0.5, size=(N_ARMS, N_FEATURES))[arms]).sum(axis=1)
    if link == "poisson":
        return x, arms, rng.poisson(np.exp(z)).astype(float)
    if link == "identity":
        return x, arms, z + rng.normal(size=n)
    return x, arms, (z + rng.logistic(size=n) > 0).astype(float)


def write(path, x, arms, rewards, group=300):
    columns = {f"x{i}": x[:, i] for i in range(N_FEATURES)}
    pq.write_table(
        pa.table({**columns, "arm": arms, "reward": rewards}), path, row_group_size=group
    )
    return path


def new_agent(**options):
    return Agent(GLMGreedy(memory=64, **options), n_arms=N_ARMS, n_features=N_FEATURES, seed=1)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(log_rows, "BLOCK_ROWS", 128)


@pytest.mark.parametrize("link", FAMILIES)
def test_estimates_are_those_of_statsmodels(link, tmp_path):
    x, arms, rewards = make_rows(link, 2000)
    agent = new_agent(link=link)
    assert agent.learn_from(write(tmp_path / "log.parquet", x, arms, rewards), n_jobs=2) == 2000
    for arm in range(N_ARMS):
        own = arms == arm
        fitted = sm.GLM(rewards[own], x[own], FAMILIES[link]).fit(tol=1e-14, maxiter=100)
        np.testing.assert_allclose(agent._model("").estimate[arm], fitted.params, rtol=1e-8)
    np.testing.assert_array_equal(agent.pulls, np.bincount(arms))


def test_estimates_are_those_of_one_row_after_the_other(tmp_path):
    x, arms, rewards = make_rows("logistic", 1500)
    exact = Agent(GLMGreedy(), n_arms=N_ARMS, n_features=N_FEATURES, seed=1)
    exact.update_many(x, arms, rewards)
    found = new_agent()
    first = 40  # rows that come before the log, kept in the window
    found.update_many(x[:first], arms[:first], rewards[:first])
    found.learn_from(write(tmp_path / "log.parquet", x[first:], arms[first:], rewards[first:]))
    size = abs(exact._model("").estimate).max()
    np.testing.assert_allclose(
        found._model("").estimate, exact._model("").estimate, atol=1e-9 * size, rtol=0
    )
    for name in ("pulls", "gram"):
        got, expected = (getattr(each._model(""), name) for each in (found, exact))
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert found._model("").exists.all()
    rows = np.random.default_rng(5).normal(size=(100, N_FEATURES))
    np.testing.assert_array_equal(found.choose_many(rows), exact.choose_many(rows))
    np.testing.assert_allclose(
        found.standard_errors(rows[0]), exact.standard_errors(rows[0]), rtol=1e-6
    )


def test_it_goes_on_learning_from_the_expansion(tmp_path):
    """A hundred rows more move the estimates nearly as they move those of all rows."""
    x, arms, rewards = make_rows("logistic", 6000)
    exact = Agent(GLMGreedy(), n_arms=N_ARMS, n_features=N_FEATURES, seed=1)
    exact.update_many(x, arms, rewards)
    found = new_agent()
    found.learn_from(write(tmp_path / "log.parquet", x[:-100], arms[:-100], rewards[:-100]))
    before = found._model("").estimate.copy()
    found.update_many(x[-100:], arms[-100:], rewards[-100:])
    moved = abs(exact._model("").estimate - before).max()
    assert abs(found._model("").estimate - exact._model("").estimate).max() < 0.05 * moved


@pytest.mark.parametrize("warmup", ["ridge", "none"])
def test_an_arm_that_a_direction_separates_has_no_estimate(warmup, tmp_path):
    x, arms, rewards = make_rows("logistic", 900)
    rewards[arms == 1] = x[arms == 1, 1] > 0
    agent = new_agent(warmup=warmup)
    agent.learn_from(write(tmp_path / "log.parquet", x, arms, rewards))
    model = agent._model("")
    np.testing.assert_array_equal(model.exists, [True, False, True])
    if warmup == "none":
        np.testing.assert_array_equal(model.estimate[1], 0.0)
        return
    # The ridge's estimate: the gradient of ℓ is the penalty's.
    own = arms == 1
    z = x[own] @ model.estimate[1]
    gradient = x[own].T @ (rewards[own] - 1 / (1 + np.exp(-z)))
    penalty = PENALTY * (x[own] ** 2).mean(axis=0) * model.estimate[1]
    np.testing.assert_allclose(gradient, penalty, rtol=1e-6, atol=1e-9)


def test_an_arm_without_rows_stays_as_it_is(tmp_path):
    x, arms, rewards = make_rows("logistic", 600)
    some = arms < 2
    agent = new_agent()
    agent.learn_from(write(tmp_path / "log.parquet", x[some], arms[some], rewards[some]))
    model = agent._model("")
    np.testing.assert_array_equal(model.exists, [True, True, False])
    np.testing.assert_array_equal(model.estimate[2], 0.0)


def test_the_same_bits_on_any_number_of_threads(tmp_path):
    path = write(tmp_path / "log.parquet", *make_rows("poisson", 3000), group=100)
    buffers = []
    for n_jobs in (1, 2, 4):
        agent = new_agent(link="poisson")
        agent.learn_from(path, n_jobs=n_jobs)
        buffers.append(agent.buffer)
    np.testing.assert_array_equal(buffers[0], buffers[1])
    np.testing.assert_array_equal(buffers[0], buffers[2])


def test_what_is_refused(tmp_path):
    x, arms, rewards = make_rows("logistic", 200)
    path = write(tmp_path / "log.parquet", x, arms, rewards)
    exact = Agent(GLMGreedy(), n_arms=N_ARMS, n_features=N_FEATURES)
    with pytest.raises(ValueError, match=r"memory must be a number of rows .* got 'exact'"):
        exact.learn_from(path)
    for policy in (GLMUCB(memory=64), GreedyFirst(greedy=GLMGreedy(memory=64))):
        agent = Agent(policy, n_arms=N_ARMS, n_features=N_FEATURES)
        with pytest.raises(ValueError, match="policy must be one for linear rewards, or GLMGreedy"):
            agent.learn_from(path)
    rewards[150] = 2.0
    write(path, x, arms, rewards, group=100)
    agent = new_agent()
    before = agent.buffer.copy()
    with pytest.raises(ValueError, match=r"row group 1: reward\[50\] must be .*, got 2.0"):
        agent.learn_from(path)
    np.testing.assert_array_equal(agent.buffer, before)
