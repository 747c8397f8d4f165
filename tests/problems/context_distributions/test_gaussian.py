"""Bounded Gaussian contexts against scipy's truncated normal, chi-square ratios and integrals."""

import numpy as np
import pytest
from scipy import integrate, stats

from greedyfirst.problems import ClippedGaussian, TruncatedGaussian

FALSE_ALARM = 1e-5
CORRELATED = np.array([[0.8, 0.5], [0.5, 0.6]])


@pytest.mark.parametrize(
    ("n_features", "variance", "bound"), [(1, 0.5, 1.0), (3, 0.5, 1.0), (6, 2, 3)]
)
def test_truncation_to_a_ball_shrinks_variance_by_a_chi_square_ratio(
    n_features, variance, bound, assert_mean, assert_second_moment
):
    # E[x_i² | ‖x‖ ≤ b] = v · P(χ²_{d+2} ≤ b²/v) / P(χ²_d ≤ b²/v).
    law = TruncatedGaussian(n_features=n_features, covariance=variance, bound=bound)
    sample = law.sample(np.random.default_rng(10), 100_000)
    cut = bound**2 / variance
    coordinate = variance * stats.chi2.cdf(cut, n_features + 2) / stats.chi2.cdf(cut, n_features)
    assert np.linalg.norm(sample, axis=1).max() <= bound
    assert_mean(sample, 0.0)
    assert_second_moment(sample, coordinate * np.eye(n_features))
    squares = (sample**2).sum(axis=1) / variance
    whole = stats.chi2.cdf(cut, n_features)
    shares = stats.chi2.cdf(squares, n_features) / whole
    assert stats.kstest(shares, "uniform").pvalue > FALSE_ALARM


def test_truncation_to_a_box_gives_truncated_normal_coordinates(assert_second_moment):
    variances = np.array([0.5, 2.0, 0.1])
    law = TruncatedGaussian(n_features=3, covariance=variances, bound=1.0, norm="linf")
    sample = law.sample(np.random.default_rng(11), 100_000)
    laws = [stats.truncnorm(-1 / s, 1 / s, scale=s) for s in np.sqrt(variances)]
    assert_second_moment(sample, np.diag([one.var() for one in laws]))
    for column, one in zip(sample.T, laws, strict=True):
        assert stats.kstest(column, one.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_truncation_of_a_correlated_gaussian_has_the_integrated_second_moment(
    norm, assert_second_moment
):
    inverse = np.linalg.inv(CORRELATED)
    half = {"l2": lambda x: np.sqrt(1 - x**2), "linf": lambda x: 1.0}[norm]

    def integral(of):
        def integrand(y, x):
            point = np.array([x, y])
            return of(x, y) * np.exp(-0.5 * point @ inverse @ point)

        return integrate.dblquad(integrand, -1, 1, lambda x: -half(x), half, epsabs=1e-7)[0]

    mass = integral(lambda x, y: 1.0)
    xx, xy, yy = (
        integral(of) / mass for of in (lambda x, y: x * x, lambda x, y: x * y, lambda x, y: y * y)
    )
    law = TruncatedGaussian(n_features=2, covariance=CORRELATED, bound=1.0, norm=norm)
    sample = law.sample(np.random.default_rng(12), 100_000)
    assert_second_moment(sample, np.array([[xx, xy], [xy, yy]]))


def test_truncation_with_a_rare_bound_still_fills_the_sample():
    # P(‖x‖ ≤ 0.1) for N(0, I_2) is 1 - exp(-0.005), about 1 in 200.
    law = TruncatedGaussian(n_features=2, bound=0.1)
    sample = law.sample(np.random.default_rng(13), 5_000)
    assert sample.shape == (5_000, 2)
    radii = -np.expm1(-(sample**2).sum(axis=1) / 2) / -np.expm1(-0.005)
    assert stats.kstest(radii, "uniform").pvalue > FALSE_ALARM


def test_truncation_refuses_a_hopeless_bound():
    law = TruncatedGaussian(n_features=20, bound=0.1)
    with pytest.raises(ValueError, match=r"^bound must be large enough .* got 0\.1$"):
        law.sample(np.random.default_rng(0), 1)


def clipped_second_moment(variance, bound):
    """E[min(z², b²)] = v·(2Φ(c) - 1 - 2cφ(c)) + 2b²(1 - Φ(c)) with c = b/√v."""
    c = bound / np.sqrt(variance)
    inner = 2 * stats.norm.cdf(c) - 1 - 2 * c * stats.norm.pdf(c)
    return variance * inner + 2 * bound**2 * stats.norm.sf(c)


@pytest.mark.parametrize(("variance", "bound"), [(0.5, 1.0), (4.0, 1.0), (0.01, 1.0)])
def test_clipping_has_the_closed_second_moment_and_atoms(
    variance, bound, assert_mean, assert_second_moment
):
    law = ClippedGaussian(n_features=3, covariance=variance, bound=bound)
    sample = law.sample(np.random.default_rng(14), 100_000)
    assert np.abs(sample).max() <= bound
    assert_mean(sample, 0.0)
    assert_second_moment(sample, clipped_second_moment(variance, bound) * np.eye(3))
    at_bound = int((np.abs(sample) == bound).sum())
    chance = 2 * stats.norm.sf(bound / np.sqrt(variance))
    assert stats.binomtest(at_bound, sample.size, chance).pvalue > FALSE_ALARM


def test_a_wide_clip_leaves_the_gaussian(assert_second_moment):
    law = ClippedGaussian(n_features=2, covariance=CORRELATED, bound=100.0)
    sample = law.sample(np.random.default_rng(15), 100_000)
    assert_second_moment(sample, CORRELATED)
    assert stats.kstest(sample[:, 0] / np.sqrt(0.8), "norm").pvalue > FALSE_ALARM


def test_the_three_forms_of_a_covariance_agree():
    forms = [0.5, [0.5, 0.5], [[0.5, 0.0], [0.0, 0.5]]]
    samples = [
        ClippedGaussian(n_features=2, covariance=form, bound=1.0).sample(
            np.random.default_rng(16), 50
        )
        for form in forms
    ]
    assert np.array_equal(samples[0], samples[1])
    np.testing.assert_allclose(samples[0], samples[2], rtol=1e-14)


def test_a_singular_covariance_stays_on_its_line():
    law = TruncatedGaussian(n_features=2, covariance=np.ones((2, 2)), bound=1.0)
    sample = law.sample(np.random.default_rng(17), 1_000)
    np.testing.assert_allclose(sample[:, 0], sample[:, 1], atol=1e-14)
    assert sample.std() > 0.1


def test_the_ball_moves_only_long_rows_and_keeps_their_direction():
    options = {"n_features": 3, "covariance": 0.5, "bound": 1.0}
    clipped = ClippedGaussian(**options).sample(np.random.default_rng(18), 2_000)
    scaled = ClippedGaussian(**options, ball_radius=1.0).sample(np.random.default_rng(18), 2_000)
    norms = np.linalg.norm(clipped, axis=1)
    inside = norms <= 1.0
    assert 0 < inside.sum() < len(inside)
    assert np.array_equal(scaled[inside], clipped[inside])
    np.testing.assert_allclose(scaled[~inside], clipped[~inside] / norms[~inside, None], rtol=1e-14)


@pytest.mark.parametrize("law", [TruncatedGaussian, ClippedGaussian])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features", 0),
        ("n_features", 2.0),
        ("bound", 0.0),
        ("bound", np.nan),
        ("covariance", -1.0),
        ("covariance", [1.0, -1.0]),
        ("covariance", [1.0, 1.0, 1.0]),
        ("covariance", [[1.0, 0.5], [0.4, 1.0]]),
        ("covariance", [[1.0, 2.0], [2.0, 1.0]]),
        ("covariance", [[1.0], [1.0, 2.0]]),
        ("covariance", np.ones((1, 2, 2))),
        ("covariance", [[1.0, np.nan], [np.nan, 1.0]]),
    ],
)
def test_bad_arguments_are_refused_by_name(law, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        law(**({"n_features": 2, "bound": 1.0} | {name: value}))


def test_bad_norm_and_ball_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^norm must be one of 'l2', 'linf'"):
        TruncatedGaussian(n_features=2, bound=1.0, norm="l1")
    with pytest.raises(ValueError, match=r"^ball_radius must be"):
        ClippedGaussian(n_features=2, bound=1.0, ball_radius=0.0)
