"""Lemmas 6 and 12: their sums are the theorems, and simulated rounds cost no more."""

import math
from dataclasses import replace

import numpy as np
import pytest

from greedyfirst.links import LINKS
from greedyfirst.problems import UniformBall
from greedyfirst.theory import (
    RegretInputs,
    generalized_linear_regret,
    generalized_round_regret,
    greedy_regret,
    greedy_round_regret,
)
from greedyfirst.theory.bounds.peeling_sum import generalized_factor, linear_factor
from support.greedy_runs import GreedyRuns

INPUTS = RegretInputs(
    n_features=3, horizon=400, x_max=1.7, b_max=2.0, sigma=0.5, margin_constant=0.7, lambda0=0.4
)


def rounds(regret, **arguments):
    return sum(regret(INPUTS, t, **arguments) for t in range(2, INPUTS.horizon + 1))


def test_lemma_6_by_hand():
    inputs = replace(INPUTS, n_arms=4)
    c3 = 0.4**2 / (32 * 3 * 0.25 * 1.7**2)
    first = 6 * 4 * 0.7 * linear_factor(3) * 1.7**2 / c3 / 9
    expected = first + 4 * 3 * 2.0 * 1.7 * 0.2
    assert greedy_round_regret(inputs, 10, lacking=0.2) == pytest.approx(expected)


def test_theorem_1_and_proposition_1_add_up_the_rounds():
    """The theorems bound Σ1/t by 1 + log T and Σe^{-C₁t} by its integral, here close above."""
    first = INPUTS.largest_regret
    # Lemma 4 is cut at 1, so the sum of rounds may only be lower.
    for bound, total in [
        (greedy_regret(INPUTS), rounds(greedy_round_regret)),
        (
            generalized_linear_regret(INPUTS, link="logistic"),
            rounds(generalized_round_regret, link="logistic"),
        ),
    ]:
        assert 0.9 * bound.bound < total + bound.lipschitz * first <= bound.bound


def test_lemma_12_by_hand():
    c3 = 0.4**2 / (32 * 3 * 0.25 * 1.7**2)
    linear = generalized_round_regret(INPUTS, 50, link="identity", lacking=0.0)
    expected = 4 * 0.7 * generalized_factor(3, 1.0) * 1.7**2 / c3 / 49
    assert linear == pytest.approx(expected)
    ends = [generalized_round_regret(INPUTS, 50, link="identity", lacking=p) for p in (0.0, 1.0)]
    assert ends[1] - ends[0] == pytest.approx(4 * 2.0 * 1.7)
    slopes = [generalized_round_regret(INPUTS, 50, link="logistic", lacking=p) for p in (0.0, 1.0)]
    assert slopes[1] - slopes[0] == pytest.approx(4 * 2.0 * 1.7 / 4)  # L_μ = 1/4


def test_rounds_of_greedy_cost_no_more_than_lemma_6_says():
    """400 runs; the mean's upper 99.9 % limit stays below. C₀ = 4/(π‖β₁ - β₂‖), λ₀ = 1/8."""
    arms, sigma = np.array([[0.8, 0.0], [-0.2, 0.6]]), 0.005
    gap = float(np.linalg.norm(arms[0] - arms[1]))
    inputs = RegretInputs(
        n_features=2,
        horizon=1000,
        x_max=1.0,
        b_max=0.8,
        sigma=sigma,
        margin_constant=4 / (math.pi * gap),
        lambda0=1 / 8,
    )
    runs = GreedyRuns(UniformBall(n_features=2), arms, sigma=sigma, n_runs=400, seed=2)
    for t in (300, 600):
        runs.run(t - runs.t)
        lacking = (runs.smallest_eigenvalues < inputs.lambda0 * t / 4).mean()
        bound = greedy_round_regret(inputs, t, lacking=float(lacking))
        error = runs.regret.std() / math.sqrt(len(runs.regret))
        assert runs.regret.mean() + 3.1 * error < bound < 0.2 * inputs.largest_regret


def test_lemma_12_as_printed_is_too_small_for_steep_links(monkeypatch):
    """μ(z) = v·z is the canonical link of normal rewards of variance v, so that L_μ = v.

    Round 2, hardly any noise, arms ±β, |x'β| = x_max b_max: one arm is unknown, and a guess costs
    v·x_max b_max on average. The printed second term is 4 x_max b_max; the proof's is v times that.
    """
    v = 5.0
    steep = {"name": "steep", "canonical": True, "subgaussian": True, "slope": lambda z: v}
    monkeypatch.setitem(LINKS, "steep", type("Steep", (), steep))
    inputs = replace(INPUTS, sigma=1e-9)
    reach = inputs.x_max * inputs.b_max
    cost = v * reach
    found = generalized_round_regret(inputs, 2, link="steep", lacking=1.0)
    assert cost <= found == pytest.approx(4 * v * reach)
    assert found - 4 * (v - 1) * reach < cost  # as printed


def test_bad_arguments_are_named():
    for call, words in [
        (lambda: greedy_round_regret(INPUTS, 1), "t must be a whole number"),
        (lambda: greedy_round_regret(INPUTS, 5, lacking=1.5), "lacking must be .* at most 1"),
        (lambda: greedy_round_regret(replace(INPUTS, n_arms=3), 5), "Lemma 4 has none for 3 arms"),
        (lambda: generalized_round_regret(INPUTS, 5, link="poisson"), "Lemma 12 .*sub-Gaussian"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
