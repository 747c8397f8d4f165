"""Extreme eigenvalues, against NumPy."""

import numpy as np
import pytest

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.numerics.eigenvalues import largest_eigenvalue, smallest_eigenpair


@entry
def find_smallest(a, work, vector):
    return smallest_eigenpair(a, work, vector)


@entry
def find_largest(a, guess, scratch):
    return largest_eigenvalue(a, guess, scratch)


def smallest(a):
    vector = np.zeros(len(a))
    return run(find_smallest, a.copy(), np.zeros_like(a), vector), vector


def assert_smallest(a):
    value, vector = smallest(a)
    values = np.linalg.eigvalsh(a)
    size = np.abs(values).max() or 1.0
    assert value == pytest.approx(values[0], abs=1e-14 * len(a) * size)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(a @ vector - value * vector) < 1e-13 * len(a) * size


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 20, 93])
def test_the_smallest_eigenpair_of_gram_matrices(d):
    rng = np.random.default_rng(d)
    for rows in (1, d - 1, d, 3 * d):
        x = rng.normal(size=(max(rows, 1), d)) * 10.0 ** rng.uniform(-3, 3, size=d)
        assert_smallest(x.T @ x)


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.eye(4),
        np.diag([3.0, 1.0, 2.0, 1.0]),
        np.ones((5, 5)),
        np.kron(np.eye(3), np.array([[2.0, 1.0], [1.0, 2.0]])),
        np.diag([1.0, 1e-8, 1e8]),
        -np.eye(3) + np.ones((3, 3)),
    ],
    ids=["zero", "identity", "diagonal", "rank one", "blocks", "scales", "indefinite"],
)
def test_the_smallest_eigenpair_of_special_matrices(a):
    assert_smallest(a)


@pytest.mark.parametrize("alike", [False, True], ids=["one stands out", "many are alike"])
@pytest.mark.parametrize("d", [1, 2, 5, 30, 93])
def test_the_largest_eigenvalue(d, alike):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(5 * d, d))
    x = x if alike else np.abs(x)
    gram, guess = x.T @ x, np.ones(d)
    value = run(find_largest, gram, guess, np.zeros((3, d)))
    values, vectors = np.linalg.eigh(gram)
    assert value == pytest.approx(values[-1], rel=1e-10)
    assert abs(guess @ vectors[:, -1]) == pytest.approx(1, abs=1e-7)
