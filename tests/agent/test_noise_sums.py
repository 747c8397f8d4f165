"""What rewards tell of their noise, and intervals from it, against plain NumPy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from greedyfirst import Agent, Greedy, GreedyFirst, LinUCB
from greedyfirst.agent.intervals import PENALTIES
from greedyfirst.agent.noise_sums import WINDOW, needed
from greedyfirst.files import data_file

#: Noise of mean 0 by (rng, x).
NOISES = {
    "sd = exp(x)": lambda rng, x: np.exp(x) * rng.normal(size=len(x)),
    "sd = x²": lambda rng, x: x**2 * rng.normal(size=len(x)),
    "Pareto(1.5)": lambda rng, x: rng.pareto(1.5, len(x)) - 2,
    "30 in 1 %": lambda rng, x: 30 * ((rng.random(len(x)) < 0.01) - 0.01) + rng.normal(size=len(x)),
}


def drawn(n, noise, seed=0, d=2):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n), rng.normal(size=(n, d - 1))])
    return rows, noise(rng, rows[:, 1])


def coins(rng, x):
    return rng.choice([-1.0, 1.0], len(x)) * (1 + (x > 0))


def taught(rows, rewards, n_arms=1, policy=None):
    agent = Agent(policy or Greedy(), n_arms=n_arms, n_features=rows.shape[1], seed=0)
    agent.update_many(rows, np.arange(len(rows)) % n_arms, rewards)
    return agent


def test_the_sandwich_is_that_of_statsmodels():
    rows, rewards = drawn(WINDOW - 1, NOISES["sd = exp(x)"], d=3)
    known = taught(rows, rewards).intervals(np.eye(3)).noise[0]
    bread = np.linalg.inv(rows.T @ rows)
    expected = sm.OLS(rewards, rows).fit(cov_type="HC1").cov_params()
    np.testing.assert_allclose(bread @ known.spread @ bread, expected, rtol=1e-9)
    assert (known.rows, known.missed) == (WINDOW - 1, 0)


def test_rows_that_were_added_up_early_make_little_difference_to_it():
    rows, rewards = drawn(2000, NOISES["sd = exp(x)"], d=3)
    known = taught(rows, rewards).intervals(np.eye(3)).noise[0]
    bread = np.linalg.inv(rows.T @ rows)
    expected = sm.OLS(rewards, rows).fit(cov_type="HC1").cov_params()
    np.testing.assert_allclose(bread @ known.spread @ bread, expected, rtol=0.05, atol=1e-4)


def test_the_interval_is_that_of_its_formula():
    """In features of the unit 1, for rows that all wait: by determinants and inverses."""
    rows, rewards = drawn(60, coins)
    found = taught(rows, rewards).intervals([[1.0, 2.0]])
    gram, x = rows.T @ rows, np.array([1.0, 2.0])
    rest = (rewards - rows @ np.linalg.lstsq(rows, rewards)[0]) ** 2 * 60 / 58
    weights, scale = np.linalg.inv(gram) @ x, rest.mean()
    doubt = math.log(len(PENALTIES) / 0.05) + 2 * math.log(2)
    halves = []
    for middle in ((rows.T * rest) @ rows, scale * gram):
        widths = []
        for penalty in PENALTIES:
            wider = middle + penalty * scale * np.eye(2)
            grown = math.log(np.linalg.det(wider) / (penalty * scale) ** 2)
            widths.append(math.sqrt((grown + 2 * doubt) * (weights @ wider @ weights)))
        halves.append(min(widths))
    assert found.half_width[0, 0] == pytest.approx(max(halves), rel=1e-9)
    assert halves[0] != pytest.approx(halves[1], rel=0.05)


@pytest.mark.parametrize("policy", [Greedy(), GreedyFirst(), LinUCB(regularization="auto")])
def test_one_by_one_is_many_at_once_and_a_copy_is_the_same(policy, tmp_path):
    rows, rewards = drawn(500, NOISES["sd = x²"])
    many = taught(rows, rewards, 3, policy)
    single = Agent(policy, n_arms=3, n_features=2, seed=0)
    for place, (row, reward) in enumerate(zip(rows, rewards.tolist(), strict=True)):
        single.update(row, place % 3, reward)
        if place == 250:
            single.save(tmp_path / "agent")
            single = Agent.load(tmp_path / "agent")
    assert (single.noise_buffer == many.noise_buffer).all()
    known = many.intervals(np.eye(2)).noise
    assert [each.rows for each in known] == many.pulls.tolist()
    many.add_arm("new")
    more = many.intervals(np.eye(2)).noise
    assert [each.rows for each in more] == [*many.pulls[:3], 0]
    assert [each.squares for each in more[:3]] == [each.squares for each in known]


def test_a_file_of_before_has_intervals_of_the_rows_that_came_later():
    rows, rewards = drawn(700, coins)
    rewards[:300] += 50.0  # whatever they were
    agent = taught(rows[:300], rewards[:300])
    header, arrays = data_file.unpack(agent.to_bytes(), "agent", "here")
    del header["noise_fields"], arrays["noise"]
    loaded = Agent.from_bytes(data_file.pack("agent", header, arrays, compressed=False))
    first = loaded.intervals(np.eye(2))
    assert np.isinf(first.half_width).all()
    assert "300 rewards were learned without what is needed" in first.caution(["a"])
    assert np.isfinite(loaded.intervals(np.eye(2), sigma=2.0).half_width).all()
    loaded.update_many(rows[300:], np.zeros(400, int), rewards[300:])
    found = loaded.intervals(np.eye(2))
    fitted = np.linalg.lstsq(rows[300:], rewards[300:])[0]
    np.testing.assert_allclose(found.estimate[:, 0], fitted, atol=1e-9)
    assert np.isfinite(found.half_width).all()
    assert (found.noise[0].rows, found.noise[0].missed) == (400, 300)


def test_a_log_that_was_learned_by_its_sums_is_missed(tmp_path):
    rows, rewards = drawn(400, coins)
    agent = taught(rows, rewards)
    before = agent.intervals(np.eye(2))
    frame = pd.DataFrame({"x0": rows[:, 0], "x1": rows[:, 1], "arm": 0, "reward": rewards + 9})
    frame.to_csv(tmp_path / "log.csv", index=False)
    agent.learn_from(tmp_path / "log.csv")
    after = agent.intervals(np.eye(2))
    assert (after.noise[0].rows, after.noise[0].missed) == (400, 400)
    np.testing.assert_allclose(after.estimate, before.estimate, atol=1e-9)


def test_few_rows_with_most_of_the_squares_give_no_interval():
    rows, rewards = drawn(400, coins)
    assert np.isfinite(taught(rows, rewards).intervals(np.eye(2)).half_width).all()
    rewards[7] = 400.0
    found = taught(rows, rewards).intervals(np.eye(2))
    assert np.isinf(found.half_width).all()
    assert found.noise[0].informative < 2
    said = found.caution(["low dose"])
    assert "No interval yet for low dose: its 400 rewards tell as much of their noise as" in said
    assert f"of the {needed(400):.0f} that it takes" in said


def test_what_one_arm_has_had_the_others_may_have_too():
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(1200), rng.normal(size=1200)])
    rewards = coins(rng, rows[:, 1])
    rewards[[100, 300, 500, 700]] = 60.0  # of the first arm
    found = taught(rows, rewards, 2).intervals(np.eye(2))
    assert found.noise[1].informative > needed(600)
    assert np.isinf(found.half_width).all()
    assert "b: other arms have had rare large rewards" in found.caution(["a", "b"])
    rest = taught(rows[1::2], rewards[1::2]).intervals(np.eye(2))
    assert "events rarer than 1 in 200 rewards of an arm" in rest.caution(["b"])


@pytest.mark.parametrize("level", [0.0, 5.0])
def test_an_arm_whose_rewards_have_all_been_alike_is_not_certain(level):
    rows, rewards = drawn(800, coins)
    rewards[::2] = level
    found = taught(rows, rewards, 2).intervals(np.eye(2))
    assert np.isinf(found.half_width[:, 0]).all()
    assert np.isfinite(found.half_width[:, 1]).all()
    assert "a: its 400 rewards show no noise: they are all alike" in found.caution(["a", "b"])


def test_normal_noise_is_not_refused():
    """At 300 rows; of normal samples fewer than one in a million is."""
    for seed in range(40):
        rows, rewards = drawn(300, lambda rng, x: rng.normal(size=len(x)), seed, d=3)
        assert np.isfinite(taught(rows, rewards).intervals(np.eye(3)).half_width).all()


def misses(noise, paths, rows_of_a_path):
    """Paths in which an interval missed at a look, from 300 rows on."""
    points, found = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]), 0
    for seed in range(paths):
        rows, rewards = drawn(rows_of_a_path, noise, seed)
        agent = taught(rows[:300], rewards[:300])
        missed = False
        for place in range(300, rows_of_a_path + 1, 50):
            made = agent.intervals(points)
            missed |= bool((np.abs(made.estimate) > made.half_width).any())
            part = slice(place, place + 50)
            agent.update_many(rows[part], np.zeros(len(rows[part]), int), rewards[part])
        found += missed
    return found


@pytest.mark.parametrize("name", NOISES)
def test_the_level_holds_for_noise_as_it_is(name):
    """At just 95 %, more than 4 of 25 paths miss in 0.7 % of all runs; the seeds are fixed."""
    assert misses(NOISES[name], 25, 1000) <= 4


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOISES)
def test_the_level_holds_for_noise_as_it_is_over_long_paths(name):
    """At just 95 %, more than 32 of 400 paths miss in 0.4 % of all runs; the seeds are fixed."""
    assert misses(NOISES[name], 400, 3000) <= 32
