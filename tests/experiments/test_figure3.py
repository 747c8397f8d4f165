"""Figure 3: the settings of its panels, and the published curves."""

import json

import numpy as np
import pytest
from scipy import stats
from test_figure2 import REFERENCE, needs_reference, results  # noqa: F401  a fixture

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.policies import GLMUCB, GLMGreedy

LABELS = ["GLM Greedy", "GLM-UCB"]
SIZES = {"fig3a": (3, 1.0), "fig3b": (10, 5.0)}
INSTANCES = {"fig3a": 60, "fig3b": 30}

every_panel = pytest.mark.parametrize("name", SIZES)


# -------------------------------------------------------------------- settings


@every_panel
def test_size(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.horizon == 2000
    assert experiment.n_instances >= 200
    assert experiment.problem.n_arms == 2
    assert experiment.problem.n_features == SIZES[name][0]
    assert experiment.problem.link == "logistic"
    assert list(experiment.policies) == LABELS


@every_panel
def test_contexts_are_clipped_then_scaled_onto_the_ball(name):
    """N(0, 0.5·I) of the same generator, by NumPy."""
    d, x_max = SIZES[name]
    contexts = EXPERIMENTS[name].problem.contexts.sample(np.random.default_rng(1), 50_000)
    normals = np.sqrt(0.5) * np.random.default_rng(1).standard_normal((50_000, d))
    clipped = np.clip(normals, -x_max, x_max)
    norms = np.linalg.norm(clipped, axis=1, keepdims=True)
    np.testing.assert_allclose(contexts, clipped * np.minimum(1, x_max / norms), atol=1e-14)


def test_the_law_of_the_contexts_of_panel_a():
    """Without the generator: P(‖z‖ ≤ 1) is χ²₃ at 2. False alarms below 1e-6; fixed seed.

    A row is longer than 1 after clipping exactly if it was before.
    """
    contexts = EXPERIMENTS["fig3a"].problem.contexts.sample(np.random.default_rng(2), 100_000)
    norms = np.linalg.norm(contexts, axis=1)
    assert norms.max() == pytest.approx(1.0, abs=1e-12)
    share = stats.chi2(3).cdf(2.0)
    error = 5 * np.sqrt(share * (1 - share) / 100_000)
    assert (norms < 1 - 1e-9).mean() == pytest.approx(share, abs=error)
    # Scaled without clipping, long rows would be uniform on the sphere and |x₀| uniform on [0, 1]
    # (Archimedes); clipping moves them towards the diagonals.
    assert stats.kstest(np.abs(contexts[norms > 1 - 1e-9, 0]), "uniform").pvalue < 1e-6


def test_nothing_is_cut_in_panel_b_but_the_rarest():
    """√0.5·z beyond 5 has a chance of 1.5e-12, a norm beyond 5 of P(χ²₁₀ > 50) = 2.7e-7."""
    contexts = EXPERIMENTS["fig3b"].problem.contexts.sample(np.random.default_rng(3), 20_000)
    assert np.linalg.norm(contexts, axis=1).max() <= 5.0
    assert contexts.var(axis=0) == pytest.approx(0.5, rel=5 * np.sqrt(2 / 20_000))


@every_panel
def test_arm_parameters(name):
    """N(0, I): false alarms below 1e-4; fixed seed."""
    rng = np.random.default_rng(4)
    arms = EXPERIMENTS[name].problem.arms
    drawn = np.array([arms.sample(rng) for _ in range(5000)]).reshape(5000, -1)
    assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(5000)
    assert drawn.var(axis=0) == pytest.approx(1.0, abs=5 * np.sqrt(2 / 5000))
    correlation = np.corrcoef(drawn.T) - np.eye(drawn.shape[1])
    assert np.abs(correlation).max() < 5.5 / np.sqrt(5000)


@every_panel
def test_policies(name):
    d, x_max = SIZES[name]
    policies = dict(EXPERIMENTS[name].policies)
    assert policies == {
        "GLM Greedy": GLMGreedy(link="logistic", initial_pulls=d, memory="exact", rule=1),
        "GLM-UCB": GLMUCB(
            link="logistic",
            x_max=x_max,
            b_max=None,
            horizon=2000,
            delta=0.01,
            reward_max=1.0,
            initial_pulls=None,
            memory="exact",
            rule=1,
        ),
    }
    told = policies["GLM-UCB"].informed(np.array([[0.6, 0.8] + [0.0] * (d - 2), [0.1] * d]))
    options = told.options(2, d)
    assert options.initial_pulls == d
    z = x_max * 1.0
    assert options.slope_ratio == pytest.approx(2 / 4 * (2 + np.exp(z) + np.exp(-z)), rel=1e-12)


@every_panel
def test_settings_in_words(name):
    settings = EXPERIMENTS[name].settings
    assert (settings["features"], settings["x_max"]) == SIZES[name]
    assert settings["link"] == "logistic"
    json.dumps(dict(settings))


# -------------------------------------------------------------------- curves


@needs_reference
@pytest.mark.parametrize("label", LABELS)
def test_the_published_means_are_met(results, label):  # noqa: F811
    """Within 3 joint standard errors at the last t: false alarms 0.27 % each; fixed seed."""
    published = json.loads(REFERENCE.read_text())["fig3a"][label]
    result = results("fig3a", INSTANCES["fig3a"])
    assert result.seed == 10
    place = result.policies.index(label)
    assert result.steps[-1] == published["t"][-1] == 1980
    difference = result.mean[place, -1] - published["mean"][-1]
    standard_error = np.hypot(result.half_width[place, -1], published["half_width"][-1]) / 2
    assert abs(difference) < 3 * standard_error


@every_panel
def test_greedy_has_a_fifth_of_the_regret_or_less(results, name):  # noqa: F811
    greedy, optimistic = results(name, INSTANCES[name]).mean[:, -1]
    assert 5 * greedy < optimistic


@every_panel
def test_files(name, tmp_path):
    experiment = EXPERIMENTS[name]
    result = experiment.run(n_instances=2, seed=1)
    paths = experiment.write(result, tmp_path)
    assert [path.name for path in paths] == [
        f"{name}.{ending}" for ending in ("csv", "png", "json")
    ]
    assert all(path.stat().st_size > 0 for path in paths)
    described = json.loads(paths[2].read_text())["settings"]["policies"]
    assert described.keys() == set(LABELS)
