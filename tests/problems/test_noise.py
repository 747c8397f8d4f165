"""Noises against scipy's laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from greedyfirst.problems import GaussianNoise, Noise, TwoPointNoise, UniformNoise

FALSE_ALARM = 1e-5
KINDS = {
    "gaussian": lambda scale: GaussianNoise(sigma=scale),
    "uniform": lambda scale: UniformNoise(half_width=scale),
    "two points": lambda scale: TwoPointNoise(magnitude=scale),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(scale=st.floats(0, 1e6), size=st.integers(0, 50), seed=st.integers(0, 2**32 - 1))
def test_a_sample_is_a_vector_fixed_by_the_seed(kind, scale, size, seed):
    noise = KINDS[kind](scale)
    assert isinstance(noise, Noise)
    sample = noise.sample(np.random.default_rng(seed), size)
    assert sample.shape == (size,)
    assert sample.dtype == np.float64
    assert np.isfinite(sample).all()
    if kind != "gaussian":
        assert (np.abs(sample) <= scale).all()
    assert np.array_equal(noise.sample(np.random.default_rng(seed), size), sample)


@pytest.mark.parametrize("kind", KINDS)
def test_mean_and_sigma_are_right(kind, assert_mean):
    noise = KINDS[kind](1.7)
    sample = noise.sample(np.random.default_rng(60), 100_000)
    assert_mean(sample[:, np.newaxis], 0.0)
    assert_mean(sample[:, np.newaxis] ** 2, noise.sigma**2)


def test_the_laws_are_the_named_ones():
    gaussian = GaussianNoise(sigma=0.5).sample(np.random.default_rng(61), 50_000)
    uniform = UniformNoise(half_width=0.5).sample(np.random.default_rng(62), 50_000)
    points = TwoPointNoise(magnitude=0.5).sample(np.random.default_rng(63), 50_000)
    assert stats.kstest(gaussian, stats.norm(0, 0.5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(uniform, stats.uniform(-0.5, 1.0).cdf).pvalue > FALSE_ALARM
    assert set(points) == {-0.5, 0.5}
    assert stats.binomtest(int((points > 0).sum()), 50_000, 0.5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", KINDS)
def test_no_noise_is_allowed(kind):
    noise = KINDS[kind](0)
    assert noise.sigma == 0.0
    assert (noise.sample(np.random.default_rng(0), 10) == 0.0).all()


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan, "1", True, None])
def test_bad_scales_are_refused_by_name(bad):
    for build, name in zip(KINDS.values(), ("sigma", "half_width", "magnitude"), strict=True):
        with pytest.raises(ValueError, match=f"^{name} must be"):
            build(bad)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_size_is_refused_by_name(kind):
    with pytest.raises(ValueError, match=r"^size must be"):
        KINDS[kind](1.0).sample(np.random.default_rng(0), -1)
