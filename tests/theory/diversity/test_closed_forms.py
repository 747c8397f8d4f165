import itertools
import math

import numpy as np
import pytest
from laws import LAWS, couplings, some_covariance

from greedyfirst.problems import (
    ClippedGaussian,
    FromArray,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithinBall,
    WithIntercept,
)
from greedyfirst.theory import diversity_constant

DIMENSIONS = (2, 3, 5)


def kept_moment(rows, u):
    inside = rows[rows @ u >= 0.0]
    return inside.T @ inside / len(rows)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", LAWS)
def test_every_half_space_of_a_large_sample_keeps_the_constant(name, d):
    """Monte Carlo, fixed seed; errors of λ_min here are below 1 %, the tolerance is 3 %."""
    law = LAWS[name](d)
    constant = diversity_constant(law)
    rng = np.random.default_rng(7)
    rows = law.sample(rng, 200_000)
    values = [np.linalg.eigvalsh(kept_moment(rows, u))[0] for u in rng.standard_normal((4, d))]
    assert constant.exact is not None
    assert constant.lower == constant.exact
    np.testing.assert_allclose(values, constant.exact, rtol=0.03)
    assert constant.holds


@pytest.mark.parametrize("d", DIMENSIONS)
def test_signs_of_another_size(d):
    assert diversity_constant(Rademacher(n_features=d, scale=3.0)).exact == 4.5


@pytest.mark.parametrize("d", DIMENSIONS)
def test_discrete_laws_by_summing_over_the_corners(d):
    """All sign patterns of generic u, and u on which corners lie, which keep more."""
    for law in (Rademacher(n_features=d), Gibbs(couplings=couplings(d))):
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
        if isinstance(law, Gibbs):
            chances = np.exp(np.einsum("ni,ij,nj->n", corners, couplings(d), corners))
        else:
            chances = np.ones(len(corners))
        chances /= chances.sum()
        directions = [*np.random.default_rng(0).standard_normal((50, d)), *corners, *np.eye(d)]
        directions.append(np.eye(d)[0] - np.eye(d)[1])
        values = []
        for u in directions:
            inside = corners @ u >= 0.0
            moment = (corners[inside] * chances[inside, np.newaxis]).T @ corners[inside]
            values.append(np.linalg.eigvalsh(moment)[0])
        exact = diversity_constant(law).exact
        assert exact == pytest.approx(min(values), rel=1e-10)
        assert values[-1] >= exact - 1e-12


@pytest.mark.parametrize("d", DIMENSIONS)
def test_intercept_is_exactly_zero_with_its_witness(d):
    law = WithIntercept(contexts=UniformBox(n_features=d))
    constant = diversity_constant(law)
    assert constant.lower == constant.exact == 0.0
    assert constant.holds is False
    rows = law.sample(np.random.default_rng(0), 1000)
    assert not (rows @ constant.witness >= 0.0).any()


def test_intercept_inside_a_product():
    law = Product(
        parts=[Rademacher(n_features=2), WithIntercept(contexts=UniformBall(n_features=2))]
    )
    constant = diversity_constant(law)
    assert constant.exact == 0.0
    np.testing.assert_array_equal(constant.witness, [0, 0, -1, 0, 0])


def test_product_takes_its_weakest_part():
    law = Product(parts=[UniformBall(n_features=4, radius=2.0), UniformBox(n_features=1)])
    assert diversity_constant(law).exact == pytest.approx(min(4 / 12, 1 / 6))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_correlated_gaussian_in_a_box_is_bounded_and_estimated(d):
    law = TruncatedGaussian(n_features=d, bound=1.0, covariance=some_covariance(d), norm="linf")
    constant = diversity_constant(law)
    rows = law.sample(np.random.default_rng(1), 100_000)
    half = 0.5 * np.linalg.eigvalsh(rows.T @ rows / len(rows))[0]
    assert constant.exact is None
    assert 0.0 < constant.lower < 0.97 * half
    assert constant.numerical == pytest.approx(half, rel=0.03)
    both = diversity_constant(Product(parts=[law, Rademacher(n_features=1)]))
    assert both.exact is None
    assert both.lower == constant.lower
    assert both.numerical == constant.numerical


def test_example_1_holds_for_the_ball_and_the_lemma_halves_it():
    """R^{d+2}/((d+2)x_max^d) at R = x_max is λ_min(E[xxᵀ]); λ₀ is half of it."""
    for d in DIMENSIONS:
        printed = 1.7 ** (d + 2) / ((d + 2) * 1.7**d)
        exact = diversity_constant(UniformBall(n_features=d, radius=1.7)).exact
        assert exact == pytest.approx(printed / 2)


def test_example_1_needs_a_ball_around_the_origin():
    """The uniform law on [0, 1]^d: its support contains the origin, and λ₀ = 0."""
    rows = np.random.default_rng(0).random((1000, 3))
    assert np.abs(kept_moment(rows, np.array([-1.0, 0.0, 0.0]))).max() == 0.0


def test_example_1_is_a_bound_where_the_set_is_no_ball():
    """The box [-1, 1]^d holds the ball R = 1 and has x_max = √d."""
    for d in DIMENSIONS:
        printed = 1.0 / ((d + 2) * d ** (d / 2))
        assert printed / 2 < diversity_constant(UniformBox(n_features=d)).exact


def example_2(covariance, bound):
    """λ of §2.2, example 2: the least density on the ball times the ball's own second moment."""
    d = len(covariance)
    distances = bound**2 / np.linalg.eigvalsh(covariance)[0]
    density = np.exp(-distances / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    volume = np.pi ** (d / 2) * bound**d / math.gamma(d / 2 + 1)
    return density * volume * bound**2 / (d + 2)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_example_2_with_the_right_power_is_a_bound(d):
    for covariance, bound in ((0.1 * np.eye(d), 0.3), (2.0 * np.eye(d), 1.0)):
        law = TruncatedGaussian(n_features=d, bound=bound, covariance=covariance)
        exact = diversity_constant(law).exact
        assert example_2(covariance, bound) / 2 < exact


@pytest.mark.parametrize("d", DIMENSIONS)
def test_example_2_as_printed_is_not_a_bound(d):
    """|Σ|^{d/2} for |Σ|^{1/2}: at Σ = 0.1·I, x_max = 0.3 more than the second moment."""
    covariance, bound = 0.1 * np.eye(d), 0.3
    determinant = np.linalg.det(covariance)
    printed = example_2(covariance, bound) * determinant ** (0.5 - d / 2)
    law = TruncatedGaussian(n_features=d, bound=bound, covariance=covariance)
    assert printed > 2 * diversity_constant(law).exact
    if d > 2:
        assert printed > bound**2


def test_sharper_factor_of_lemma_1():
    """Two points ±e_j with chances a and b: λ₀ = a/(a+b) of E[xxᵀ], the lemma gives a/(2b)."""
    a, b = 1.0, 3.0
    rows = np.concatenate([np.eye(2), np.repeat(-np.eye(2), 3, axis=0)])
    second = rows.T @ rows / len(rows)
    least = min(
        np.linalg.eigvalsh(kept_moment(rows, u))[0]
        for u in np.random.default_rng(0).standard_normal((100, 2))
    )
    assert least == pytest.approx(a / (a + b) * np.linalg.eigvalsh(second)[0])
    assert a / (a + b) > a / (2 * b)


@pytest.mark.parametrize(
    "law",
    [
        FromArray(rows=np.eye(2)),
        WithinBall(contexts=UniformBall(n_features=2), radius=0.5),
        ClippedGaussian(n_features=2, bound=1.0, ball_radius=1.0),
        ClippedGaussian(n_features=2, bound=1.0, covariance=[[1.0, 0.5], [0.5, 1.0]]),
        "ball",
    ],
)
def test_laws_without_a_closed_form_say_what_to_do(law):
    with pytest.raises(ValueError, match="measure_diversity"):
        diversity_constant(law)


def test_part_without_a_closed_form_is_named():
    law = Product(parts=[Rademacher(n_features=1), FromArray(rows=np.eye(2))])
    with pytest.raises(ValueError, match=r"parts\[1\]: distribution must be"):
        diversity_constant(law)
