"""Figure 2 to the letter of the text: settings against closed forms, and against the figure."""

import numpy as np
import pytest
from scipy import stats
from test_figure2 import LABELS, PANELS, every_panel, has_correct_prior, has_intercept

from greedyfirst.experiments import AS_WRITTEN, EXPERIMENTS
from greedyfirst.experiments.published import agree, compare
from greedyfirst.policies import Greedy, GreedyFirst, OLSBandit


def test_all_panels_are_there():
    assert list(AS_WRITTEN) == PANELS
    for name, experiment in AS_WRITTEN.items():
        assert experiment.name == f"{name}-as-written"
        assert experiment.published_name == name
        assert "as written" in experiment.title


@every_panel
def test_size(name):
    experiment = AS_WRITTEN[name]
    assert (experiment.horizon, experiment.n_instances) == (10_000, 1000)
    assert experiment.problem.n_arms == 2
    assert experiment.problem.n_features == 3 + has_intercept(name)
    assert experiment.problem.noise.sigma == 0.5
    assert list(experiment.policies) == LABELS
    assert experiment.readings == {}


@every_panel
def test_contexts_are_truncated_and_of_standard_deviation_one_half(name):
    """Each coordinate has scipy's truncated normal law: Kolmogorov-Smirnov, p > 1e-4 for each."""
    contexts = AS_WRITTEN[name].problem.contexts.sample(np.random.default_rng(1), 20_000)
    if has_intercept(name):
        assert (contexts[:, 0] == 1.0).all()
        contexts = contexts[:, 1:]
    law = stats.truncnorm(-2.0, 2.0, scale=0.5)  # ±1 is two standard deviations
    for column in contexts.T:
        assert stats.kstest(column, law.cdf).pvalue > 1e-4
    # The figure's own contexts, of variance 0.5 and clipped, would not pass.
    published = EXPERIMENTS[name].problem.contexts.sample(np.random.default_rng(1), 20_000)
    assert stats.kstest(published[:, -1], law.cdf).pvalue < 1e-10


@every_panel
def test_each_arm_has_a_coin_of_its_own(name):
    """0.5 × N(±1, I): products of two arms have mean 0, of one arm's coefficients ¼; 1e-4."""
    rng = np.random.default_rng(2)
    drawn = np.array([AS_WRITTEN[name].problem.arms.sample(rng) for _ in range(20_000)])
    variance = 1.0 if has_correct_prior(name) else 0.5  # 0.25 of each component, ¼ between them
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.05)  # the intercept's too
    assert np.abs(drawn.mean(axis=0)).max() < 5 * np.sqrt(variance / 20_000)
    assert np.abs((drawn[:, 0] * drawn[:, 1]).mean(axis=0)).max() < 0.04
    within = (drawn[:, :, -1] * drawn[:, :, -2]).mean(axis=0)
    assert within == pytest.approx(0.0 if has_correct_prior(name) else 0.25, abs=0.04)


@every_panel
def test_algorithms_are_as_printed(name):
    policies = AS_WRITTEN[name].policies
    ols_bandit = OLSBandit(h=5, q=1, warmup="none", initial_pulls=0)
    assert policies["Greedy"] == Greedy(warmup="none", initial_pulls=0)
    assert policies["OLS Bandit"] == ols_bandit
    assert policies["Greedy-First"] == GreedyFirst(
        warmup="none",
        t0=4 * 2 * 3,
        fallback=ols_bandit,
        span="full",
        carry_over=False,
        on_alarm="explore",
    )
    for label in ("OFUL", "Prior-free TS", "Prior-dependent TS"):
        assert policies[label] == EXPERIMENTS[name].policies[label]


def test_the_published_figure_was_not_made_so():
    """The comparison of all published values finds out: OFUL is off by far in (c)."""
    experiment = AS_WRITTEN["fig2c"]
    result = experiment.run(n_instances=60, n_jobs=2)
    found = compare(experiment.published_name, experiment.final(result))
    assert len(found) == 6
    assert not agree(found)


def test_files_do_not_replace_those_of_the_figure(tmp_path):
    experiment = AS_WRITTEN["fig2a"]
    paths = experiment.write(experiment.run(n_instances=2), tmp_path)
    assert [path.name for path in paths] == [
        f"fig2a-as-written.{ending}" for ending in ("csv", "png", "json")
    ]
