"""Small dense kernels against NumPy, on random, singular, graded and nearly singular matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.numerics import matrices, vectors


@entry
def _invert(a, out, scale):
    return matrices.invert(a, out, scale)


@entry
def _eigen(a, directions, values):
    matrices.eigen(a, directions, values)


@entry
def _products(a, x, y, out):
    """x·y, out = ax with x'ax twice, and a + 0.5xx' in place."""
    first = vectors.inner(x, y)
    second = matrices.multiply(a, x, out)
    third = matrices.quadratic(a, x)
    matrices.add_outer(a, x, 0.5)
    return first, second, third


def inverse(a):
    out, scale = np.zeros_like(a), np.zeros(len(a))
    return run(_invert, a, out, scale), out


def eigen(a):
    directions, values = np.zeros_like(a), np.zeros(len(a))
    run(_eigen, a.copy(), directions, values)
    return values, directions


def positive_definite(rng, d, condition):
    """Eigenvalues from 1 down to 1/condition in a random orthogonal basis."""
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    result = (q * np.geomspace(1, 1 / condition, d)) @ q.T
    return (result + result.T) / 2


sizes = pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 13, 35])


@sizes
def test_products(d):
    rng = np.random.default_rng(d)
    a = positive_definite(rng, d, 10)
    x, y, out = rng.normal(size=d), rng.normal(size=d), np.zeros(d)
    before = a.copy()
    first, second, third = run(_products, a, x, y, out)
    assert first == pytest.approx(x @ y, rel=1e-12, abs=1e-13)
    assert np.allclose(out, before @ x, rtol=1e-12, atol=1e-14)
    assert second == pytest.approx(x @ before @ x, rel=1e-12)
    assert third == pytest.approx(x @ before @ x, rel=1e-12)
    assert np.allclose(a, before + 0.5 * np.outer(x, x), rtol=1e-13)


# ---------------------------------------------------------------- invert


@sizes
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
def test_inverse_to_the_condition_number(d, condition):
    a = positive_definite(np.random.default_rng(d), d, condition)
    found, out = inverse(a)
    assert found
    expected = np.linalg.inv(a)
    assert np.linalg.norm(out - expected) < 1e-13 * d**2 * condition * np.linalg.norm(expected)
    assert np.array_equal(out, out.T)


@sizes
def test_inverse_is_blind_to_units(d):
    """Scales that differ by 10⁸ cost no digits."""
    rng = np.random.default_rng(d)
    a = positive_definite(rng, d, 10)
    units = np.float_power(10.0, rng.uniform(-4, 4, size=d))
    found, out = inverse(a * np.outer(units, units))
    assert found
    assert np.allclose(out * np.outer(units, units), np.linalg.inv(a), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.ones((3, 3)),
        np.diag([1.0, 0.0]),
        np.diag([1.0, -1.0]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[np.nan]]),
        np.outer([1e-5, 1.0, 1e5], [1e-5, 1.0, 1e5]),
    ],
    ids=["zero", "ones", "a zero", "negative", "indefinite", "nan", "rank one of many scales"],
)
def test_what_is_not_positive_definite_is_told(a):
    assert not inverse(a)[0]


# ---------------------------------------------------------------- eigen


def assert_eigen(a, tolerance=1e-13):
    """Absolutely accurate as LAPACK is, orthonormal, and true to a."""
    d = len(a)
    values, directions = eigen(a)
    scale = np.linalg.norm(a, 2)
    assert np.allclose(np.sort(values), np.linalg.eigvalsh(a), atol=tolerance * d * scale)
    assert np.allclose(directions @ directions.T, np.eye(d), atol=1e-12)
    assert np.allclose(directions.T @ (values[:, None] * directions), a, atol=tolerance * d * scale)


@sizes
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8, 1e15])
def test_eigenvalues_of_random_matrices(d, condition):
    assert_eigen(positive_definite(np.random.default_rng(d), d, condition))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 10), rank=st.integers(0, 10))
def test_eigenvalues_of_singular_matrices(seed, d, rank):
    rows = np.random.default_rng(seed).normal(size=(min(rank, d), d))
    assert_eigen(rows.T @ rows)


@pytest.mark.parametrize(
    "a",
    [np.zeros((4, 4)), np.eye(4), np.ones((4, 4)), np.diag([3.0, 0.0, 1.0]), np.array([[2.0]])],
    ids=["zero", "identity", "ones", "diagonal", "one number"],
)
def test_eigenvalues_of_special_matrices(a):
    assert_eigen(a)


def test_eigenvalues_of_one_hot_columns_beside_an_intercept():
    rows = np.column_stack([np.ones(60), np.eye(4)[np.arange(60) % 4]])
    assert_eigen(rows.T @ rows)


@pytest.mark.parametrize("order", [1, -1], ids=["large first", "small first"])
def test_small_eigenvalues_of_graded_matrices_keep_their_digits(order):
    """The Gram matrix of features whose scales differ by 10⁶; the judge takes the rows' SVD."""
    rng = np.random.default_rng(101)
    rows = rng.normal(size=(500, 4)) * np.array([1e6, 1e4, 1e2, 1.0])[::order]
    values, _ = eigen(rows.T @ rows)
    expected = np.linalg.svd(rows, compute_uv=False) ** 2
    assert np.sort(values)[::-1] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1e8, 1e60])
def test_eigenvalues_of_any_magnitude(scale):
    a = positive_definite(np.random.default_rng(102), 5, 100)
    values, _ = eigen(a * scale)
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(a) * scale, rel=1e-9)
