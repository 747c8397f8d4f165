"""Gaussian posteriors kept by rank-one updates, against the closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import allocate
from greedyfirst.models import gaussian_posterior


@entry
def observe_rows(model, arm, rows, rewards, variances, first, last):
    """Take in rows first … last - 1 of an endless repetition of ``rows``."""
    for n in range(first, last):
        place = n % rows.shape[0]
        gaussian_posterior.observe(model, arm, rows[place], rewards[place], variances[place])


def new_model(mean, covariance, n_arms=1):
    def build(memory):
        return gaussian_posterior.init(memory, n_arms, mean, covariance)

    return allocate(build)[1]


def closed_form(mean, covariance, rows, rewards, variances, n):
    """Λ = Σ₀⁻¹ + Σxx'/w, μ = Λ⁻¹(Σ₀⁻¹μ₀ + Σxy/w) over n rows of the repetition."""
    times = n // len(rows) + (np.arange(len(rows)) < n % len(rows))
    weighted = rows * (times / variances)[:, None]
    prior = np.linalg.inv(covariance)
    posterior = np.linalg.inv(prior + weighted.T @ rows)
    return posterior @ (prior @ mean + weighted.T @ rewards), posterior


def relative_error(have, want):
    return np.linalg.norm(have - want) / np.linalg.norm(want)


@pytest.mark.parametrize("n", [0, 1, 3, 10, 1000, 5000, 100_000])
def test_the_closed_form_with_varying_noise(n):
    rng = np.random.default_rng(71)
    d = 5
    mean = rng.normal(size=d)
    root = rng.normal(size=(d, d))
    covariance = root @ root.T + 0.1 * np.eye(d)
    rows, rewards = rng.normal(size=(1500, d)), rng.normal(size=1500)
    variances = np.float_power(10.0, rng.uniform(-3, 4, size=1500))
    model = new_model(mean, covariance)
    run(observe_rows, model, 0, rows, rewards, variances, 0, n)
    wanted_mean, wanted_covariance = closed_form(mean, covariance, rows, rewards, variances, n)
    assert model.pulls[0] == n
    assert relative_error(model.estimate[0], wanted_mean) < 1e-8
    assert relative_error(model.covariance[0], wanted_covariance) < 1e-8
    assert relative_error(model.covariance[0], model.covariance[0].T) < 1e-12
    times = n // 1500 + (np.arange(1500) < n % 1500)
    assert np.allclose(model.gram[0], (rows.T * times) @ rows, rtol=1e-10, atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 6),
    n=st.integers(0, 50),
    exponents=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
)
def test_any_prior_and_units(seed, d, n, exponents):
    rng = np.random.default_rng(seed)
    units = np.float_power(10.0, exponents[:d])
    rows = np.ascontiguousarray(rng.normal(size=(max(n, 1), d)) * units)
    rewards, variances = rng.normal(size=max(n, 1)), rng.uniform(0.1, 10, size=max(n, 1))
    mean, covariance = rng.normal(size=d) / units, np.diag(1 / units**2)
    model = new_model(mean, covariance)
    run(observe_rows, model, 0, rows, rewards, variances, 0, n)
    wanted_mean, wanted_covariance = closed_form(mean, covariance, rows, rewards, variances, n)
    # In the features' own units, where every coordinate counts the same.
    assert relative_error(model.estimate[0] * units, wanted_mean * units) < 1e-7
    scale = np.outer(units, units)
    assert relative_error(model.covariance[0] * scale, wanted_covariance * scale) < 1e-7


def test_arms_do_not_touch_each_other():
    rng = np.random.default_rng(72)
    mean, covariance = np.ones(3), np.eye(3)
    model = new_model(mean, covariance, n_arms=3)
    rows, ones = rng.normal(size=(20, 3)), np.ones(20)
    run(observe_rows, model, 1, rows, ones, ones, 0, 20)
    assert model.pulls.tolist() == [0, 20, 0]
    for arm in (0, 2):
        assert np.array_equal(model.estimate[arm], mean)
        assert np.array_equal(model.covariance[arm], covariance)
        assert (model.gram[arm] == 0).all()
