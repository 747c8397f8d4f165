"""Five arms: the settings, the files, and the change near d = K - 1."""

import csv
import json

import numpy as np
import pytest
from test_figure2 import LABELS

from greedyfirst import simulate
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.policies import Greedy, GreedyFirst, OLSBandit

PANELS = {"k5-d3": 3, "k5-d7": 7}
DIMENSIONS = list(range(2, 11))
ARMS = [2, 3, 4, 5, 6, 8, 10, 15, 20]
SIZE = {"n_instances": 100, "seed": 10, "n_jobs": 2}

every_panel = pytest.mark.parametrize("name", PANELS)
every_dimension = pytest.mark.parametrize("d", DIMENSIONS)


def check_contexts_and_arms(problem, d):
    """N(0, 0.5·I) clipped to ±1, P(clipped) = 0.15730, and N(0, I); false alarms below 1e-5."""
    assert (problem.n_arms, problem.n_features) == (5, d)
    rng = np.random.default_rng(1)
    contexts = problem.contexts.sample(rng, 20_000)
    assert np.abs(contexts).max() == 1.0
    error = 5 * np.sqrt(0.1573 * 0.8427 / contexts.size)
    assert (np.abs(contexts) == 1.0).mean() == pytest.approx(0.15730, abs=error)
    drawn = np.array([problem.arms.sample(rng) for _ in range(2000)])
    assert abs(drawn.mean()) < 5 / np.sqrt(drawn.size)
    assert drawn.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / drawn.size))


# -------------------------------------------------------------------- all policies


@every_panel
def test_settings(name):
    experiment, d = EXPERIMENTS[name], PANELS[name]
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    check_contexts_and_arms(experiment.problem, d)
    assert experiment.problem.noise.sigma == 0.5
    assert (experiment.settings["arms"], experiment.settings["features"]) == (5, d)


@every_panel
def test_policies_are_those_of_figure_2a(name):
    """But for what depends on K and d."""
    d = PANELS[name]
    policies, published = EXPERIMENTS[name].policies, EXPERIMENTS["fig2a"].policies
    assert list(policies) == LABELS
    for label in ("Greedy", "OFUL", "Prior-free TS", "Prior-dependent TS"):
        assert policies[label] == published[label]
    ols_bandit = OLSBandit(h=5, q=1, warmup="ridge", initial_pulls=d)
    assert policies["OLS Bandit"] == ols_bandit
    assert policies["Greedy-First"] == GreedyFirst(
        warmup="ridge",
        t0=4 * 5 * d,
        test_after=8 * 5 * d,
        lambda0_minimum=1e-5,
        fallback=ols_bandit,
        span="full",
        carry_over=False,
        on_alarm="explore",
    )


@every_panel
def test_files(name, tmp_path):
    experiment = EXPERIMENTS[name]
    paths = experiment.write(experiment.run(n_instances=2, seed=1), tmp_path)
    assert [path.name for path in paths] == [f"{name}.{e}" for e in ("csv", "png", "json")]
    assert json.loads(paths[2].read_text())["settings"]["policies"].keys() == set(LABELS)


# -------------------------------------------------------------------- dimensions


@every_dimension
def test_settings_of_each_dimension(d):
    experiment = EXPERIMENTS["k5-dimension"]
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    label = f"Greedy, d={d}"
    check_contexts_and_arms(experiment.problem[label], d)
    assert experiment.problem[label].noise.sigma == pytest.approx(0.25 * d**0.5, rel=1e-15)
    assert experiment.policies[label] == Greedy(warmup="ridge", initial_pulls=0)


def test_all_dimensions_are_there():
    experiment = EXPERIMENTS["k5-dimension"]
    labels = [f"Greedy, d={d}" for d in DIMENSIONS]
    assert list(experiment.policies) == list(experiment.problem) == labels
    assert list(experiment.varied.values) == DIMENSIONS


@pytest.fixture(scope="module")
def dimensions():
    return EXPERIMENTS["k5-dimension"].run(**SIZE)


def test_each_dimension_is_a_simulation_of_its_own(dimensions):
    label = "Greedy, d=4"
    experiment, place = EXPERIMENTS["k5-dimension"], dimensions.policies.index(label)
    alone = simulate(
        experiment.problem[label],
        {label: Greedy(warmup="ridge")},
        **SIZE,
        horizon=10_000,
        steps=dimensions.steps,
    )
    np.testing.assert_array_equal(dimensions.mean[place], alone.mean[0])
    np.testing.assert_array_equal(dimensions.half_width[place], alone.half_width[0])
    np.testing.assert_array_equal(dimensions.final[:, place], alone.final[:, 0])


def test_the_share_of_stuck_instances_falls_near_four_features(dimensions):
    """Regret above 500 at T is regret that never stopped growing: d ≤ 3 against d ≥ K - 1 = 4.

    1000 instances have 29, 12, 4, 2 % of it for d = 2, ..., 5, and at most 0.4 % beyond. With these
    shares the three conditions fail by chance in fewer than one of 10 000 seeds.
    """
    stuck = dict(zip(DIMENSIONS, (dimensions.final > 500).sum(axis=0), strict=True))
    assert stuck[2] >= 10
    assert stuck[2] + stuck[3] > 2 * (stuck[4] + stuck[5])
    assert sum(stuck[d] for d in DIMENSIONS if d >= 6) <= 6


def test_regret_stops_growing_with_many_features(dimensions):
    """Linear regret in d = 2: the second half of the rounds costs what the first did; not so in 10.

    False alarms below 1e-6: the second half has 45 to 50 % of the regret in d = 2, 5 % in d = 10.
    """
    half = list(dimensions.steps).index(4820)
    late = 1 - dimensions.mean[:, half] / dimensions.mean[:, -1]
    assert late[0] > 0.35
    assert late[-1] < 0.1


# -------------------------------------------------------------------- numbers of arms


@pytest.fixture(scope="module")
def by_arms():
    return EXPERIMENTS["d5-arms"].run(**SIZE)


def test_settings_of_each_number_of_arms():
    experiment = EXPERIMENTS["d5-arms"]
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    assert list(experiment.varied.values) == ARMS
    assert list(experiment.policies) == [f"Greedy, K={n}" for n in ARMS]
    for n in ARMS:
        problem = experiment.problem[f"Greedy, K={n}"]
        assert (problem.n_arms, problem.n_features) == (n, 5)
        assert problem.noise.sigma == pytest.approx(0.25 * 5**0.5, rel=1e-15)
    assert (experiment.settings["arms"], experiment.settings["features"]) == (ARMS, 5)


def test_five_arms_are_those_of_the_dimensions(by_arms, dimensions):
    """K = 5, d = 5 is in both: the same instances, bit for bit."""
    own, other = by_arms.policies.index("Greedy, K=5"), dimensions.policies.index("Greedy, d=5")
    np.testing.assert_array_equal(by_arms.final[:, own], dimensions.final[:, other])


def test_greedy_degrades_with_the_number_of_arms(by_arms):
    """Mean regret doubles, and doubles again.

    1000 instances have 10 ± 0.3 at K = 2, 254 ± 28 at 6, 1819 ± 87 at 10 and 5719 ± 128 at 20. With
    100 of them the nearest condition is 5 standard errors away: false alarms below 1e-5; fixed
    seed.
    """
    means = dict(zip(ARMS, by_arms.final.mean(axis=0), strict=True))
    for few, many in ((2, 6), (6, 10), (10, 20)):
        assert means[many] > 2 * means[few]


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_files_of_all_dimensions(dimensions, tmp_path):
    experiment = EXPERIMENTS["k5-dimension"]
    paths = experiment.write(dimensions, tmp_path)
    names = [f"k5-dimension{end}" for end in (".csv", ".png", ".json", "-final.csv")]
    assert [path.name for path in paths] == names
    curves, final = read(paths[0]), read(paths[3])
    assert curves[0] == ["policy", "t", "mean", "half_width"]
    assert list(dict.fromkeys(row[0] for row in curves[1:])) == list(experiment.policies)
    assert [float(row[2]) for row in curves[1:]] == dimensions.mean.ravel().tolist()
    boxes = ["lower_whisker", "lower_quartile", "median", "upper_quartile", "upper_whisker"]
    assert final[0] == ["d", "mean", *boxes]
    assert [int(row[0]) for row in final[1:]] == DIMENSIONS
    for row, regrets in zip(final[1:], dimensions.final.T, strict=True):
        expected = [regrets.mean(), *np.percentile(regrets, [5, 25, 50, 75, 95])]
        assert [float(number) for number in row[1:]] == pytest.approx(expected, rel=1e-12)
    facts = json.loads(paths[2].read_text())
    assert facts["settings"]["features"] == DIMENSIONS
    assert list(facts["seconds"]) == list(experiment.policies)
