"""The span of rows, against ranks and projections by singular values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.models.span import widen
from support.dependent_rows import dependent_rows


@entry
def widen_by_rows(basis, units, rows, outside, reflector, squares, parts):
    rank = 0
    for n in range(rows.shape[0]):
        squares[n] = widen(basis, units, rank, rows[n], outside, reflector)
        for i in range(rows.shape[1]):
            parts[n, i] = outside[i]
        if squares[n] > 0.0:
            rank += 1
    return rank


def track(rows):
    """The rank, the basis, and what was outside the span at each row."""
    rows = np.ascontiguousarray(rows, dtype=float)
    n, d = rows.shape
    basis, squares, parts = np.eye(d), np.zeros(n), np.zeros((n, d))
    units, outside, reflector = np.zeros((3, d))
    rank = run(widen_by_rows, basis, units, rows, outside, reflector, squares, parts)
    return rank, basis, squares, parts


def assert_tracks(rows, tolerance=1e-9):
    rank, basis, squares, parts = track(rows)
    d = rows.shape[1]
    assert rank == np.linalg.matrix_rank(rows)
    assert np.allclose(basis @ basis.T, np.eye(d), atol=1e-12)
    complement, inside = basis[: d - rank], basis[d - rank :]
    scale = max(np.abs(rows).max(), 1e-300)
    assert np.abs(complement @ rows.T).max(initial=0.0) < 1e-10 * scale
    assert np.allclose(rows @ inside.T @ inside, rows, atol=1e-10 * scale)
    for n, row in enumerate(rows):
        if squares[n] > 0:
            _, singular, directions = np.linalg.svd(rows[:n], full_matrices=False)
            earlier = directions[singular > 1e-12 * singular.max(initial=0.0)]
            outside = row - earlier.T @ (earlier @ row)
            assert np.allclose(parts[n], outside, atol=tolerance * np.linalg.norm(row))
            assert squares[n] == pytest.approx(outside @ outside, rel=1e-6)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 9),
    rank=st.integers(0, 9),
    n=st.integers(1, 30),
)
def test_random_rows_of_random_rank(seed, d, rank, n):
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    assert_tracks(rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)))


def test_one_hot_rows_and_an_intercept():
    kinds = np.random.default_rng(91).integers(5, size=50)
    assert_tracks(np.column_stack([np.ones(50), np.eye(5)[kinds]]))


def test_features_whose_scales_differ_by_ten_to_the_eight():
    rng = np.random.default_rng(92)
    for scales in ([1e8, 1.0, 1e4], [1.0, 1e8, 1e4]):
        rank, basis, *_ = track(rng.normal(size=(10, 3)) * scales)
        assert rank == 3
        assert np.allclose(basis @ basis.T, np.eye(3), atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 9),
    rank=st.integers(1, 8),
    n=st.integers(1, 200),
    reach=st.integers(0, 6),
)
def test_units_and_lengths_do_not_change_the_rank(seed, d, rank, n, reach):
    """Each feature in a unit of 4 to any power up to ``reach``, then each row longer or shorter."""
    rng = np.random.default_rng(seed)
    rows = dependent_rows(rng, n, d, min(rank, d))
    units = np.float_power(4.0, rng.integers(-reach, reach + 1, size=d))
    lengths = np.float_power(4.0, rng.integers(-3, 4, size=(n, 1)))
    assert track(rows * units)[0] == np.linalg.matrix_rank(rows)
    assert track(rows * units * lengths)[0] == np.linalg.matrix_rank(rows)


def test_rounding_does_not_widen_the_span():
    """100 000 rows inside a plane, of any length."""
    rng = np.random.default_rng(93)
    plane = rng.normal(size=(2, 6))
    rows = (
        rng.normal(size=(100_000, 2)) @ plane * np.float_power(10, rng.uniform(-8, 8, (100_000, 1)))
    )
    assert track(rows)[0] == 2


def test_rows_of_zeros_span_nothing():
    rank, basis, *_ = track(np.zeros((5, 3)))
    assert rank == 0
    assert np.array_equal(basis, np.eye(3))
