"""Sensitivity of Greedy-First: settings, files, and what h, q and t₀ can and cannot change."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from greedyfirst.experiments import EXPERIMENTS

NAMES = ["sensitivity-h", "sensitivity-q", "sensitivity-t0"]
VALUES = {
    "sensitivity-h": [1, 2.5, 5, 10, 25],
    "sensitivity-q": [1, 2, 3, 5, 10],
    "sensitivity-t0": [8, 16, 32, 64, 128],
}
PUBLISHED = {"sensitivity-h": "h = 5", "sensitivity-q": "q = 1", "sensitivity-t0": "t0 = 4·K·d"}

every_parameter = pytest.mark.parametrize("name", NAMES)


def value_of(name, policy):
    return {
        "sensitivity-h": policy.fallback.h,
        "sensitivity-q": policy.fallback.q,
        "sensitivity-t0": policy.t0,
    }[name]


def without_the_value(name, policy):
    """The policy with the varied parameter set to a constant."""
    if name == "sensitivity-t0":
        return replace(policy, t0=1, test_after=1)
    return replace(policy, fallback=replace(policy.fallback, **{name[-1]: 7}))


@pytest.fixture(scope="module")
def results():
    """Small runs of the three, and of Figure 2(c) itself."""
    made = {name: EXPERIMENTS[name].run(n_instances=60, n_jobs=2) for name in NAMES}
    made["fig2c"] = EXPERIMENTS["fig2c"].run(n_instances=60, n_jobs=2)
    return made


# -------------------------------------------------------------------- settings


@every_parameter
def test_the_problem_is_that_of_figure_2c(name):
    experiment, published = EXPERIMENTS[name], EXPERIMENTS["fig2c"]
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    assert experiment.settings == published.settings
    drawn = [e.problem.draw(np.random.default_rng(1), 50) for e in (experiment, published)]
    for own, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(own, other)


@every_parameter
def test_one_parameter_is_varied(name):
    experiment = EXPERIMENTS[name]
    assert [value_of(name, policy) for policy in experiment.policies.values()] == VALUES[name]
    assert list(experiment.varied.values) == VALUES[name]
    others = {without_the_value(name, policy) for policy in experiment.policies.values()}
    assert len(others) == 1


@every_parameter
def test_the_published_value_is_among_them(name):
    policies = EXPERIMENTS[name].policies
    assert policies[PUBLISHED[name]] == EXPERIMENTS["fig2c"].policies["Greedy-First"]


def test_the_test_begins_at_twice_t0():
    for policy in EXPERIMENTS["sensitivity-t0"].policies.values():
        assert policy.test_after == 2 * policy.t0


# -------------------------------------------------------------------- curves


@every_parameter
def test_all_values_play_the_instances_of_figure_2c(results, name):
    """Common random numbers: the published value's regret is that of Figure 2(c), bit for bit."""
    own, published = results[name], results["fig2c"]
    np.testing.assert_array_equal(
        own.final[:, own.policies.index(PUBLISHED[name])],
        published.final[:, published.policies.index("Greedy-First")],
    )


@pytest.mark.parametrize("name", ["sensitivity-h", "sensitivity-q"])
def test_h_and_q_matter_only_after_a_switch(results, name):
    """They are options of the fallback: all values switch together, and are one before that."""
    result = results[name]
    assert (result.switched_at == result.switched_at[:, :1]).all()
    switched = result.switched_at[:, 0] > 0
    assert 0 < switched.sum() < 60
    assert (result.final[~switched] == result.final[~switched, :1]).all()
    assert (result.final[switched] != result.final[switched][:, [0]]).any()


def test_t0_matters_only_where_one_of_them_switches(results):
    result = results["sensitivity-t0"]
    stayed = (result.switched_at == 0).all(axis=1)
    assert stayed.any()
    assert (result.final[stayed] == result.final[stayed, :1]).all()


def test_an_early_t0_switches_more_often(results):
    """After K·d = 8 rounds an arm with fewer than d = 4 samples has λ_min = 0: a switch.

    1000 instances switch 815 and 44 times at t₀ = K·d and 4·K·d: false alarms below 1e-4.
    """
    counts = list(results["sensitivity-t0"].switches.values())
    assert counts[0] > 30 > 10 > counts[2]


@every_parameter
def test_files(results, name, tmp_path):
    experiment = EXPERIMENTS[name]
    paths = experiment.write(results[name], tmp_path)
    assert [path.name for path in paths] == [f"{name}.{e}" for e in ("csv", "png", "json")]
    with open(paths[0], newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["policy", "t", "mean", "half_width"]
    assert list(dict.fromkeys(row[0] for row in rows[1:])) == list(experiment.policies)
    settings = json.loads(paths[2].read_text())["settings"]
    assert list(settings["policies"]) == list(experiment.policies)
