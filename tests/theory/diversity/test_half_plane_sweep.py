import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.theory.diversity.half_plane_sweep import sweep_half_planes
from greedyfirst.theory.diversity.half_space_moments import half_space_moment, smallest_eigenpair


def least_by_brute_force(rows):
    """λ_min of the kept rows on both sides of each angle at which a half-plane's edge meets a row.

    Angles differ by more than 1e-5 for the rows used here, so 1e-7 is beside but not beyond.
    """
    angles = np.arctan2(rows[:, 1], rows[:, 0])
    least = np.inf
    for angle in np.concatenate([angles + np.pi / 2, angles - np.pi / 2]):
        for turned in (angle - 1e-7, angle + 1e-7):
            inside = rows[rows @ np.array([np.cos(turned), np.sin(turned)]) >= 0.0]
            least = min(least, float(np.linalg.eigvalsh(inside.T @ inside)[0]))
    return max(least, 0.0)


def swept(rows):
    return smallest_eigenpair(half_space_moment(rows, sweep_half_planes(rows)))[0]


def agree(rows):
    np.testing.assert_allclose(swept(rows), least_by_brute_force(rows), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.0, 1.0))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_equals_brute_force_on_continuous_rows(seed, n, shift):
    rng = np.random.default_rng(seed)
    agree(np.round(rng.standard_normal((n, 2)) + shift, 3) + 1e-4)


@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=30))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_equals_brute_force_on_rows_with_ties(points):
    """Repeated, parallel and opposite rows, and zeros."""
    rows = np.array(points, dtype=float)
    if (rows != 0).any():
        agree(rows)


def test_one_dimension():
    rows = np.array([[3.0], [-1.0], [-2.0], [0.0]])
    assert swept(rows) == 5.0
    assert swept(-rows) == 5.0
    assert swept(np.array([[1.0], [2.0]])) == 0.0


def test_rows_of_zeros():
    assert swept(np.zeros((3, 2))) == 0.0


def test_a_regular_polygon():
    """Rows at the corners of a regular 4m-gon are symmetric: every half-plane keeps half."""
    angles = np.arange(40) * (2 * np.pi / 40) + 0.01
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    np.testing.assert_allclose(swept(rows), 10.0)
