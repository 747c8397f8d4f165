"""Slips in the paper's statements and proofs that a number can show (docs/theory-bounds.md).

Others are tested where the lemma is: J in test_success_lemmas, L_μ in test_round_regret, the
one-sided Definition 1 in test_estimation_lemmas, K - 1 and C̄ in test_regret_bounds.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from greedyfirst.links import Logistic
from greedyfirst.theory import SuccessInputs, failure_terms
from greedyfirst.theory.bounds.branch_and_bound import BranchAndBound

SHARE = 0.8
INPUTS = SuccessInputs(
    n_arms=3, n_features=1, initial_pulls=4, sigma=0.05, x_max=1.0, lambda1=0.2, h=0.6
)


def survivor(m, delta):
    """P[λ_min ≥ δ] for contexts that are ±1 with a chance of 0.8 and 0 otherwise."""
    return float(stats.binom.sf(math.ceil(delta) - 1, m, SHARE))


def terms(inputs, *, rounds, delta=2.0, gamma=0.5):
    return failure_terms(
        inputs,
        survivor=survivor(inputs.initial_pulls, delta),
        gamma=gamma,
        delta=delta,
        rounds=rounds,
    )


def success(inputs):
    """S^gb for this law of contexts, with θ exact."""
    m = inputs.initial_pulls
    thresholds = np.arange(1.0, m + 1)
    survivors = np.array([survivor(m, delta) for delta in thresholds])
    weights = inputs.weights("printed", greedy_first=False)
    search = BranchAndBound(
        inputs, thresholds, survivors, weights=weights, largest_gamma=1.0, last_round=None
    )
    return 1 - search.run(1e-5).value


@pytest.mark.parametrize("more", [1, 3])
def test_proposition_2_in_m_needs_another_shift_of_p(more):
    """ "The third term cancels" if p grows by K(m₂ - m₁): it grows. By (K-1)(m₂ - m₁) it falls."""
    m, K = INPUTS.initial_pulls, INPUTS.n_arms
    later = replace(INPUTS, initial_pulls=m + more)
    for rounds in range(K * m + 2, K * m + 30):
        early = terms(INPUTS, rounds=rounds)["early rounds"]
        assert terms(later, rounds=rounds + K * more)["early rounds"] > early
        shifted = max(rounds + (K - 1) * more, K * (m + more) + 1)
        mended = terms(later, rounds=shifted)
        assert mended["early rounds"] <= early
        before = terms(INPUTS, rounds=rounds)
        for name in ("diversity", "later estimates"):
            assert mended[name] <= before[name]


def test_proposition_2_in_m_is_true():
    for sigma in (0.002, 0.01, 0.03):
        values = [success(replace(INPUTS, sigma=sigma, initial_pulls=m)) for m in range(1, 40, 3)]
        assert np.all(np.diff(values) >= -2e-5)
    assert values[-1] > 0.5


def test_proposition_2_in_k_compares_terms_that_differ():
    """ "The last three terms are the same" at equal Km: the third depends on m beyond Km."""
    few = replace(INPUTS, n_arms=2, initial_pulls=9)
    many = replace(INPUTS, n_arms=3, initial_pulls=6)
    first, second = terms(few, rounds=30), terms(many, rounds=30)
    assert second["early rounds"] < 0.9 * first["early rounds"]
    for name in ("diversity", "later estimates"):
        assert first[name] == pytest.approx(second[name])


@pytest.mark.parametrize("ratio", [2, 3])
def test_proposition_2_in_k_is_true_for_integer_ratios(ratio):
    """With δ·r for the fewer arms: λ_min of r·m rows is at least the sum over r blocks of m."""
    rng = np.random.default_rng(ratio)
    values = []
    for _ in range(25):
        changes = {"sigma": 10 ** rng.uniform(-2.5, -1.3), "lambda1": rng.uniform(0.05, 0.16)}
        m = int(rng.integers(4, 16))
        few = replace(INPUTS, n_arms=2, initial_pulls=ratio * m, **changes)
        many = replace(INPUTS, n_arms=2 * ratio, initial_pulls=m, **changes)
        values.append((success(many), success(few)))
        for delta in range(1, m + 1):
            assert survivor(ratio * m, ratio * delta) >= survivor(m, delta) ** ratio - 1e-12
            better = terms(few, rounds=2 * ratio * m + 9, delta=ratio * delta)
            worse = terms(many, rounds=2 * ratio * m + 9, delta=delta)
            assert better["early rounds"] <= worse["early rounds"] + 1e-12
    assert all(more <= less + 2e-5 for more, less in values)
    assert sum(0.01 < more < 0.999 for more, _ in values) >= 2


def test_a_positive_definite_design_does_not_give_an_estimate():
    """§3.4 shows that the likelihood's maximum is unique, and calls it the solution.

    With every reward 1 the logistic score has the sign of x at every β: there is no solution.
    """
    x = np.array([1.0, 2.0])
    for beta in (-30.0, -1.0, 0.0, 1.0, 30.0):
        assert sum(each * Logistic.score(each * beta, 1.0) for each in x) > 0
