"""The benchmark that compares every policy with the best one of its field."""

from __future__ import annotations

import importlib
import math
import statistics
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from greedyfirst import FixedArm, Greedy, Uniform, simulate


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch):
    """Imports a file of benchmarks/ by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


def ratio_by_hand(picking, taken, policy):
    """The number of the policy picked, the ratio and its variance, in plain Python."""
    means = [statistics.fmean(column) for column in zip(*picking, strict=True)]
    best = means.index(min(means))
    own = [row[policy] for row in taken]
    least = [row[best] for row in taken]
    ratio = statistics.fmean(own) / statistics.fmean(least)
    errors = [(a - ratio * b) / statistics.fmean(least) for a, b in zip(own, least, strict=True)]
    return best, ratio, statistics.variance(errors) / len(errors)


def test_ratios_against_a_plain_loop(benchmark) -> None:
    ratios = benchmark("ratios_of_the_field")
    rng = np.random.default_rng(2)
    regrets = rng.exponential(size=(31, 4)) * [1.0, 1.02, 1.5, 8.0]
    regrets[::2, 0] += 0.5  # so that the halves pick different policies
    found = ratios.cross_fitted(regrets)
    even, odd = regrets[::2].tolist(), regrets[1::2].tolist()
    assert found.best == (1, 0)
    for policy in range(4):
        first, second = ratio_by_hand(even, odd, policy), ratio_by_hand(odd, even, policy)
        assert (first[0], second[0]) == found.best
        assert found.ratio[policy] == pytest.approx((first[1] + second[1]) / 2, rel=1e-12)
        error = math.sqrt(first[2] + second[2]) / 2
        assert found.standard_error[policy] == pytest.approx(error, rel=1e-12)


def test_standard_errors_are_those_of_repetitions(benchmark) -> None:
    """Against the spread over 2000 repetitions.

    The spread's own relative error is 1/√4000 = 1.6 %. Five of these are allowed, for two policies:
    a false alarm in a million.
    """
    cross_fitted = benchmark("ratios_of_the_field").cross_fitted
    rng = np.random.default_rng(5)
    found = []
    for _ in range(2000):
        shared = rng.exponential(size=(200, 1))
        own = rng.exponential(size=(200, 3))
        found.append(cross_fitted((shared + own) * [1.0, 2.0, 5.0]))
    spread = np.std([each.ratio for each in found], axis=0, ddof=1)
    errors = np.sqrt(np.mean([each.standard_error**2 for each in found], axis=0))
    np.testing.assert_allclose(errors[1:] / spread[1:], 1.0, atol=5 / math.sqrt(4000))


def test_picking_the_best_of_equals_is_no_advantage(benchmark) -> None:
    """Ten policies that are alike have ratio 1; over the smallest mean they would have 1.15.

    1000 repetitions: five standard errors are allowed, a false alarm in a million.
    """
    cross_fitted = benchmark("ratios_of_the_field").cross_fitted
    rng = np.random.default_rng(6)
    regrets = rng.exponential(size=(1000, 400, 10))
    found = np.array([cross_fitted(each).ratio[0] for each in regrets])
    means = regrets.mean(axis=1)
    naive = (means[:, 0] / means.min(axis=1)).mean()
    allowed = 5 * found.std(ddof=1) / math.sqrt(len(found))
    # E[1/mean of 200] of exponential regrets is about 1 + 1/200, without any luck of picking.
    assert abs(found.mean() - 1.0 - 1 / 200) < allowed
    assert naive > 1.0 + 1 / 200 + 4 * allowed


def test_geometric_means(benchmark) -> None:
    geometric_mean = benchmark("ratios_of_the_field").geometric_mean
    both, errors = np.array([1.0, 4.0]), np.array([0.3, 1.6])
    assert geometric_mean(both, errors) == pytest.approx((2.0, 0.5))  # 2·√(0.09+0.16)/2
    spread = math.log(4.0) / math.sqrt(2.0)
    expected = (2.0, 2.0 * spread / math.sqrt(2.0))
    assert geometric_mean(both, None) == pytest.approx(expected)


def test_every_problem_draws(benchmark) -> None:
    """Shapes, numbers, the best arm's regret of 0."""
    field = benchmark("problems_of_the_field").problems()
    drawn_at_random = benchmark("random_problems").random_problems(3, 20)
    assert {entry.kind for entry in field.values()} == {"hard", "ordinary"}
    for name, (problem, horizon, _) in {**field, **drawn_at_random}.items():
        steps = min(horizon, 60)
        contexts, rewards, regrets = problem.draw(np.random.default_rng(1), steps)
        assert contexts.shape == (steps, problem.n_features), name
        assert rewards.shape == regrets.shape == (steps, problem.n_arms), name
        assert np.isfinite(contexts).all(), name
        assert np.isfinite(rewards).all(), name
        assert (regrets.min(axis=1) == 0.0).all(), name
        assert regrets.any(), name


def test_raw_units_change_no_reward(benchmark) -> None:
    """Whatever mean and standard deviation features have, effects are of the standardised ones."""
    field = benchmark("problems_of_the_field")
    plain = field.raw_units(3, (0.0, 0.0), (1.0, 1.0)).draw(np.random.default_rng(4), 50)
    raw = field.raw_units(3, (60.0, -310.0), (15.0, 1.0)).draw(np.random.default_rng(4), 50)
    np.testing.assert_allclose(raw.rewards, plain.rewards, atol=1e-11)
    standard = (raw.contexts[:, 1:] - [60.0, -310.0]) / [15.0, 1.0]
    np.testing.assert_allclose(standard, plain.contexts[:, 1:], atol=1e-11)


def test_more_random_problems_change_none_of_the_first(benchmark) -> None:
    random_problems = benchmark("random_problems").random_problems
    few, many = random_problems(9, 5), random_problems(9, 8)
    assert list(many)[:5] == list(few)
    assert list(random_problems(10, 5)) != list(few)
    for name, entry in few.items():
        one, other = (e.problem.draw(np.random.default_rng(0), 20) for e in (entry, many[name]))
        np.testing.assert_array_equal(one.rewards, other.rewards)


def test_random_noise_has_the_standard_deviation_it_says(benchmark) -> None:
    """Of 10⁶ draws: mean 0 within five standard errors, a false alarm in 300 000.

    The standard deviation within 2 %; that of t(3), whose fourth moment is infinite, within 10 %.
    """
    field = benchmark("random_problems")
    for kind in field.EVEN_NOISE:
        noise = field.EvenNoise(kind, 2.0).sample(np.random.default_rng(8), 10**6)
        assert abs(noise.mean()) < 5 * 2.0 / 1000, kind
        assert noise.std() == pytest.approx(2.0, rel=0.1 if kind == "t(3)" else 0.02), kind


@pytest.mark.parametrize(
    ("added", "lost"), [(True, 2000 * 0.2 + 4000 * 0.7), (False, 2000 * 0.7 + 4000 * 0.2)]
)
def test_regret_counts_the_arms_that_there_are(benchmark, added, lost) -> None:
    """Whoever always takes the first arm loses what the best one at each step is better by."""
    arms = benchmark("changing_arms")
    problem = arms.ChangingArms(added=added)
    runs = arms.play_agents(
        problem, {"first": FixedArm(arm=0)}, n_instances=1, seed=1, spread={"n_jobs": 1}
    )
    assert runs == pytest.approx(np.array([[lost]]))


def test_a_run_writes_what_it_measured(benchmark, monkeypatch, tmp_path, capsys) -> None:
    """Ratios of the file are those of the simulation; the table and the picture are there."""
    hindsight, ratios = benchmark("hindsight"), benchmark("ratios_of_the_field")
    field = {"Greedy()": Greedy(), "Uniform()": Uniform()}
    monkeypatch.setattr(hindsight, "policies", lambda *, binary: field)
    only = "two arms, gap"
    arguments = ["hindsight.py", "--only", only, "--instances", "6", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    hindsight.main()

    entry = hindsight.problems()["two arms, gap 0.2 sd"]
    result = simulate(
        entry.problem, field, n_instances=6, horizon=entry.horizon, seed=hindsight.SEED
    )
    expected = ratios.cross_fitted(result.final)
    written = pd.read_csv(tmp_path / "hindsight.csv")
    assert written["policy"].tolist() == list(field)
    np.testing.assert_allclose(written["ratio"], expected.ratio, rtol=1e-5)
    np.testing.assert_allclose(written["ratio_se"], expected.standard_error, rtol=1e-5)
    assert (tmp_path / "hindsight.png").read_bytes().startswith(b"\x89PNG")
    table = capsys.readouterr().out
    for policy, ratio in zip(field, expected.ratio, strict=True):
        assert f"| `{policy}` | {ratio:.3f} ±" in table
