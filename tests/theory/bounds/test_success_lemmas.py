"""Lemmas 13 to 16: they add up to L, hold exactly where the law is known, and in greedy runs."""

import math

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import Rademacher
from greedyfirst.theory import (
    EigenvalueSample,
    SuccessInputs,
    early_estimate_failure,
    failure_terms,
    initial_estimate_failure,
    later_diversity_failure,
    later_estimate_failure,
)
from support.greedy_runs import GreedyRuns, chance_of_as_many

INPUTS = SuccessInputs(
    n_arms=4,
    n_features=2,
    initial_pulls=6,
    sigma=0.012,
    x_max=1.0,
    lambda1=0.1,
    h=0.5,
    n_suboptimal=1,
)


def test_the_lemmas_add_up_to_the_failure_bound():
    """Each term of L is a sum of one lemma over arms or rounds."""
    gamma, delta, survivor, rounds = 0.4, 0.6, 0.9, 40
    terms = failure_terms(INPUTS, survivor=survivor, gamma=gamma, delta=delta, rounds=rounds)
    first = 4 * initial_estimate_failure(INPUTS, delta=delta, survivor=survivor)
    early = [early_estimate_failure(INPUTS, delta=delta, t=t) for t in range(25, rounds)]
    later = range(rounds, 6000)
    lacking = sum(later_diversity_failure(INPUTS, gamma=gamma, t=t) for t in later)
    off = sum(later_estimate_failure(INPUTS, gamma=gamma, t=t) for t in later)
    assert max(early) < 1
    assert terms["initial estimates"] == pytest.approx(first)
    assert terms["early rounds"] == pytest.approx(sum(early), abs=2e-5)
    assert terms["later estimates"] == pytest.approx(off)
    rate = 0.1 * (0.4 + 0.6 * math.log(0.6))
    cut = sum(max(0.0, 2 * math.exp(-rate * (t - 6)) - 1) for t in later)
    assert terms["diversity"] == pytest.approx(lacking + cut)


def test_lemma_13_where_the_law_is_normal():
    """x = 1, d = 1, m pulls: λ_min = m and β̂ - β is normal; the exponent is that of its tail."""
    for m, sigma in [(1, 0.1), (5, 0.2), (30, 0.4)]:
        inputs = SuccessInputs(
            n_arms=2, n_features=1, initial_pulls=m, sigma=sigma, x_max=1.0, lambda1=0.5, h=0.8
        )
        bound = initial_estimate_failure(inputs, delta=m, survivor=1.0)
        away = 0.4 * math.sqrt(m) / sigma
        assert bound == pytest.approx(min(1.0, 2 * math.exp(-(away**2) / 2)))
        assert bound >= 2 * stats.norm.sf(away)
        # Lemma 14 one round later is Lemma 5, and weaker.
        assert early_estimate_failure(inputs, delta=m, t=2 * m + 1) >= bound


@pytest.fixture(scope="module")
def played():
    """4000 runs on the corners of a square, where all constants are exact.

    The first feature's sign decides between arms 0 and 1, each by 2: λ₁ = 1/2 for h < 1. Arm 2
    trails by 1.
    """
    contexts, arms, sigma, m = Rademacher(n_features=2), [[1, 0], [-1, 0], [0, 0]], 0.15, 8
    inputs = SuccessInputs(
        n_arms=3,
        n_features=2,
        initial_pulls=m,
        sigma=sigma,
        x_max=math.sqrt(2),
        lambda1=0.5,
        h=0.9,
        n_suboptimal=1,
    )
    return inputs, GreedyRuns(contexts, arms, sigma, n_runs=4000, seed=3, initial_pulls=m)


def test_lemmas_13_to_16_under_greedy(played):
    """15 comparisons. False alarms: at most 1 % for all of them together; fixed seed."""
    inputs, runs = played
    level, radius, m = 0.01 / 15, inputs.h / (2 * inputs.x_max), inputs.initial_pulls
    delta = 5.0
    sample = EigenvalueSample.draw(runs.contexts, rows=m, n_samples=50_000, seed=4)
    survivor = float(np.mean(sample.values >= delta))
    runs.run(3 * m)
    started = runs.smallest_eigenvalues >= delta
    bound = initial_estimate_failure(inputs, delta=delta, survivor=survivor)
    assert bound < 1
    for arm in range(3):
        off = started[:, arm] & (runs.errors[:, arm] >= radius)
        assert chance_of_as_many(off, bound) > level
    inside = np.all(runs.errors < radius, axis=1)
    gamma, compared = 0.5, 0
    for _ in range(200 - 3 * m):
        still = inside.copy()
        runs.run(1)
        inside &= np.all(runs.errors < radius, axis=1)
        if runs.t == 25:
            assert early_estimate_failure(inputs, delta=delta, t=25) < 1
        if runs.t not in (25, 200):
            continue
        rounds = runs.t - m
        diverse = runs.smallest_eigenvalues >= (1 - gamma) * inputs.lambda1 * rounds
        early = early_estimate_failure(inputs, delta=delta, t=runs.t)
        lacking = later_diversity_failure(inputs, gamma=gamma, t=runs.t)
        off = later_estimate_failure(inputs, gamma=gamma, t=runs.t)
        for arm in range(3):
            wrong = runs.errors[:, arm] >= radius
            assert chance_of_as_many(started[:, arm] & wrong, early) > level
            assert chance_of_as_many(diverse[:, arm] & wrong, off) > level
            compared += 2
        for arm in range(2):
            assert chance_of_as_many(~diverse[:, arm] & still, lacking) > level
    assert compared == 12
    assert max(lacking, off) < 0.5


def test_arms_that_are_never_best_are_not_played_while_estimates_are_inside(played):
    """The second part of Lemma 15 is certain, not probable."""
    inputs, runs = played
    fresh = GreedyRuns(runs.contexts, runs.arms, inputs.sigma, n_runs=300, seed=9, initial_pulls=8)
    fresh.run(24)
    seen = 0
    for _ in range(60):
        inside = np.all(fresh.errors < inputs.h / (2 * inputs.x_max), axis=1)
        before = fresh.pulls[:, 2].copy()
        fresh.run(1)
        seen += int(inside.sum())
        assert not np.any((fresh.pulls[:, 2] > before) & inside)
    assert seen > 10_000


def test_the_event_j_as_printed_makes_lemma_16_false():
    """J with λt - m|K_sub|: x = 1 always, five arms that are never best, t = 10m, 1 - γ = 0.6.

    A sub-optimal arm has m samples and λ_min = m, which is what the printed event asks for. Its
    estimate is off by θ₁ = h/2 with a chance of 2Φ(-3), more than the lemma allows. With
    λ(t - m|K_sub|) the event asks for 3m samples.
    """
    m, h = 9, 1.0
    sigma = math.sqrt(m) * h / 6
    inputs = SuccessInputs(
        n_arms=6,
        n_features=1,
        initial_pulls=m,
        sigma=sigma,
        x_max=1.0,
        lambda1=1.0,
        h=h,
        n_suboptimal=5,
    )
    t, gamma = 10 * m, 0.4
    chance = 2 * stats.norm.sf(h / 2 * math.sqrt(m) / sigma)
    assert (1 - gamma) * t - 5 * m == pytest.approx(m)  # the printed event happens
    assert later_estimate_failure(inputs, gamma=gamma, t=t) < chance
    assert (1 - gamma) * (t - 5 * m) == pytest.approx(3 * m)  # the right one does not


def test_bad_arguments_are_named():
    for call, words in [
        (lambda: initial_estimate_failure(INPUTS, delta=0, survivor=1), "delta must be"),
        (lambda: initial_estimate_failure(INPUTS, delta=1, survivor=2), "survivor must be"),
        (lambda: early_estimate_failure(INPUTS, delta=1, t=24), "t must be .* at least 25"),
        (lambda: later_diversity_failure(INPUTS, gamma=1, t=30), "gamma must be .* below 1"),
        (lambda: later_estimate_failure(INPUTS, gamma=0.5, t=24), "t must be .* at least 25"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
