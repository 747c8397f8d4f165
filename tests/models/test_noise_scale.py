"""The noise scale against its formula: Σ residual²/(t - d), from t > K·d on."""

import numpy as np
import pytest

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import allocate
from greedyfirst.models import noise_scale
from greedyfirst.models.noise_scale import NoiseScale, checked_sigma, known_sigma


@entry
def fill_scales(noise, residuals, sigma, sigma_start, n_arms, d, out):
    """The scale before each residual is taken in, and after the last."""
    for n in range(residuals.shape[0]):
        out[n] = noise_scale.scale(noise, sigma, sigma_start, n_arms, d)
        noise_scale.observe(noise, residuals[n])
    out[residuals.shape[0]] = noise_scale.scale(noise, sigma, sigma_start, n_arms, d)


def scales(residuals, sigma, sigma_start, n_arms, d):
    noise = allocate(NoiseScale)[1]
    out = np.zeros(len(residuals) + 1)
    run(fill_scales, noise, residuals, known_sigma(sigma), float(sigma_start), n_arms, d, out)
    return out


@pytest.mark.parametrize(("n_arms", "d"), [(1, 1), (2, 3), (3, 10)])
def test_unknown_noise_is_estimated_from_t_above_k_d_on(n_arms, d):
    residuals = np.random.default_rng(81).normal(size=100)
    result = scales(residuals, None, 7.0, n_arms, d)
    for t in range(101):
        if t <= n_arms * d:
            assert result[t] == 7.0
        else:
            expected = np.sqrt((residuals[:t] ** 2).sum() / (t - d))
            assert result[t] == pytest.approx(expected, rel=1e-12)


def test_known_noise_stays_as_it_is():
    assert (scales(np.ones(50), 0.3, 7.0, 2, 2) == 0.3).all()


def test_the_estimate_finds_the_noise():
    """20 000 residuals of N(0, 0.5²): the estimate's error is over 5 standard errors, 6e-7."""
    residuals = 0.5 * np.random.default_rng(82).normal(size=20_000)
    estimate = scales(residuals, None, 1.0, 2, 3)[-1]
    assert abs(estimate**2 - 0.25) < 5 * 0.25 * np.sqrt(2 / 20_000)


def test_a_sigma_is_a_positive_number_or_none():
    assert checked_sigma(None) is None
    assert checked_sigma(2) == 2.0
    with pytest.raises(ValueError, match=r"sigma must be a finite number above 0, got 0"):
        checked_sigma(0)
