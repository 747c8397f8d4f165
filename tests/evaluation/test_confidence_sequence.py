"""Intervals that hold at all times: against integrals, formulas and simulated paths."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

from greedyfirst.evaluation.confidence_sequence import (
    NARROWEST_COUNT,
    Sums,
    asymptotic_interval,
    bounded_interval,
    log_mixture,
)


def psi(rate):
    return -math.log1p(-rate) - rate


def integral(s, v, rho):
    """The mean of exp(λs − ψ(λ)v) over the weights of λ, by quadrature."""
    weight = lambda rate: (1 - rate) ** (rho - 1) * math.exp(-rho * (1 - rate))  # noqa: E731
    value = quad(lambda rate: math.exp(rate * s - psi(rate) * v) * weight(rate), 0, 1)[0]
    return value / quad(weight, 0, 1)[0]


def summed(values):
    sums = Sums()
    for value in values:
        sums.add(value)
    return sums


@pytest.mark.parametrize("s", [0.0, 0.5, 3.0, 30.0])
@pytest.mark.parametrize(("v", "rho"), [(0.0, 2.0), (5.0, 1.2), (100.0, 1.0)])
def test_the_mixture_is_the_integral_over_rates(s, v, rho):
    assert log_mixture(s, v, rho) == pytest.approx(math.log(integral(s, v, rho)), abs=1e-7)


def test_each_rate_gives_a_supermartingale():
    """exp(λy − ψ(λ)y²) ≤ 1 + λy from y = −1 on, with equality there."""
    y = np.linspace(-1, 5, 2001)
    for rate in np.linspace(0.01, 0.99, 50):
        assert (np.exp(rate * y - psi(rate) * y**2) <= (1 + rate * y) * (1 + 1e-12)).all()
        assert math.exp(-rate - psi(rate)) == pytest.approx(1 - rate)


def test_the_ends_are_where_the_mixture_reaches_two_over_alpha():
    values = np.random.default_rng(2).uniform(-3, 4, 50)
    found = bounded_interval(summed(values), bound=4.0, level=0.9)
    tail = 0.05
    rho = 10 / (2 * math.log(1 / tail) + math.log(1 + 2 * math.log(1 / tail)))
    s = (values.sum() - 50 * found.low) / 4
    assert integral(s, (values**2).sum() / 16, rho) == pytest.approx(1 / tail, rel=1e-6)
    assert found.high - found.value == pytest.approx(found.value - found.low)


def test_the_asymptotic_interval_is_that_of_its_formula():
    values = np.random.default_rng(3).normal(2, 5, 400)
    found = asymptotic_interval(summed(values), level=0.9)
    alpha, n, sigma = 0.1, 400, values.std()
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / NARROWEST_COUNT
    half = sigma * math.sqrt(
        2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / alpha)
    )
    assert found.value == pytest.approx(values.mean(), rel=1e-12)
    assert found.high - found.value == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("bounded", [True, False])
def test_paths_with_a_drifting_mean_are_covered_at_every_look(bounded):
    """At a level of 80 %, fails by chance once in a thousand times; the seeds are fixed."""
    runs, n, covered = 200, 400, 0
    drift = np.linspace(0.1, 0.9, n)
    for seed in range(runs):
        coins = 1.0 * (np.random.default_rng(seed).random(n) < drift)
        sums, held = Sums(), True
        for step, coin in enumerate(coins, 1):
            sums.add(coin)
            if step % 20 == 0 and step >= (1 if bounded else 100):
                found = (
                    bounded_interval(sums, bound=1.0, level=0.8)
                    if bounded
                    else asymptotic_interval(sums, level=0.8)
                )
                held &= found.low <= drift[:step].mean() <= found.high
        covered += held
    assert covered >= binom.ppf(0.001, runs, 0.8)


def test_without_numbers_nothing_is_known():
    assert bounded_interval(Sums(), bound=1.0).low == -math.inf
    assert asymptotic_interval(summed([1.0])).high == math.inf


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"bound": 0.0}, "bound must be"), ({"bound": 1.0, "level": 1.0}, "level must be")],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        bounded_interval(Sums(), **arguments)
