"""Several contexts at once are those one by one; coefficients as a frame."""

import numpy as np
import pandas as pd
import pytest

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    ThompsonSampling,
)

POLICIES = [
    Greedy(),
    Greedy(warmup="pinv"),
    GreedyFirst(),
    OLSBandit(h=1, q=2),
    OFUL(),
    ThompsonSampling(),
    EpsilonGreedy(epsilon=0.3),
    LinUCB(),
    GLMGreedy(link="logistic"),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
METHODS = ("expected_rewards", "contributions", "probabilities", "standard_errors")


def learned(policy, n=200):
    rng = np.random.default_rng(4)
    agent = Agent(policy, arms=["a", "b", "c"], features=["one", "age"], seed=1)
    rows = np.column_stack([np.ones(n), rng.normal(size=n)])
    arms = rng.integers(3, size=n)
    means = rows @ np.array([[0.5, 1.0], [0.0, -1.0], [0.2, 0.3]]).T
    agent.update_many(rows, arms, (means[np.arange(n), arms] + rng.normal(size=n) > 0) * 1.0)
    return agent


@each_policy
def test_many_are_one_by_one(policy):
    agent = learned(policy)
    rows = np.column_stack([np.ones(9), np.linspace(-2, 2, 9)])
    for method in METHODS:
        told = getattr(agent, method)
        one_by_one = [told(row) for row in rows]
        many = told(rows)
        if many is None:
            assert one_by_one == [None] * 9
            continue
        assert many.shape == (9, *one_by_one[0].shape)
        if method == "standard_errors":
            np.testing.assert_allclose(many, np.array(one_by_one), rtol=1e-12)
        else:
            np.testing.assert_array_equal(many, np.array(one_by_one))
        assert told(rows[:1]).shape == (1, *one_by_one[0].shape)
        assert told(rows[:0]).shape == (0, *one_by_one[0].shape)
    expected, parts = agent.explain(pd.DataFrame(rows, columns=["one", "age"]))
    np.testing.assert_array_equal(expected, agent.expected_rewards(rows))
    np.testing.assert_array_equal(parts, agent.contributions(rows))
    assert agent.decisions == 0


def test_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    rows, rewards, arms = rng.normal(size=(90, 2)), rng.normal(size=90), np.arange(90) % 3
    agent = Agent(Greedy(warmup="pinv"), arms=["a", "b", "c"], features=["u", "v"], seed=0)
    agent.update_many(rows, arms, rewards)
    frame = agent.coefficients(intervals=True, sigma=1.0)
    assert list(frame.columns) == ["arm", "feature", "estimate", "low", "high"]
    for place, arm in enumerate("abc"):
        mine = frame[frame["arm"] == arm].set_index("feature")
        truth = np.linalg.lstsq(rows[arms == place], rewards[arms == place], rcond=None)[0]
        np.testing.assert_allclose(mine.loc[["u", "v"], "estimate"], truth, rtol=1e-9)
        np.testing.assert_allclose((mine["low"] + mine["high"]) / 2, truth, rtol=1e-9)
    units = agent.intervals(np.eye(2), sigma=1.0)
    np.testing.assert_array_equal(frame["low"], units.low.T.ravel())
    np.testing.assert_array_equal(frame["high"], units.high.T.ravel())


def test_intervals_of_coefficients_get_narrower_with_the_level_and_hold_here():
    """The closed form behind them is tested in test_intervals: here, that it reaches the frame."""
    agent = learned(Greedy())
    wide, narrow = (agent.coefficients(intervals=True, sigma=0.5, level=p) for p in (0.99, 0.5))
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()
    assert ((narrow["low"] < narrow["estimate"]) & (narrow["estimate"] < narrow["high"])).all()


def test_a_direction_that_was_not_seen_has_no_ends():
    agent = Agent(Greedy(), arms=["a", "b"], features=["one", "age"], seed=0)
    agent.update_many([[1.0, 0.0], [1.0, 0.0]], ["a", "a"], [1.0, 2.0])
    frame = agent.coefficients(intervals=True, sigma=1.0).set_index(["arm", "feature"])
    assert np.isfinite(frame.loc[("a", "one"), ["low", "high"]].astype(float)).all()
    for unseen in (("a", "age"), ("b", "one"), ("b", "age")):
        assert list(frame.loc[unseen, ["low", "high"]]) == [-np.inf, np.inf]


def test_coefficients_of_a_link_have_no_intervals():
    agent = learned(GLMGreedy())
    assert len(agent.coefficients()) == 6
    with pytest.raises(ValueError, match="policy must be one that keeps linear regressions"):
        agent.coefficients(intervals=True)
