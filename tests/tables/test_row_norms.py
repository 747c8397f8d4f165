"""Rows of length one."""

import numpy as np
import pytest

from greedyfirst.tables import normalise_rows


def test_rows_have_length_one_in_place():
    array = np.random.default_rng(0).normal(size=(10_000, 3))
    expected = array / np.linalg.norm(array, axis=1, keepdims=True)
    assert normalise_rows(array) is array
    np.testing.assert_allclose(array, expected, rtol=1e-15)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1.7e308])
def test_extreme_lengths(size):
    array = normalise_rows(np.array([[size, -size], [0, size]]))
    np.testing.assert_allclose(array, [[0.5**0.5, -(0.5**0.5)], [0, 1]], rtol=1e-15)


def test_other_memory_layouts():
    array = np.random.default_rng(1).normal(size=(3, 50))
    expected = array / np.linalg.norm(array, axis=0)
    normalise_rows(array.T)
    np.testing.assert_allclose(array, expected, rtol=1e-15)


@pytest.mark.parametrize(("value", "said"), [(0, "zero"), (np.nan, "finite"), (-np.inf, "finite")])
def test_bad_rows_are_named_and_nothing_changes(value, said):
    array = np.full((9000, 2), 3.0)
    array[8999] = value
    before = array.copy()
    with pytest.raises(ValueError, match=rf"array\[8999\] is .*{said}"):
        normalise_rows(array)
    np.testing.assert_array_equal(array, before)


def test_no_columns_are_zero_rows():
    with pytest.raises(ValueError, match=r"array\[0\] is zero"):
        normalise_rows(np.empty((2, 0)))


def test_not_an_array_to_write_to():
    frozen = np.ones((2, 2))
    frozen.flags.writeable = False
    for bad in (frozen, np.ones((2, 2), dtype=int), np.ones(2), [[1.0]]):
        with pytest.raises(ValueError, match="array must be a writeable float64 array"):
            normalise_rows(bad)
