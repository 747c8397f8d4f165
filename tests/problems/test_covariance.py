"""Covariances and their roots against numpy's matrix product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.problems.covariance import read_covariance, scale_normals, take_root


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 8), rank=st.integers(1, 8))
def test_the_root_is_symmetric_and_squares_to_the_covariance(seed, n_features, rank):
    factor = np.random.default_rng(seed).standard_normal((n_features, rank))
    covariance = read_covariance("covariance", factor @ factor.T, n_features)
    root = take_root(covariance)
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(root @ root, covariance, atol=1e-12 * scale)
    np.testing.assert_allclose(root, root.T, atol=1e-12 * np.sqrt(scale))


def test_numbers_and_diagonals_keep_their_form():
    assert take_root(read_covariance("covariance", 4, 3)) == 2.0
    assert np.array_equal(take_root(read_covariance("covariance", [4, 9], 2)), [2.0, 3.0])
    assert take_root(read_covariance("covariance", np.float64(0.0), 3)) == 0.0


def test_scaling_by_a_number_or_a_diagonal_is_in_place():
    normals = np.ones((4, 2))
    assert scale_normals(normals, 2.0) is normals
    assert scale_normals(normals, np.array([1.0, 3.0])) is normals
    assert np.array_equal(normals, np.tile([2.0, 6.0], (4, 1)))
    matrix = np.array([[1.0, 1.0], [1.0, 2.0]])
    assert np.array_equal(scale_normals(normals, matrix), normals @ matrix)


@pytest.mark.parametrize(
    "value", [-1e-9, np.nan, [1.0, -1.0], [[1.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], "v"]
)
def test_what_is_no_covariance_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^covariance must be"):
        read_covariance("covariance", value, 2)
