"""Lemmas 1, 3 and 4 against laws whose λ₀, probabilities and counts are known exactly."""

import math

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import Rademacher, TruncatedGaussian, UniformBall, UniformBox
from greedyfirst.theory import (
    RegretInputs,
    diversity_constant,
    diversity_from_symmetry,
    half_space_probability,
    lacking_diversity_probability,
)
from support.greedy_runs import GreedyRuns, chance_of_as_many


def inputs_for(n_features, lambda0, x_max=1.0):
    return RegretInputs(
        n_features=n_features,
        horizon=100,
        x_max=x_max,
        b_max=1.0,
        sigma=1.0,
        margin_constant=1.0,
        lambda0=lambda0,
    )


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 3), (2, 7)])
def test_lemma_1_on_a_lopsided_law(a, b):
    """x = 1 has b/(a+b) of the mass, x = -1 the rest: λ₀ is the rarer one's share, a/(a+b)."""
    exact = a / (a + b)
    printed = diversity_from_symmetry(a=a, b=b, moment=1.0)
    assert printed == pytest.approx(a / (2 * b))
    assert printed <= exact
    assert diversity_from_symmetry(a=a, b=b, moment=1.0, sharp=True) == pytest.approx(exact)


def test_lemma_1_on_laws_with_closed_forms():
    for law, moment in [
        (UniformBall(n_features=3, radius=2.0), 4 / 5),
        (UniformBox(n_features=2, half_width=3.0), 3.0),
        (Rademacher(n_features=4), 1.0),
    ]:
        found = diversity_from_symmetry(a=1, b=1, moment=moment)
        assert found == pytest.approx(diversity_constant(law).exact)


@pytest.mark.parametrize(
    "law",
    [
        UniformBall(n_features=3),
        Rademacher(n_features=2),
        TruncatedGaussian(n_features=2, bound=1.0, covariance=[[1.0, 0.8], [0.8, 1.0]]),
    ],
)
def test_lemma_3_in_random_directions(law):
    """20 directions and 20 000 contexts; symmetric laws have P[x'u ≥ 0] ≥ 1/2 exactly."""
    x_max = {UniformBall: 1.0, Rademacher: math.sqrt(2), TruncatedGaussian: 1.0}[type(law)]
    bound = half_space_probability(lambda0=diversity_constant(law).lower, x_max=x_max)
    rng = np.random.default_rng(3)
    x = law.sample(rng, 20_000)
    shares = (x @ rng.normal(size=(law.n_features, 20)) >= 0).mean(axis=0)
    assert 0 < bound <= 0.5
    assert shares.min() > bound


def test_lemma_3_is_attained():
    """x = ±1 with shares 3/4 and 1/4: λ₀ = 1/4 and P[-x ≥ 0] = 1/4."""
    assert half_space_probability(lambda0=0.25, x_max=1.0) == 0.25


def test_lemma_4_where_the_law_is_binomial():
    """x = ±1, d = 1: whatever the estimates are, each arm is played with a chance of 1/2."""
    inputs = inputs_for(1, 0.5)
    for t in (1, 10, 50, 200, 1000):
        exact = stats.binom.cdf(math.ceil(t / 8) - 1, t, 0.5)
        sharp = lacking_diversity_probability(inputs, t, sharp=True)
        assert exact <= sharp <= lacking_diversity_probability(inputs, t)
        assert lacking_diversity_probability(inputs, t) == pytest.approx(math.exp(-t / 80))
        assert sharp == pytest.approx(math.exp(-(1 - math.log(2)) * t / 8))


def test_lemma_4_under_greedy():
    """500 runs. False alarms: at most 1 % for all four comparisons; fixed seed."""
    law = UniformBox(n_features=2)
    runs = GreedyRuns(law, [[1.0, 0.0], [0.9, 0.1]], sigma=1.0, n_runs=500, seed=7)
    inputs = inputs_for(2, diversity_constant(law).exact, math.sqrt(2))
    for rounds in (150, 150):
        runs.run(rounds)
        bound = lacking_diversity_probability(inputs, runs.t, sharp=True)
        assert bound < 0.8
        lacking = runs.smallest_eigenvalues < inputs.lambda0 * runs.t / 4
        for arm in range(2):
            assert chance_of_as_many(lacking[:, arm], bound) > 0.0025
    # Eight times the threshold is not reached: the event is looked at where it is.
    assert (runs.smallest_eigenvalues < 2 * inputs.lambda0 * runs.t).mean() > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diversity_from_symmetry(a=2, b=1, moment=1), "b must be .* at least 2.*Lemma 1"),
        (lambda: diversity_from_symmetry(a=0, b=1, moment=1), "a must be .* above 0.*Lemma 1"),
        (lambda: diversity_from_symmetry(a=1, b=1, moment=-1), "moment must be .* at least 0"),
        (lambda: half_space_probability(lambda0=0.6, x_max=1), "lambda0 must be .* at most 0.5"),
        (lambda: half_space_probability(lambda0=0.1, x_max=0), "x_max must be .*Assumption 1"),
        (lambda: lacking_diversity_probability(inputs_for(1, 0.5), -1), "t must be a whole number"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
