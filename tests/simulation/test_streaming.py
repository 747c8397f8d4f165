"""Welford's mean and spread against numpy."""

import numpy as np
import pytest

from greedyfirst.simulation.streaming import StreamingMoments, half_width_text


def collect(values):
    moments = StreamingMoments(values.shape[1:])
    for value in values:
        moments.add(value)
    return moments


@pytest.mark.parametrize("n", [2, 3, 1000])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_mean_and_half_width(n, shift):
    values = np.random.default_rng(n).normal(size=(n, 2, 3)) + shift
    moments = collect(values)
    np.testing.assert_allclose(moments.mean, values.mean(axis=0), rtol=1e-12, atol=1e-12)
    truth = 2 * values.std(axis=0, ddof=1) / np.sqrt(n)
    np.testing.assert_allclose(moments.half_width, truth, rtol=1e-8)
    assert moments.count == n


def test_small_spread_around_a_large_mean():
    """Sums of squares would lose all digits here: 1e9 ± 1e-3."""
    values = 1e9 + 1e-3 * np.array([[-1.0], [0.0], [1.0]])
    truth = 2 * values.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(collect(values).half_width, truth, rtol=1e-3)


def test_the_spread_of_one_array_is_not_known():
    moments = collect(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(moments.mean, [1.0, 2.0])
    assert np.isnan(moments.half_width).all()
    assert moments.half_width.shape == (2,)


def test_a_spread_in_words():
    assert half_width_text(0.125, ".2f") == "0.12"
    assert half_width_text(0.0, ".1%") == "0.0%"
    assert half_width_text(float("nan"), ".2f") == ""


def test_equal_arrays_have_no_spread():
    moments = collect(np.full((10, 2), 0.1))
    np.testing.assert_allclose(moments.mean, 0.1)
    np.testing.assert_allclose(moments.half_width, 0.0, atol=1e-16)


def test_the_arrays_given_are_not_kept():
    values = np.ones(2)
    moments = StreamingMoments((2,))
    moments.add(values)
    values[:] = 5.0
    moments.add(np.ones(2))
    np.testing.assert_array_equal(moments.mean, 1.0)
