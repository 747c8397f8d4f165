"""What a penalty does to the direct method, against ridge regressions written out."""

import numpy as np
import pytest

from greedyfirst import Agent, Greedy
from greedyfirst.evaluation import LoggedData, always, evaluate
from greedyfirst.evaluation.reward_model import RewardModel


def many_columns(seed, *, n, levels):
    """Arm "high" pays 1 more, whatever the day; ``levels`` days, a column each."""
    rng = np.random.default_rng(seed)
    high = rng.random(n) < 0.3
    days = np.eye(levels)[rng.integers(levels, size=n)]
    return LoggedData(
        contexts=np.c_[np.ones(n), days],
        arms=high.astype(int),
        rewards=high + rng.normal(size=n),
        arm_names=["low", "high"],
    )


def ridge(log):
    """The penalty's matrix and mean, as the agent has learned them, and its noise."""
    agent = Agent(Greedy(), n_arms=log.n_arms, n_features=log.contexts.shape[1], seed=0)
    agent.update_many(log.contexts, log.arms, log.rewards)
    model = agent.state.model
    # Days are the constant, and so is the intercept beside them: x'w = 1 has many solutions w.
    return (
        model.penalty * np.array(model.shape),
        np.array(model.reference),
        float(model.noise_variance),
    )


def test_the_shift_is_that_of_a_ridge_regression_with_a_free_level():
    log = many_columns(0, n=120, levels=30)
    target = always(log, "high")
    rows = log.contexts[log.arms == 1]
    penalty, mean, _ = ridge(log)
    z = np.c_[np.ones(len(rows)), rows]
    wide = np.zeros((z.shape[1],) * 2)
    wide[1:, 1:] = penalty
    # Minimises Σ(y - δ - x'β)² + (β - b)'D(β - b) over δ and β.
    free = np.linalg.solve(
        z.T @ z + wide, z.T @ log.rewards[log.arms == 1] + wide @ np.append(0, mean)
    )
    found = evaluate(log, target)
    value = found.estimates["direct method"].value
    expected = free[0] + log.contexts.mean(axis=0) @ free[1:]
    assert value + found.penalty.shift == pytest.approx(expected, rel=1e-8)


def test_the_variance_is_that_of_the_penalty_s_error_under_the_prior():
    log = many_columns(1, n=60, levels=10)
    penalty, _, noise = ridge(log)
    asked = np.zeros((2, log.contexts.shape[1]))
    asked[1] = log.contexts.mean(axis=0)
    rows = log.contexts[log.arms == 1]
    off = penalty @ np.linalg.solve(rows.T @ rows + penalty, asked[1])
    expected = noise * off @ np.linalg.solve(penalty, off)
    assert RewardModel.fit(log).shrinkage_variance(log, asked) == pytest.approx(expected, rel=1e-6)


def test_many_columns_make_the_direct_method_unsure_and_are_told():
    """With 80 columns for 90 rows of an arm the plain interval missed in each of these logs."""
    for seed in range(10):
        log = many_columns(seed, n=300, levels=80)
        found = evaluate(log, always(log, "high"))
        direct = found.estimates["direct method"]
        assert direct.low <= 1.0 <= direct.high
        assert "has many columns for its rows" in found.sentences()[-1]


def test_few_columns_are_not_told():
    log = many_columns(0, n=1000, levels=3)
    found = evaluate(log, always(log, "high"))
    assert "many columns" not in " ".join(found.sentences())
    assert found.sentences()[0].startswith("It would have earned more than what was done if")
