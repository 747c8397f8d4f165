"""Figure 2: the settings of its panels, and the published curves."""

import json
from pathlib import Path

import numpy as np
import pytest

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.policies import (
    OFUL,
    Greedy,
    GreedyFirst,
    OLSBandit,
    PriorFreeThompsonSampling,
    ThompsonSampling,
)

PANELS = ["fig2a", "fig2b", "fig2c", "fig2d"]
LABELS = ["Greedy", "Greedy-First", "OLS Bandit", "OFUL", "Prior-free TS", "Prior-dependent TS"]
REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "paper_figures.json"

every_panel = pytest.mark.parametrize("name", PANELS)
needs_reference = pytest.mark.skipif(
    not REFERENCE.exists(), reason=f"the published curves are not at {REFERENCE}"
)


def has_intercept(name):
    return name in ("fig2c", "fig2d")


def has_correct_prior(name):
    return name in ("fig2a", "fig2c")


# -------------------------------------------------------------------- settings


@every_panel
def test_size(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    assert experiment.problem.n_arms == 2
    assert experiment.problem.n_features == 3 + has_intercept(name)
    assert experiment.problem.noise.sigma == 0.5
    assert list(experiment.policies) == LABELS


@every_panel
def test_contexts_are_clipped_gaussians(name):
    """N(0, 0.5) at ±1: P(clipped) = 2Φ(-√2) = 0.15730. False alarms below 1e-6; fixed seed."""
    contexts = EXPERIMENTS[name].problem.contexts.sample(np.random.default_rng(1), 100_000)
    if has_intercept(name):
        assert (contexts[:, 0] == 1.0).all()
        contexts = contexts[:, 1:]
    assert contexts.shape[1] == 3
    assert np.abs(contexts).max() == 1.0
    share = (np.abs(contexts) == 1.0).mean()
    assert share == pytest.approx(0.15730, abs=5 * np.sqrt(0.1573 * 0.8427 / 300_000))
    inside = contexts[np.abs(contexts) < 0.2]  # P(|N(0, 0.5)| < 0.2) = erf(0.2) = 0.22270
    share = inside.size / contexts.size
    assert share == pytest.approx(0.22270, abs=5 * np.sqrt(0.2227 * 0.7773 / 300_000))
    correlation = np.corrcoef(contexts.T) - np.eye(3)
    assert np.abs(correlation).max() < 5.5 / np.sqrt(100_000)


@every_panel
def test_arm_parameters(name):
    """Mean and spread of each coefficient, and one coin for all arms. False alarms below 1e-4."""
    rng = np.random.default_rng(2)
    n = 20_000
    drawn = np.array([EXPERIMENTS[name].problem.arms.sample(rng) for _ in range(n)])
    scale = np.ones(drawn.shape[2])
    if has_intercept(name):
        scale[0] = 0.2
    drawn = drawn / scale
    if has_correct_prior(name):
        means, deviation = drawn.mean(axis=0), 1.0
    else:
        # N(±1, I)/2 with one sign per instance: the sign of the sum tells it in nearly all cases,
        # and two arms' products have mean ¼ only if they share it.
        assert (drawn[:, 0] * drawn[:, 1]).mean(axis=0) == pytest.approx(0.25, abs=0.02)
        assert (drawn[:, :, 1] * drawn[:, :, 2]).mean(axis=0) == pytest.approx(0.25, abs=0.02)
        means, deviation = drawn.mean(axis=0), np.sqrt(0.5)
    assert np.abs(means).max() < 5 * deviation / np.sqrt(n)
    assert drawn.std(axis=0) == pytest.approx(deviation, rel=0.03)


@every_panel
def test_policies(name):
    d = 3 + has_intercept(name)
    sigma = 0.5 if has_correct_prior(name) else None
    ols_bandit = OLSBandit(h=5, q=1, warmup="ridge", initial_pulls=d)
    assert dict(EXPERIMENTS[name].policies) == {
        "Greedy": Greedy(warmup="ridge", initial_pulls=0),
        "Greedy-First": GreedyFirst(
            warmup="ridge",
            initial_pulls=0,
            t0=4 * 2 * d,
            lambda0=None,
            fallback=ols_bandit,
            span="full",
            carry_over=False,
            on_alarm="explore",
            lambda0_minimum=1e-5,
            test_after=2 * 4 * 2 * d,
        ),
        "OLS Bandit": ols_bandit,
        "OFUL": OFUL(regularization=1.0, delta=0.99, sigma=sigma, sigma_start=100.0),
        "Prior-free TS": PriorFreeThompsonSampling(
            scale=0.2, delta=0.99, sigma=sigma, sigma_start=100.0
        ),
        "Prior-dependent TS": ThompsonSampling(
            prior_mean=0.0,
            prior_covariance=1.0 if has_correct_prior(name) else 100.0,
            sigma=sigma,
            sigma_start=100.0,
        ),
    }


@every_panel
def test_settings_in_words(name):
    settings = EXPERIMENTS[name].settings
    assert settings["prior"] == ("correct prior" if has_correct_prior(name) else "incorrect prior")
    assert settings["intercept"] is has_intercept(name)
    json.dumps(dict(settings))


# -------------------------------------------------------------------- curves


@pytest.fixture(scope="module")
def results():
    """Each panel's result with the default seed, run once."""
    made = {}

    def get(name, n_instances):
        if (name, n_instances) not in made:
            made[name, n_instances] = EXPERIMENTS[name].run(n_instances=n_instances, n_jobs=2)
        return made[name, n_instances]

    return get


@needs_reference
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", ["fig2a", "fig2c"])
def test_the_published_means_are_met(results, name, label):
    """Within 3 joint standard errors at the last t: false alarms 0.27 % each; fixed seed."""
    published = json.loads(REFERENCE.read_text())[name][label]
    result = results(name, 1000)
    place = result.policies.index(label)
    assert result.steps[-1] == published["t"][-1] == 9820
    difference = result.mean[place, -1] - published["mean"][-1]
    standard_error = np.hypot(result.half_width[place, -1], published["half_width"][-1]) / 2
    assert abs(difference) < 3 * standard_error


def test_no_switch_with_covariate_diversity(results):
    assert results("fig2a", 1000).switches["Greedy-First"] == 0
    assert results("fig2b", 200).switches["Greedy-First"] == 0


def test_greedy_first_is_greedy_while_it_has_not_switched(results):
    result = results("fig2a", 1000)
    np.testing.assert_array_equal(result.final[:, 0], result.final[:, 1])


def test_some_switches_without_covariate_diversity(results):
    """EXPERIMENTS: about 50 ± 14 of 1000; 20 and 110 are more than 4 standard errors away.

    An earlier t₀ sees fewer samples, and switches more often.
    """
    counted, as_in_the_text = results("fig2c", 1000).switches.values()
    assert 20 <= counted <= 110
    assert as_in_the_text > counted


def test_switches_save_instances_in_which_greedy_is_stuck(results):
    """Over the instances that switched, Greedy's regret is the larger one on average."""
    result = results("fig2c", 1000)
    switched = result.switched_at[:, 1] > 0
    assert result.final[switched, 0].mean() > result.final[switched, 1].mean()
    np.testing.assert_array_equal(result.final[~switched, 0], result.final[~switched, 1])


@pytest.mark.parametrize("rival", ["OFUL", "Prior-free TS"])
def test_greedy_first_leads_with_an_incorrect_prior(results, rival):
    """Panel d: lower regret by more than the sum of both half-widths (4 standard errors)."""
    result = results("fig2d", 300)
    own, other = (result.policies.index(name) for name in ("Greedy-First", rival))
    gap = result.mean[other, -1] - result.mean[own, -1]
    assert gap > result.half_width[own, -1] + result.half_width[other, -1]


def test_few_eigenvalues_are_computed(results):
    """DESIGN: about 4 computations in 10 000 rounds of panel a."""
    computed = results("fig2a", 1000).eigenvalue_computations[:, 1]
    assert 2 <= computed.mean() < 8


@every_panel
def test_files(name, tmp_path):
    experiment = EXPERIMENTS[name]
    result = experiment.run(n_instances=2, seed=1)
    paths = experiment.write(result, tmp_path)
    assert [path.name for path in paths] == [
        f"{name}.{ending}" for ending in ("csv", "png", "json")
    ]
    assert all(path.stat().st_size > 0 for path in paths)
    assert json.loads(paths[2].read_text())["settings"]["policies"].keys() == set(LABELS)


@pytest.mark.parametrize(("name", "published", "t0"), [("fig2c", 69, 24), ("fig2d", 139, 24)])
def test_both_readings_of_t0_are_in_the_facts(name, published, t0, tmp_path):
    """And neither in the curves, which are the published figure's."""
    experiment = EXPERIMENTS[name]
    (label,) = experiment.readings
    assert label == f"Greedy-First, t0 = {t0}"
    own, other = experiment.policies["Greedy-First"], experiment.readings[label]
    assert (own.t0, own.test_after) == (32, 64)
    assert (other.t0, other.test_after) == (t0, 2 * t0)
    result = experiment.run(n_instances=40, n_jobs=2)
    table, _, facts = experiment.write(result, tmp_path)
    assert label not in table.read_text()
    told = json.loads(facts.read_text())
    assert told["switches"] == {name: result.switches[name] for name in ("Greedy-First", label)}
    assert told["published_switches"] == published
    assert told["settings"]["readings"].keys() == {label}
