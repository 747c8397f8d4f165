"""Uniform contexts against their moments and marginal laws."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import UniformBall, UniformBox

FALSE_ALARM = 1e-5


@pytest.mark.parametrize(("n_features", "radius"), [(1, 1.0), (2, 0.3), (3, 1.0), (8, 5.0)])
def test_ball_has_the_second_moment_of_lemma_2(
    n_features, radius, assert_mean, assert_second_moment
):
    sample = UniformBall(n_features=n_features, radius=radius).sample(
        np.random.default_rng(1), 100_000
    )
    assert_mean(sample, 0.0)
    assert_second_moment(sample, radius**2 / (n_features + 2) * np.eye(n_features))


def test_ball_has_uniform_radii_and_angles():
    sample = UniformBall(n_features=2, radius=3.0).sample(np.random.default_rng(2), 50_000)
    radii = (np.hypot(*sample.T) / 3.0) ** 2
    angles = np.arctan2(*sample.T) / (2 * np.pi) + 0.5
    assert stats.kstest(radii, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(angles, "uniform").pvalue > FALSE_ALARM
    assert abs(stats.spearmanr(radii, angles).pvalue) > FALSE_ALARM


def test_ball_marginal_is_the_beta_law():
    # A coordinate of the unit ball in R^d is 2·Beta((d+1)/2, (d+1)/2) - 1.
    sample = UniformBall(n_features=5).sample(np.random.default_rng(3), 50_000)
    assert stats.kstest((sample[:, 1] + 1) / 2, stats.beta(3, 3).cdf).pvalue > FALSE_ALARM


def test_box_has_independent_uniform_coordinates(assert_mean, assert_second_moment):
    widths = np.array([0.5, 1.0, 4.0])
    sample = UniformBox(n_features=3, half_width=widths).sample(np.random.default_rng(4), 100_000)
    assert_mean(sample, 0.0)
    assert_second_moment(sample, np.diag(widths**2) / 3)
    for column, width in zip(sample.T, widths, strict=True):
        assert stats.kstest(column, stats.uniform(-width, 2 * width).cdf).pvalue > FALSE_ALARM


def test_box_of_one_width_is_the_box_of_equal_widths():
    one = UniformBox(n_features=2, half_width=0.7).sample(np.random.default_rng(5), 10)
    both = UniformBox(n_features=2, half_width=[0.7, 0.7]).sample(np.random.default_rng(5), 10)
    assert np.array_equal(one, both)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: UniformBall(n_features=0), "n_features"),
        (lambda: UniformBall(n_features=2.0), "n_features"),
        (lambda: UniformBall(n_features=2, radius=0), "radius"),
        (lambda: UniformBall(n_features=2, radius=np.inf), "radius"),
        (lambda: UniformBox(n_features=-1), "n_features"),
        (lambda: UniformBox(n_features=2, half_width=-1.0), "half_width"),
        (lambda: UniformBox(n_features=2, half_width="wide"), "half_width"),
        (lambda: UniformBox(n_features=2, half_width=[1.0, 0.0]), "half_width"),
        (lambda: UniformBox(n_features=2, half_width=[1.0, 1.0, 1.0]), "half_width"),
        (lambda: UniformBox(n_features=2, half_width=[[1.0], [1.0, 2.0]]), "half_width"),
    ],
)
def test_bad_arguments_are_refused_by_name(build, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        build()
