"""Theorem 1, Corollary 1, Proposition 1 and Theorem 3 against the steps of their proofs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.links import LINKS
from greedyfirst.theory import (
    RegretInputs,
    generalized_linear_regret,
    greedy_first_regret,
    greedy_regret,
    lacking_diversity_probability,
    margin_rate,
    switch_probability,
)
from greedyfirst.theory.bounds.peeling_sum import (
    generalized_factor,
    linear_constant,
    linear_factor,
    peeling_sum,
)

INPUTS = RegretInputs(
    n_features=3, horizon=10_000, x_max=1.7, b_max=2.0, sigma=0.5, margin_constant=0.7, lambda0=0.1
)


def summed(d, power=2.0, slope=1.0):
    h = np.arange(200_000)
    return float(((h + 1.0) ** power * np.minimum(1, 4 * d * np.exp(-((slope * h) ** 2)))).sum())


# ------------------------------------------------------------------ the peeling sum


@pytest.mark.parametrize("d", [1, 2, 7, 1000, 10**9])
@pytest.mark.parametrize(("power", "slope"), [(2, 1.0), (1, 1.0), (9.5, 1.0), (2, 0.01), (2, 3.0)])
def test_the_peeling_sum_is_bounded_closely_from_above(d, power, slope):
    exact = summed(d, power, slope)
    assert exact * (1 - 1e-12) <= peeling_sum(d, power=power, slope=slope) <= exact * (1 + 1e-11)


def test_the_papers_constants_bound_the_sum():
    for d in [1, 2, 3, 5, 10, 100, 10**4, 10**8, 10**15]:
        assert linear_factor(d) >= summed(d)
        for slope in (0.003, 0.1, 0.25, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0):
            assert generalized_factor(d, slope) >= summed(d, slope=slope)


def test_c_bar_lies_where_the_theorem_says():
    assert linear_constant(1) == math.inf
    values = [linear_constant(d) for d in (2, 3, 10, 10**6, 10**200)]
    assert values == sorted(values, reverse=True)
    assert 1 / 3 < values[-1] < values[0] < 52


# ------------------------------------------------------------------ Theorem 1


def test_theorem_1_by_hand():
    d, T, x, b, sigma, c0, lam = 3, 10_000, 1.7, 2.0, 0.5, 0.7, 0.1
    log = math.log(d)
    c_bar = 1 / 3 + 3.5 / log**0.5 + 38 / 3 / log + 67 / 4 / log**1.5
    a = 128 * c0 * c_bar * x**4 * sigma**2 * d * log**1.5 / lam**2
    rest = 160 * b * x**3 * d / lam + 2 * x * b
    found = greedy_regret(INPUTS)
    assert found.c_bar == pytest.approx(c_bar)
    assert found.log_coefficient == pytest.approx(a)
    assert found.bound == pytest.approx(a * math.log(T) + a + rest)
    assert found.printed_bound == pytest.approx(a * math.log(T) + a + c_bar * rest)
    assert found.c_gb == pytest.approx(2 * a + rest)
    assert found.c1 == pytest.approx(lam / (40 * x**2))
    assert found.c3 == pytest.approx(lam**2 / (32 * d * sigma**2 * x**2))
    assert found.dominant == "estimates"
    assert found.trivial_bound == pytest.approx(2 * x * b * T)


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 40),
    T=st.integers(3, 10**7),
    sigma=st.floats(0, 3),
    share=st.floats(1e-3, 1),
    x=st.floats(0.1, 10),
    b=st.floats(0.1, 10),
)
def test_bounds_keep_their_order(d, T, sigma, share, x, b):
    """Sharp ≤ proof ≤ printed, and C_GB·log T covers all (d is far from e^64, where C̄ < 1)."""
    inputs = RegretInputs(
        n_features=d,
        horizon=T,
        x_max=x,
        b_max=b,
        sigma=sigma,
        margin_constant=1.0,
        lambda0=share * x**2 / (2 * d),
    )
    found = greedy_regret(inputs)
    slack = 1 + 1e-9
    assert found.sharp_bound <= found.bound * slack
    assert found.bound <= found.printed_bound * slack
    assert found.bound <= found.c_gb * math.log(T) * slack
    assert found.sharp_bound <= found.trivial_bound * slack


def test_the_sharp_bound_sums_lemma_6_round_by_round():
    inputs = replace(INPUTS, horizon=50, sigma=1e-4)
    found = greedy_regret(inputs)
    t = np.arange(1, 50)
    rounds = 4 * 0.7 * 1.7**2 * summed(3) / inputs.c3 / t
    rate = (1 - math.log(2)) / 2 * (0.1 / 2) / 1.7**2
    lacking = 4 * 2.0 * 1.7 * 3 / math.expm1(rate)
    expected = 2 * 1.7 * 2.0 + rounds.sum() + lacking
    assert min(expected, found.trivial_bound) == pytest.approx(found.sharp_bound)


# ------------------------------------------------------------------ Corollary 1


def test_margin_rates():
    assert [margin_rate(INPUTS, alpha=alpha).rate for alpha in (0, 0.5, 1, 1.5)] == [
        "T^0.5",
        "T^0.25",
        "log T",
        "1",
    ]
    for alpha in (0.0, 0.5, 1.0, 2.0):
        short = margin_rate(INPUTS, alpha=alpha)
        long = margin_rate(replace(INPUTS, horizon=10_000**2), alpha=alpha)
        growth = (long.bound - short.bound) / short.coefficient
        expected = {0.0: 2 * (1e4 - 1e2), 0.5: 4 * (1e2 - 10), 1.0: math.log(1e4), 2.0: 2e-2}
        assert growth == pytest.approx(expected[alpha], rel=0.02)


def test_margin_rates_are_continuous_at_one():
    values = [margin_rate(INPUTS, alpha=alpha).bound for alpha in (1 - 1e-9, 1.0, 1 + 1e-9)]
    assert values == pytest.approx([values[1]] * 3, rel=1e-6)


def test_margin_rate_one_is_theorem_1_with_the_sum_itself():
    found = greedy_regret(INPUTS)
    expected = found.bound - (found.peeling_factor - peeling_sum(3)) * (
        found.log_coefficient / found.peeling_factor
    ) * (1 + math.log(INPUTS.horizon))
    assert margin_rate(INPUTS, alpha=1).bound == pytest.approx(expected)


# ------------------------------------------------------------------ Proposition 1


@pytest.mark.parametrize(
    ("link", "lipschitz", "floor"),
    [
        ("identity", 1.0, 1.0),
        ("logistic", 0.25, 1 / (2 + math.exp(6.8) + math.exp(-6.8))),
    ],
)
def test_proposition_1_reads_the_link(link, lipschitz, floor):
    found = generalized_linear_regret(INPUTS, link=link)
    assert found.lipschitz == pytest.approx(lipschitz)
    assert found.slope_floor == pytest.approx(floor)
    a = 128 * 0.7 * found.c_bar * 1.7**4 * 0.25 * 3 / 0.01
    rest = 160 * 2 * 1.7**3 * 3 / 0.1 + 2 * 1.7 * 2
    assert found.bound == pytest.approx(lipschitz * (a * (math.log(10_000) + 1) + rest))
    assert found.bound <= found.printed_bound


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("probit", "got 'probit'"),
        ("probit", "canonical link, whose estimate solves"),
        ("poisson", "sub-Gaussian noise, which rewards of this link do not have"),
        ("mine", "canonical"),
    ],
)
def test_links_without_a_proof_are_refused(monkeypatch, link, reason):
    monkeypatch.setitem(LINKS, "mine", type("Mine", (), {"canonical": False, "subgaussian": True}))
    with pytest.raises(ValueError, match="one of 'identity', 'logistic'") as caught:
        generalized_linear_regret(INPUTS, link=link)
    assert reason in str(caught.value)


def test_c_bar_mu_by_hand():
    q = math.sqrt(math.log(12)) / 0.25 + 1
    expected = q**3 / 3 + 1.5 * q**2 + 8 / 3 * q + 64 * (q / 8 + 0.25) + 16 + 2
    assert generalized_factor(3, 0.25) == pytest.approx(expected)


# ------------------------------------------------------------------ Theorem 3


def test_theorem_3_by_hand():
    inputs = replace(INPUTS, n_arms=4)
    found = greedy_first_regret(inputs, t0=500, ols_bandit_coefficient=30.0)
    a = greedy_regret(INPUTS).log_coefficient
    assert found.log_coefficient == pytest.approx(6 * a + 30)
    assert found.constant == pytest.approx(2 * 501 * 1.7 * 2)
    assert found.bound == pytest.approx(found.log_coefficient * math.log(10_000) + found.constant)
    assert found.switch_probability is None


def test_pairs_of_arms_can_each_add_their_margin():
    """Contexts near the rays between Example 1's arms: all pairs reach C₀κ, not K-1 of them."""
    angles = np.radians([60.0, 180.0, 300.0])
    rays = np.array([[math.cos(a), math.sin(a)] for a in angles])
    arms = np.array([[1, 0], [-0.5, math.sqrt(0.75)], [-0.5, -math.sqrt(0.75)]])
    rng = np.random.default_rng(5)
    n, kappa = 200_000, 0.02
    across = np.stack([-rays[:, 1], rays[:, 0]], axis=1)
    which = rng.integers(3, size=n)
    x = rays[which] * rng.uniform(0.5, 1, n)[:, None]
    x += across[which] * rng.uniform(-0.1, 0.1, n)[:, None]
    values = x @ arms.T
    best = values.argmax(axis=1)
    near = {
        (i, j): np.abs(values[:, i] - values[:, j]) <= kappa for i in range(3) for j in range(i)
    }
    c0_kappa = max(each.mean() for each in near.values())
    total = sum((each & ((best == i) | (best == j))).mean() for (i, j), each in near.items())
    assert total > 2.9 * c0_kappa


def test_delta_of_theorem_3():
    c1 = INPUTS.c1
    assert switch_probability(INPUTS, t0=20_000) == pytest.approx(
        6 * math.exp(-20_000 * c1) / c1, rel=1e-12
    )
    assert switch_probability(INPUTS, t0=10) == 1.0
    sharp = switch_probability(INPUTS, t0=20_000, sharp=True)
    t = np.arange(20_001, 60_000)
    assert sharp == pytest.approx(6 * np.exp(-INPUTS.sharp_c1 * t).sum(), rel=1e-6)
    assert sharp < switch_probability(INPUTS, t0=20_000)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigma": -1}, ["sigma", "-1", "at least 0", "sub-Gaussian"]),
        ({"x_max": 0}, ["x_max", "above 0", "Assumption 1"]),
        ({"b_max": math.inf}, ["b_max", "inf", "Assumption 1"]),
        ({"margin_constant": 0}, ["margin_constant", "Assumption 2"]),
        ({"lambda0": 0}, ["lambda0", "above 0"]),
        ({"horizon": 2}, ["horizon", "at least 3"]),
        ({"n_arms": 1}, ["n_arms", "at least 2"]),
        ({"n_features": 2.0}, ["n_features", "whole number"]),
    ],
)
def test_bad_inputs_are_named(change, words):
    with pytest.raises(ValueError, match="must be") as caught:
        replace(INPUTS, **change)
    for word in words:
        assert word in str(caught.value)


def test_a_diversity_that_no_law_has_is_refused_where_it_is_assumed():
    """x_max²/(2d) = 0.4817. In Theorem 3 λ₀ is a number of the test, and may be any."""
    inputs = replace(INPUTS, lambda0=0.5)
    calls = (
        lambda: greedy_regret(inputs),
        lambda: generalized_linear_regret(inputs, link="logistic"),
        lambda: margin_rate(inputs, alpha=1),
        lambda: switch_probability(inputs, t0=10),
        lambda: lacking_diversity_probability(inputs, 10),
    )
    for call in calls:
        expected = r"lambda0 must be .* at most 0.481667, got 0.5 \(Assumption 3"
        with pytest.raises(ValueError, match=expected):
            call()
    found = greedy_first_regret(inputs, t0=500, ols_bandit_coefficient=30.0)
    a = 128 * 0.7 * linear_factor(3) * 1.7**4 * 0.5**2 * 3 / 0.5**2
    assert found.bound == pytest.approx((a + 30) * math.log(10_000) + 2 * 501 * 1.7 * 2)
    assert found.switch_probability is None


def test_more_than_two_arms_are_refused_where_the_theorem_has_two():
    inputs = replace(INPUTS, n_arms=3)
    calls = (
        lambda: greedy_regret(inputs),
        lambda: generalized_linear_regret(inputs, link="logistic"),
        lambda: margin_rate(inputs, alpha=1),
        lambda: switch_probability(inputs, t0=10),
    )
    for call in calls:
        with pytest.raises(ValueError, match="n_arms must be 2"):
            call()


def test_other_bad_arguments():
    with pytest.raises(ValueError, match=r"alpha must be .* got -0.1 \(Definition 2"):
        margin_rate(INPUTS, alpha=-0.1)
    with pytest.raises(ValueError, match="link must be one of"):
        generalized_linear_regret(INPUTS, link="cubic")
    with pytest.raises(ValueError, match=r"slope of 'logistic' stays above 0.*Assumption 1"):
        generalized_linear_regret(replace(INPUTS, x_max=1000.0), link="logistic")
    with pytest.raises(ValueError, match="t0 must be"):
        greedy_first_regret(INPUTS, t0=0, ols_bandit_coefficient=1.0)
