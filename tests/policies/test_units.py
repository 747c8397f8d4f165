"""No unit and no zero of features or rewards changes a decision of what learns its units."""

from functools import cache

import numpy as np
import pytest
from sklearn import datasets

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    ThompsonSampling,
)

POLICIES = [
    Greedy(),
    GreedyFirst(),
    EpsilonGreedy(),
    OLSBandit(h="auto"),
    OFUL(regularization="auto"),
    LinUCB(regularization="auto"),
    LinUCB(alpha=1.0, regularization="auto"),
    ThompsonSampling(prior_covariance="auto"),
]
#: Rows of each table and problem.
ROWS = 250


def with_intercept(features):
    return np.column_stack([np.ones(len(features)), features])


def table(name):
    """Rows of a table and which class is right: in the units that it has."""
    data = getattr(datasets, f"load_{name}")()
    order = np.random.default_rng(1).permutation(len(data.target))[:ROWS]
    return with_intercept(data.data[order][:, :8]), np.eye(data.target.max() + 1)[
        data.target[order]
    ]


def categories():
    """Dummies of two columns, all levels of each, beside a year: no intercept."""
    rng = np.random.default_rng(2)
    dummies = [np.eye(n)[rng.integers(n, size=ROWS)] for n in (3, 4)]
    rows = np.column_stack([*dummies, rng.normal(2015.0, 6.0, size=ROWS)])
    scores = rows[:, :7] @ rng.normal(size=(7, 3)) + np.outer(rows[:, 7] - 2015, [0.1, 0, -0.1])
    return rows, np.eye(3)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]


def collinear():
    """An intercept, two features, their sum, one of them twice, and a column that never changes."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, 2))
    rows = np.column_stack([np.ones(ROWS), x, x.sum(axis=1), x[:, 0], np.full(ROWS, 7.0)])
    return rows, np.eye(3)[(x @ rng.normal(size=(2, 3))).argmax(axis=1)]


def linear(d, n_arms, intercept):
    """Normal features and effects, noise of half a unit."""
    rng = np.random.default_rng(10 * d + n_arms)
    x = rng.normal(size=(ROWS, d))
    rows = with_intercept(x) if intercept else x
    rewards = rows @ rng.normal(size=(rows.shape[1], n_arms)) + 0.5 * rng.normal(
        size=(ROWS, n_arms)
    )
    return rows, rewards


SOURCES = {
    "iris": lambda: table("iris"),
    "wine": lambda: table("wine"),
    "breast_cancer": lambda: table("breast_cancer"),
    "categories": categories,
    "collinear": collinear,
    "linear": lambda: linear(3, 3, True),
    "without an intercept": lambda: linear(4, 2, False),
    "without features": lambda: linear(0, 4, True),
}


def has_constant(rows):
    """Whether a linear function of the rows is 1."""
    w = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    return np.allclose(rows @ w, 1.0)


def changed(rows, rng):
    """Features in other units, with another zero where a constant is in their span."""
    other = rows * 10.0 ** rng.uniform(-3, 3, rows.shape[1])
    other[:, (rows == 1.0).all(axis=0)] = 1.0
    if has_constant(rows):
        varied = [j for j in range(rows.shape[1]) if not np.isin(rows[:, j], (0.0, 1.0)).all()]
        spread = rows[:, varied].std(axis=0) * other[:, varied].std(axis=0)
        shift = np.where(spread > 0.0, other[:, varied].std(axis=0), 1.0)
        other[:, varied] += (
            shift * rng.choice([-1, 1], len(varied)) * rng.uniform(1, 300, len(varied))
        )
    return other


def decisions(policy, rows, rewards, *, scale=1.0, shift=0.0):
    """The arms that an agent takes."""
    agent = Agent(policy, n_arms=rewards.shape[1], n_features=rows.shape[1], seed=5)
    arms = []
    for row, paid in zip(rows, scale * rewards + shift, strict=True):
        arm = agent.choose(row)
        agent.update(row, arm, float(paid[arm]))
        arms.append(arm)
    return arms


@cache
def plain(policy, source):
    """The decisions in the units that the source has."""
    return decisions(policy, *SOURCES[source]())


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_features_in_other_units_with_another_zero(policy, source):
    rows, rewards = SOURCES[source]()
    for seed in range(2):
        other = changed(rows, np.random.default_rng(seed))
        assert decisions(policy, other, rewards) == plain(policy, source)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_rewards_in_another_unit_with_another_zero(policy, source):
    rows, rewards = SOURCES[source]()
    for scale, shift in ((1000.0, 0.0), (1.0, -1e5), (0.003, 70.0)):
        if shift and not has_constant(rows):
            continue
        assert decisions(policy, rows, rewards, scale=scale, shift=shift) == plain(policy, source)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_features_and_rewards_at_once(policy):
    rows, rewards = SOURCES["linear"]()
    other = changed(rows, np.random.default_rng(7))
    found = decisions(policy, other, rewards, scale=40.0, shift=-900.0)
    assert found == plain(policy, "linear")


@pytest.mark.parametrize("n_arms", [1, 3])
def test_seconds_since_1970_cost_no_digits(n_arms):
    """Estimates are those of least squares on centred columns, but for the prior's part in it."""
    rng = np.random.default_rng(4)
    n = 4000
    seconds, age = rng.normal(1.7e9, 1e5, size=n), rng.normal(60.0, 15.0, size=n)
    rows = with_intercept(np.column_stack([seconds, age]))
    centred = with_intercept(np.column_stack([(seconds - 1.7e9) / 1e5, (age - 60.0) / 15.0]))
    arms = rng.integers(n_arms, size=n)
    rewards = centred @ [1.0, 2.0, -1.0] + arms + rng.normal(size=n)
    agents = [Agent(Greedy(), n_arms=n_arms, n_features=3, seed=0) for _ in range(2)]
    for agent, given in zip(agents, (rows, centred), strict=True):
        agent.update_many(given, arms, rewards)
    raw, standardised = agents[0].expected_rewards(rows), agents[1].expected_rewards(centred)
    np.testing.assert_allclose(raw, standardised, rtol=1e-6, atol=1e-6)
    for arm in range(n_arms):
        own = arms == arm
        fitted = centred @ np.linalg.lstsq(centred[own], rewards[own], rcond=None)[0]
        penalty = agents[1].state.model.penalty
        np.testing.assert_allclose(standardised[:, arm], fitted, atol=20 * penalty / own.sum())
