"""Checks that every context distribution passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.problems import (
    ClippedGaussian,
    ContextDistribution,
    FromArray,
    FromFunction,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithinBall,
    WithIntercept,
)

FULL = np.array([[1.0, 0.4, 0.0], [0.4, 0.8, -0.2], [0.0, -0.2, 0.5]])
EVERY = {
    "ball": UniformBall(n_features=3, radius=2.0),
    "box": UniformBox(n_features=3),
    "box by vector": UniformBox(n_features=3, half_width=[0.5, 1.0, 2.0]),
    "truncated l2": TruncatedGaussian(n_features=3, covariance=0.5, bound=1.0),
    "truncated linf": TruncatedGaussian(n_features=3, covariance=FULL, bound=1.0, norm="linf"),
    "clipped": ClippedGaussian(n_features=3, covariance=0.5, bound=1.0),
    "clipped by matrix": ClippedGaussian(n_features=3, covariance=FULL, bound=1.0, ball_radius=1),
    "rademacher": Rademacher(n_features=3),
    "gibbs": Gibbs(couplings=FULL),
    "product": Product(parts=[UniformBall(n_features=2), Rademacher(n_features=1)]),
    "intercept": WithIntercept(contexts=UniformBall(n_features=2)),
    "ball of others": WithinBall(contexts=UniformBox(n_features=3), radius=0.5),
    "rows": FromArray(rows=FULL),
    "rows in order": FromArray(rows=np.arange(300.0).reshape(100, 3), order="given"),
    "function": FromFunction(n_features=3, draw=lambda rng, size: rng.random((size, 3))),
}
# The largest absolute coordinate of each, where there is one.
LARGEST = {
    "ball": 2.0,
    "ball of others": 0.5,
    "box": 1.0,
    "box by vector": 2.0,
    "gibbs": 1.0,
    "function": 1.0,
} | {
    name: 1.0
    for name in EVERY
    if name.startswith(("truncated", "clipped", "rademacher", "product", "intercept", "rows"))
    and name != "rows in order"
}


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=15, deadline=None)
@given(size=st.integers(0, 60), seed=st.integers(0, 2**32 - 1))
def test_a_sample_is_a_fresh_finite_array_fixed_by_the_seed(name, size, seed):
    distribution = EVERY[name]
    assert isinstance(distribution, ContextDistribution)
    assert distribution.n_features == 3
    sample = distribution.sample(np.random.default_rng(seed), size)
    assert sample.shape == (size, 3)
    assert sample.dtype == np.float64
    assert sample.flags.c_contiguous
    assert sample.flags.writeable
    assert np.isfinite(sample).all()
    if name in LARGEST and size:
        assert np.abs(sample).max() <= LARGEST[name] * (1 + 1e-12)
    first = sample.copy()
    sample[:] = np.nan
    assert np.array_equal(distribution.sample(np.random.default_rng(seed), size), first)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", [-1, 2.5, True, None])
def test_a_bad_size_is_refused_by_name(name, size):
    with pytest.raises(ValueError, match=r"^size must be a whole number at least 0"):
        EVERY[name].sample(np.random.default_rng(0), size)


@pytest.mark.parametrize("name", EVERY)
def test_distributions_are_frozen_compare_and_show_themselves(name):
    distribution = EVERY[name]
    assert distribution == distribution
    assert isinstance(distribution == EVERY["box"], bool)
    assert type(distribution).__name__ in repr(distribution)
    with pytest.raises(AttributeError):
        distribution.n_features = 4


def test_arrays_are_copied_and_closed():
    rows = np.ones((2, 2))
    contexts = FromArray(rows=rows, order="given")
    rows[:] = 7.0
    assert np.array_equal(contexts.sample(np.random.default_rng(0), 2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        contexts.rows[0, 0] = 7.0
