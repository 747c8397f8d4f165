import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chi2, truncnorm

from greedyfirst.theory.diversity import truncated_gaussian
from greedyfirst.theory.diversity.truncated_gaussian import (
    chance_of_quadratic_form,
    moment_in_ball,
    moment_in_box,
    moment_in_interval,
)


@pytest.mark.parametrize("bound", [1e-3, 0.04, 0.06, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("variance", [0.5, 1.0, 4.0])
def test_interval_against_quadrature(variance, bound):
    # Relative to the bound, so that the integrand is never a spike.
    ratio = bound**2 / (2 * variance)
    reach = min(1.0, 10 / np.sqrt(2 * ratio))
    over = quad(lambda y: y * y * np.exp(-ratio * y * y), 0, reach)[0]
    under = quad(lambda y: np.exp(-ratio * y * y), 0, reach)[0]
    exact = bound**2 * over / under
    assert moment_in_interval(variance, bound) == pytest.approx(exact, rel=1e-6)


def test_interval_against_scipy():
    assert moment_in_interval(1.0, 1.2) == pytest.approx(truncnorm(-1.2, 1.2).var(), rel=1e-12)
    assert moment_in_interval(0.0, 1.2) == 0.0


@pytest.mark.parametrize("variances", [(0.5, 0.5), (0.3, 2.0), (0.05, 1.0)])
@pytest.mark.parametrize("bound", [0.4, 1.0, 3.0])
def test_disc_against_quadrature(variances, bound):
    def moment(power):
        return dblquad(
            lambda angle, r: (
                r ** (1 + power)
                * np.cos(angle) ** power
                * np.exp(
                    -(r**2)
                    / 2
                    * (np.cos(angle) ** 2 / variances[0] + np.sin(angle) ** 2 / variances[1])
                )
            ),
            0,
            bound,
            0,
            np.pi / 2,
            epsabs=1e-12,
        )[0]

    found = moment_in_ball(np.array(variances), bound)
    assert found.exact == pytest.approx(moment(2) / moment(0), rel=1e-7)
    assert found.lower == found.exact


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("bound", [0.2, 1.3, 4.0])
def test_isotropic_ball_against_radial_quadrature(d, bound):
    def radial(power):
        return quad(lambda r: r ** (d - 1 + power) * np.exp(-(r**2)), 0, bound)[0]

    found = moment_in_ball(np.full(d, 0.5), bound)
    assert found.exact == pytest.approx(radial(2) / radial(0) / d, rel=1e-9)


def test_series_of_equal_scales_is_a_chi_square():
    found = chance_of_quadratic_form(np.full(4, 2.0), np.ones(4), 3.0)
    assert found == pytest.approx(chi2.cdf(1.5, 4), rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("bound", [0.3, 1.0, 5.0])
def test_bound_beside_uniform_coordinates_is_below_the_series(d, bound, monkeypatch):
    variances = np.linspace(0.2, 3.0, d)
    exact = moment_in_ball(variances, bound).exact
    monkeypatch.setattr(truncated_gaussian, "MOST_TERMS", 0)
    bounded = moment_in_ball(variances, bound)
    assert bounded.exact is None
    assert 0.3 * exact < bounded.lower < exact
    # With wide other coordinates it is the exact value.
    wide = np.full(d, 1e6)
    wide[0] = 0.2
    monkeypatch.undo()
    narrow = moment_in_ball(np.array([0.2] + [1e6] * (d - 1)), bound).exact
    monkeypatch.setattr(truncated_gaussian, "MOST_TERMS", 0)
    assert moment_in_ball(wide, bound).lower == pytest.approx(narrow, rel=1e-4)


def test_very_narrow_direction_still_has_a_bound():
    found = moment_in_ball(np.array([1e-9, 1.0, 1.0]), 2.0)
    assert found.exact is None
    assert found.lower == pytest.approx(1e-9, rel=1e-3)


def test_singular_covariance_has_no_diversity():
    assert moment_in_ball(np.array([0.0, 1.0]), 1.0).exact == 0.0
    assert moment_in_box(np.array([[1.0, 1.0], [1.0, 1.0]]), 2, 1.0).lower <= 1e-8


def test_box_with_a_diagonal_matrix_is_bounded_below_the_exact_value():
    exact = moment_in_box(np.array([0.3, 1.0]), 2, 1.0)
    bounded = moment_in_box(np.diag([0.3, 1.0]), 2, 1.0)
    assert exact.exact is not None
    assert bounded.exact is None
    assert 0.0 < bounded.lower <= exact.exact
