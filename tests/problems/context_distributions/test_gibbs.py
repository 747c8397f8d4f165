"""Contexts on the cube against chains solved by hand and a sum over all corners."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import Gibbs, Rademacher

FALSE_ALARM = 1e-5


def test_rademacher_is_uniform_on_the_corners(assert_mean, assert_second_moment):
    sample = Rademacher(n_features=3).sample(np.random.default_rng(20), 80_000)
    assert_mean(sample, 0.0)
    assert_second_moment(sample, np.eye(3))
    _, counts = np.unique(sample, axis=0, return_counts=True)
    assert len(counts) == 8
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_rademacher_of_another_size():
    small = Rademacher(n_features=3, scale=0.3).sample(np.random.default_rng(1), 50)
    signs = Rademacher(n_features=3).sample(np.random.default_rng(1), 50)
    np.testing.assert_array_equal(small, 0.3 * signs)
    with pytest.raises(ValueError, match="scale must be a finite number above 0, got 0"):
        Rademacher(n_features=3, scale=0)


@pytest.mark.parametrize("coupling", [-0.7, 0.0, 0.3])
def test_two_spins_have_correlation_tanh(coupling, assert_mean, assert_second_moment):
    # Both ordered pairs count: p(x) ∝ exp(2J x_1 x_2), so E[x_1 x_2] = tanh(2J).
    law = Gibbs(couplings=[[0.0, coupling], [coupling, 0.0]])
    exact = np.array([[1.0, math.tanh(2 * coupling)], [math.tanh(2 * coupling), 1.0]])
    moment = np.einsum("s,si,sj->ij", law.probabilities, law.states, law.states)
    np.testing.assert_allclose(moment, exact, atol=1e-15)
    sample = law.sample(np.random.default_rng(21), 50_000)
    assert_mean(sample, 0.0)
    assert_second_moment(sample, exact)


def test_an_open_chain_has_products_of_tanh_as_correlations(assert_second_moment):
    # Couplings above the diagonal only, so each pair counts once: E[x_1 x_3] = tanh(a)·tanh(b).
    a, b = 0.6, -0.4
    law = Gibbs(couplings=[[9.0, a, 0.0], [0.0, -3.0, b], [0.0, 0.0, 0.0]])
    t, u = math.tanh(a), math.tanh(b)
    exact = np.array([[1, t, t * u], [t, 1, u], [t * u, u, 1]])
    moment = np.einsum("s,si,sj->ij", law.probabilities, law.states, law.states)
    np.testing.assert_allclose(moment, exact, atol=1e-14)
    assert_second_moment(law.sample(np.random.default_rng(22), 50_000), exact)


def test_frequencies_follow_the_sum_over_corners():
    J = np.random.default_rng(23).normal(0, 0.3, (4, 4))
    corners = list(itertools.product((-1, 1), repeat=4))
    weights = [
        math.exp(sum(J[i, j] * x[i] * x[j] for i in range(4) for j in range(4))) for x in corners
    ]
    exact = dict(zip(corners, np.array(weights) / math.fsum(weights), strict=True))
    law = Gibbs(couplings=J)
    for state, probability in zip(law.states, law.probabilities, strict=True):
        assert probability == pytest.approx(exact[tuple(state)], rel=1e-12)
    sample = law.sample(np.random.default_rng(24), 50_000)
    counts = {corner: int((sample == corner).all(axis=1).sum()) for corner in corners}
    expected = [50_000 * exact[corner] for corner in corners]
    assert stats.chisquare(list(counts.values()), expected).pvalue > FALSE_ALARM


def test_huge_couplings_do_not_overflow():
    law = Gibbs(couplings=[[0.0, 1e6], [0.0, 0.0]])
    sample = law.sample(np.random.default_rng(25), 100)
    assert np.array_equal(sample[:, 0], sample[:, 1])


def test_the_largest_dimension_is_enumerated():
    law = Gibbs(couplings=np.zeros((16, 16)))
    assert law.n_features == 16
    np.testing.assert_allclose(law.probabilities, 2.0**-16)


@pytest.mark.parametrize(
    "couplings",
    [np.zeros((17, 17)), np.zeros((2, 3)), np.zeros((0, 0)), np.zeros(4), [[np.inf]], "J"],
)
def test_bad_couplings_are_refused_by_name(couplings):
    with pytest.raises(ValueError, match=r"^couplings must be"):
        Gibbs(couplings=couplings)


def test_bad_n_features_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^n_features must be"):
        Rademacher(n_features=0)
