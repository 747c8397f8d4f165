"""Regret of the arm-by-arm rule without contexts: never above its bounds, step by step."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from greedyfirst import GreedyFirst, simulate
from greedyfirst.problems import FromArray, GaussianNoise, LinearProblem
from greedyfirst.theory import ArmByArmRule, arm_by_arm_mean_regret, worst_mean_regret
from greedyfirst.theory.bounds.arm_by_arm_means import RATIOS, _Means
from support.arm_by_arm_runs import Runs

# One-sided tests at this level; a file of them gives a false alarm with a chance below 1 %.
LEVEL = 1e-5
PATHS, LONGEST = 2000, 3000


@pytest.fixture(scope="module")
def sums():
    """Partial sums of noise (PATHS, LONGEST), half of it normal, half of it ±1."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(PATHS, LONGEST))
    noise[PATHS // 2 :] = rng.choice([-1.0, 1.0], size=(PATHS // 2, LONGEST))
    return np.cumsum(noise, axis=1)


@pytest.mark.parametrize(("penalty", "error"), [(0.0, 0.0), (1.0, 0.7), (5.0, 0.3), (20.0, 1.0)])
@pytest.mark.parametrize(("doubt", "rows"), [(0.5, 5.0), (2.5, 5.0), (2.5, math.inf), (6.0, 2.0)])
def test_the_best_arm_seldom_looks_worse_than_it_is(sums, penalty, error, doubt, rows):
    """80 tests in all. The prior is as wrong as it may be, the look as old as it may be."""
    rule = ArmByArmRule(n_arms=2, doubt=doubt, rows=rows)
    means = _Means(rule=rule, horizon=10**6, penalty=penalty, error=error, low=1.0, high=1.0)
    pulls = np.arange(1.0, LONGEST + 1)
    said = 0
    for step, level in [(10, 0.6), (100, 0.5), (1000, 0.2), (1000, 0.5), (10**4, 0.3)]:
        look = rule.last_look(step)
        width = means.widths(pulls + penalty, look, ramp=True)
        above = (sums - penalty * error) / (pulls + penalty) + width
        low = (above < -level).any(axis=1)
        if penalty > 0:
            low |= means.widths(np.array([penalty]), look, ramp=True)[0] - error < -level
        bound = means.fails(step, level)
        said += bound < 0.5
        assert stats.binom.sf(low.sum() - 1, PATHS, bound) > LEVEL
    assert said >= 1 or (penalty, error) == (20.0, 1.0) or doubt == 0.5


def test_chances_fall_with_the_rounds_and_the_level():
    """So that blocks may be taken at their beginning."""
    rule = ArmByArmRule(n_arms=2)
    means = _Means(rule=rule, horizon=10**6, penalty=1.0, error=0.5, low=1.0, high=1.0)
    for level in (0.05, 0.2, 1.0):
        found = [means.fails(step, level) for step in (1, 3, 10, 40, 200, 10**3, 10**4, 10**6)]
        assert found == sorted(found, reverse=True)
    for step in (10, 10**3, 10**5):
        found = [means.fails(step, level) for level in (0.01, 0.1, 0.3, 1.0, 3.0)]
        assert found == sorted(found, reverse=True)


def test_blocks_of_pulls_are_not_less_than_all_pulls():
    rule = ArmByArmRule(n_arms=3)
    means = _Means(rule=rule, horizon=20_000, penalty=2.0, error=0.4, low=1.0, high=1.1)
    for gap, level in [(0.1, 0.05), (0.3, 0.2), (2.0, 0.5)]:
        n = np.arange(1.0, 20_001)
        width = 1.1 * means.widths(n + 2.0, 20_000, ramp=False)
        lead = np.maximum((n + 2.0) * np.maximum(gap - level - width, 0) - 0.8, 0)
        exact = 1 + np.exp(-lead * lead / (2 * n)).sum()
        assert exact <= means.pulls(gap, level) < 1.05 * exact + 1


SETTINGS = [
    {"arms": [0.2, 0.0], "penalty": 1e-9},
    {"arms": [0.5, 0.0], "penalty": 1.0},
    {"arms": [-0.5, -1.0], "penalty": 3.0},  # the prior is above both arms
    {"arms": [1.0, 0.9, 0.5, 0.0], "penalty": 0.5},
    {"arms": [2.0, 0.0, 0.0, 0.0, 0.0, 0.0], "penalty": 1.0, "doubt": 1.0},
    {"arms": [0.4, 0.0], "penalty": 1.0, "doubt": 8.0, "share": 1.0},
    {"arms": [3.0, 0.0], "penalty": 1e-9, "rows": 1.0},
    {"arms": [0.5, 0.0], "penalty": 1.0, "rows": math.inf},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_regret_of_the_rule_is_below_its_bound(setting):
    arms = np.array(setting["arms"])
    options = {key: setting[key] for key in ("doubt", "share", "rows") if key in setting}
    rule = ArmByArmRule(n_arms=len(arms), **options)
    penalty, horizon, n_runs = setting["penalty"], 2000, 100
    rng = np.random.default_rng(5)
    runs = Runs(arms[:, None], rule=rule, sigma=1.0, penalty=penalty, n_runs=n_runs, rng=rng)
    lost = sum(runs.play(np.ones((n_runs, 1)))[1] for _ in range(horizon))
    found = arm_by_arm_mean_regret(
        arms.max() - np.delete(arms, arms.argmax()),
        sigma=1.0,
        horizon=horizon,
        rule=rule,
        penalty=penalty,
        prior_error=float(abs(arms).max()),
    )
    assert lost.mean() - 4.3 * lost.std() / np.sqrt(n_runs) <= found.bound
    assert found.bound <= found.trivial_bound == pytest.approx(np.ptp(arms) * horizon)


def test_the_shipped_policy_is_below_the_bound():
    """With a learned prior and scale, which the proof leaves out."""
    problem = LinearProblem(
        contexts=FromArray(rows=np.ones((1, 1))),
        arms=[[0.3], [0.0]],
        noise=GaussianNoise(sigma=1.0),
    )
    policies = {"Greedy-First": GreedyFirst()}
    result = simulate(problem, policies, n_instances=100, horizon=10_000, seed=4, progress=False)
    lost = result.final[:, 0]
    bound = arm_by_arm_mean_regret([0.3], sigma=1.0, horizon=10_000).bound
    assert lost.mean() + 4.3 * lost.std() / 10 < bound < 3000


@pytest.mark.parametrize("doubt", [3.0, 6.0])
@pytest.mark.parametrize("level", [0.05, 0.5])
@pytest.mark.parametrize("rows", [5.0, math.inf])
def test_unlucky_rounds_have_a_closed_form(doubt, level, rows):
    """Step 4 of the proof: their sum over all rounds is finite for c above 2."""
    rule = ArmByArmRule(n_arms=2, doubt=doubt, early=0.0, rows=rows)
    means = _Means(rule=rule, horizon=10**8, penalty=0.0, error=0.0, low=1.0, high=1.0)
    total = means.rounds(lambda step: means.fails(step, level)) / 1.05  # blocks add 5 % at most
    for ratio in RATIOS:
        a = doubt / (2 * ratio)
        if a > 1:
            inner = integrate.quad(lambda u, a=a: (1 + u) ** a * np.exp((1 - a) * u), 0, np.inf)[0]
            grid = 1 / np.log(ratio) + 1 / np.e
            shells = 2 * ratio / (rule.theta * level**2) * (1 + inner) * grid
            assert total <= 1 + (1 + rule.growth) * shells


@pytest.mark.parametrize("rows", [1.0, 5.0, 40.0, math.inf])
@pytest.mark.parametrize("doubt", [2.5, 9.0])
def test_pulls_that_look_good_have_a_closed_form(rows, doubt):
    """Step 4 again: pulls with w(n) ≥ σδ, and the δ from which one pull is enough."""
    rule = ArmByArmRule(n_arms=2, doubt=doubt, rows=rows)
    for horizon in (10**3, 10**6, 10**10):
        most = rule.theta * horizon
        for delta in (0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1000.0):
            enough = max(doubt * max(math.log(most * delta**2), 0) / math.log1p(delta**2), 0)
            enough = max(enough, delta**-2)
            n = np.unique(np.geomspace(1, 10 * enough + 10, 4000).astype(int)).astype(float)
            squares = rule.width_squares(most / n, n) / n
            assert (np.diff(squares) <= 0).all()
            good = n[squares >= delta**2]
            assert good.size == 0 or good[-1] <= enough
            needed = rule.rows + 1
            if rows < math.inf and needed * math.log1p(delta**2 / needed) > doubt * math.log(most):
                assert good.size == 0


def test_more_rows_for_a_scale_are_fewer_pulls():
    """Student's width costs something where gaps are large, and nothing in the end."""
    rules = [ArmByArmRule(n_arms=2, rows=rows) for rows in (1.0, 5.0, 50.0, math.inf)]
    for gap, least, most in [(0.1, 1.0, 1.02), (5.0, 1.5, 10.0)]:
        found = [
            _Means(rule=rule, horizon=10**6, penalty=0.0, error=0.0, low=1.0, high=1.0).pulls(
                gap, gap / 2
            )
            for rule in rules
        ]
        assert found == sorted(found, reverse=True)
        assert least < found[0] / found[-1] < most


def test_units_of_rewards_are_units_of_the_bound():
    one = arm_by_arm_mean_regret([0.3, 0.7], sigma=1.0, horizon=3000, penalty=1.0, prior_error=0.5)
    ten = arm_by_arm_mean_regret([3, 7], sigma=10.0, horizon=3000, penalty=1.0, prior_error=5.0)
    assert ten.bound == pytest.approx(10 * one.bound)


@pytest.mark.parametrize(("doubt", "power"), [(1.0, 0.5), (1.5, 0.25)])
def test_too_little_doubt_costs_a_power_of_the_rounds(doubt, power):
    """T^(1 - c/2) at the most; with c above 2 nothing grows faster than log T."""
    rule = ArmByArmRule(n_arms=2, doubt=doubt, rows=math.inf)
    low, high = (
        arm_by_arm_mean_regret([1.0], sigma=1.0, horizon=T, rule=rule).unlucky
        for T in (10**8, 10**12)
    )
    assert power - 0.1 < np.log10(high / low) / 4 < power + 0.03
    low, middle, high = (
        arm_by_arm_mean_regret([1.0], sigma=1.0, horizon=T).bound for T in (10**8, 10**10, 10**12)
    )
    assert high - middle < 1.1 * (middle - low)


def test_the_worst_gaps_are_not_below_any_gap():
    rule = ArmByArmRule(n_arms=3)
    n_runs, horizon = 20, 1000
    worst = worst_mean_regret(sigma=1.0, horizon=horizon, rule=rule)
    for gap in (0.003, 0.03, 0.3, 3.0):
        runs = Runs(
            [[gap], [0.0], [0.0]],
            rule=rule,
            sigma=1.0,
            penalty=1e-9,
            n_runs=n_runs,
            rng=np.random.default_rng(1),
        )
        lost = sum(runs.play(np.ones((n_runs, 1)))[1] for _ in range(horizon))
        assert lost.mean() <= worst + 2 * gap
    assert worst < 40 * np.sqrt(3 * horizon)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="gaps"):
        arm_by_arm_mean_regret([], sigma=1.0, horizon=10)
    with pytest.raises(ValueError, match=r"gaps\[1\]"):
        arm_by_arm_mean_regret([0.1, 0.0], sigma=1.0, horizon=10)
    with pytest.raises(ValueError, match=r"scale_range\[1\]"):
        arm_by_arm_mean_regret([0.1], sigma=1.0, horizon=10, scale_range=(1.0, 0.5))
    with pytest.raises(ValueError, match="level"):
        worst_mean_regret(sigma=1.0, horizon=10, rule=ArmByArmRule(n_arms=2), level=1.0)
