"""Chances of being the highest of independent normals, against closed forms and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from greedyfirst.policies.gaussian_race import chances_of_highest


def chances(means, spreads, entrants=None):
    entrants = np.ones(len(means), bool) if entrants is None else np.array(entrants)
    return chances_of_highest(np.array(means, float), np.array(spreads, float), entrants)


@settings(max_examples=100, deadline=None)
@given(
    gap=st.floats(-20, 20),
    first=st.floats(1e-6, 1e6),
    second=st.floats(1e-6, 1e6),
)
def test_two_arms_are_phi_of_the_gap(gap, first, second):
    distance = gap * np.hypot(first, second)
    expected = stats.norm.cdf(gap)
    assert chances([distance, 0], [first, second]) == pytest.approx(
        [expected, 1 - expected], abs=1e-8
    )


@pytest.mark.parametrize("n_arms", [1, 2, 3, 5, 20])
def test_equal_laws_have_equal_chances(n_arms):
    assert chances([3.0] * n_arms, [0.1] * n_arms) == pytest.approx([1 / n_arms] * n_arms, abs=1e-9)


def test_three_arms_with_equal_means_are_an_orthant():
    """P(X₁ > X₂, X₁ > X₃) = 1/4 + asin(ρ)/(2π), ρ the correlation of the two differences."""
    spreads = np.array([1.0, 2.0, 3.0])
    expected = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        variance = spreads[i] ** 2
        rho = variance / np.sqrt((variance + spreads[j] ** 2) * (variance + spreads[k] ** 2))
        expected.append(0.25 + np.arcsin(rho) / (2 * np.pi))
    assert chances([0, 0, 0], spreads) == pytest.approx(expected, abs=1e-9)


def test_simulation():
    """Binomial test per arm at 1e-6, 400 000 draws."""
    means, spreads = np.array([0.0, 0.5, -1.0, 0.2]), np.array([1.0, 0.2, 3.0, 0.01])
    draws = np.random.default_rng(41).normal(means, spreads, size=(400_000, 4))
    counts = np.bincount(np.argmax(draws, axis=1), minlength=4)
    for count, p in zip(counts, chances(means, spreads), strict=True):
        assert stats.binomtest(int(count), 400_000, p).pvalue > 1e-6


def test_only_entrants_take_part():
    result = chances([0, 100, 0], [1, 1, 1], [True, False, True])
    assert result == pytest.approx([0.5, 0, 0.5], abs=1e-9)
    assert result[1] == 0
    assert chances([0, 1], [0, 1], [True, False]).tolist() == [1, 0]


def test_numbers_without_spread_share_the_first_place():
    assert chances([1, 1, 0], [0, 0, 0]).tolist() == [0.5, 0.5, 0]


def test_a_number_against_a_normal():
    """Arm 1 never varies: it wins when the other is below it."""
    p = stats.norm.cdf(0.3)
    assert chances([0, 0.3], [1, 0]) == pytest.approx([1 - p, p], abs=1e-9)


@pytest.mark.parametrize("tied", [2, 3, 5])
def test_equal_numbers_against_a_normal_share_their_chance(tied):
    p = stats.norm.cdf(0.3)
    expected = [1 - p] + [p / tied] * tied
    assert chances([0] + [0.3] * tied, [1] + [0] * tied) == pytest.approx(expected, abs=1e-9)


def test_very_different_scales():
    assert chances([0, 0], [1e-9, 1e9]) == pytest.approx([0.5, 0.5], abs=1e-8)
    assert chances([0, 1e-9, 0], [1e-12, 1e-12, 1e-12]) == pytest.approx([0, 1, 0], abs=1e-9)
