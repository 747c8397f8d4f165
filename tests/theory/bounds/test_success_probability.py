"""Theorems 2 and 4: search, targets of Example 1, Propositions 2 and 3, Corollaries 2 and 3."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.problems import Rademacher, UniformBall
from greedyfirst.theory import (
    EigenvalueSample,
    SuccessInputs,
    failure_terms,
    greedy_first_success,
    greedy_first_success_limit,
    greedy_success,
    greedy_success_limit,
    simple_greedy_first_success,
    simple_greedy_success,
)
from greedyfirst.theory.bounds.failure_bound import early_sum

DISC = UniformBall(n_features=2)
EXAMPLE = SuccessInputs(
    n_arms=3, n_features=2, initial_pulls=20, sigma=0.003, x_max=1.0, lambda1=0.0255, h=0.3
)
SAMPLES = {m: EigenvalueSample.draw(DISC, rows=m, n_samples=20_000, seed=m) for m in (2, 5, 20, 21)}
LARGE = EigenvalueSample.draw(DISC, rows=20, n_samples=200_000, seed=7)
every_form = pytest.mark.parametrize("form", ["printed", "proved"])


# ------------------------------------------------------------------ Example 1


@pytest.mark.parametrize(("sigma", "target"), [(0.001, 0.9989), (0.003, 0.611)])
def test_the_targets_of_example_1(sigma, target):
    found = greedy_success(replace(EXAMPLE, sigma=sigma), LARGE)
    assert found.value == pytest.approx(target, abs=0.005)
    assert found.worst <= found.value
    assert found.value - found.worst < 0.02
    assert found.gap <= 1e-4


# ------------------------------------------------------------------ the search


def brute_force(inputs, sample, *, form="printed", lambda0=None, t0=None):
    """The least L on a plain grid: an upper bound of the infimum."""
    K, m, d = inputs.n_arms, inputs.initial_pulls, inputs.n_features
    sub = m * inputs.n_suboptimal
    top = 1.0 if lambda0 is None else 1 - lambda0 / (4 * inputs.lambda1)
    g = np.append(np.linspace(0.005, 0.9995, 150) * top, top if lambda0 else 0.5)
    p = np.arange(K * m + 1, (6000 if t0 is None else t0) + 1)
    w = inputs.weights(form, greedy_first=lambda0 is not None)
    s = inputs.h**2 / (8 * d * inputs.sigma**2 * inputs.x_max**2)
    d1 = inputs.lambda1 / inputs.x_max**2 * (g + (1 - g) * np.log1p(-g))
    d2 = s * (inputs.lambda1 / inputs.x_max) ** 2 * (1 - g) ** 2
    tails = np.full(len(p), np.inf)
    for a, b in zip(d1, d2, strict=True):
        here = w[1] * d * np.exp(-a * (p - sub)) / -np.expm1(-a)
        here += w[2] * 2 * d * np.exp(-b * (p - sub)) / -np.expm1(-b)
        tails = np.minimum(tails, here)
    deltas, shares = sample.survivors()
    best = 1.0
    for r in np.unique(np.geomspace(1, len(deltas), 120).astype(int)) - 1:
        n = p - (K - 1) * m
        terms = 2 * d * w[0] * np.exp(-s * (deltas[r] / inputs.x_max) ** 2 / n)
        early = np.concatenate([[0.0], np.cumsum(terms)[:-1]])
        first = 1 - shares[r] ** K + 2 * K * d * shares[r] * math.exp(-s * deltas[r])
        best = min(best, float((first + early + tails).min()))
    return 1 - best


CASES = [
    EXAMPLE,
    replace(EXAMPLE, sigma=0.001),
    replace(EXAMPLE, initial_pulls=2, sigma=1e-4),
    replace(EXAMPLE, initial_pulls=5, sigma=3e-4, n_arms=4, n_suboptimal=2, lambda1=0.05),
    replace(EXAMPLE, h=0.6, lambda1=0.01, sigma=0.003),
]


@every_form
@pytest.mark.parametrize("inputs", CASES)
def test_the_search_is_not_beaten_by_a_grid(inputs, form):
    sample = SAMPLES[inputs.initial_pulls]
    found = greedy_success(inputs, sample, form=form, tolerance=1e-5)
    grid = brute_force(inputs, sample, form=form)
    assert 0 < found.value < 1
    assert found.value >= grid - 1e-5
    assert found.value <= grid + 0.02  # the grid is coarse, not hopeless


@every_form
@pytest.mark.parametrize("lambda0", [0.05, 0.0001])
@pytest.mark.parametrize("t0", [200, 1000])
def test_the_search_of_theorem_4_is_not_beaten_by_a_grid(lambda0, t0, form):
    inputs = replace(EXAMPLE, sigma=0.0015)
    found = greedy_first_success(
        inputs, SAMPLES[20], lambda0=lambda0, t0=t0, form=form, tolerance=1e-5
    )
    grid = brute_force(inputs, SAMPLES[20], form=form, lambda0=lambda0, t0=t0)
    assert found.value == pytest.approx(grid, abs=0.01)
    assert found.value >= grid - 1e-5
    if found.rounds is not None:
        assert 61 <= found.rounds <= t0
        assert found.gamma <= 1 - lambda0 / (4 * 0.0255)


def test_tolerances_agree():
    values = [greedy_success(EXAMPLE, SAMPLES[20], tolerance=t).value for t in (1e-2, 1e-4, 1e-6)]
    assert values[0] == pytest.approx(values[2], abs=1e-2)
    assert values[1] == pytest.approx(values[2], abs=1e-4)
    assert values[2] >= max(values) - 1e-6


def test_terms_add_up_at_the_optimum():
    found = greedy_success(EXAMPLE, SAMPLES[20])
    assert sum(found.terms.values()) == pytest.approx(1 - found.value, abs=1e-9)
    assert found.dominant == max(found.terms, key=found.terms.get)
    survivor = np.mean(SAMPLES[20].values >= found.delta)
    again = failure_terms(
        EXAMPLE, survivor=survivor, gamma=found.gamma, delta=found.delta, rounds=found.rounds
    )
    assert again == pytest.approx(found.terms)


@settings(max_examples=40, deadline=None)
@given(kappa=st.floats(1e-3, 1e5), first=st.integers(2, 200), length=st.integers(0, 40_000))
def test_early_sums(kappa, first, length):
    n = np.arange(first, first + length)
    exact = np.exp(-kappa / n).sum()
    found = early_sum(np.array([kappa]), first, np.array([first + length - 1.0]))[0]
    assert exact - 1e-9 <= found <= exact + 0.024 / 128**2 + 1e-9


def test_weights_of_the_forms():
    inputs = replace(EXAMPLE, n_arms=5, n_suboptimal=2, lambda1=0.02)
    assert inputs.weights("printed", greedy_first=False) == (1, 1, 1)
    assert EXAMPLE.weights("printed", greedy_first=True) == (1, 3, 1)
    assert inputs.weights("proved", greedy_first=False) == (3, 3, 3)


# ------------------------------------------------------------------ Propositions 2 and 3

TOLERANCE = 1e-4
positive = st.floats(0.3, 1.0)


def bound(m=20, form="printed", **change):
    inputs = replace(EXAMPLE, initial_pulls=m, **change)
    return greedy_success(inputs, SAMPLES[m], tolerance=TOLERANCE, form=form)


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(["sigma", "lambda1", "h"]),
    low=positive,
    factor=st.floats(1.02, 2.0),
    form=st.sampled_from(["printed", "proved"]),
)
def test_monotone_as_proposition_2_says(name, low, factor, form):
    """Down in σ, up in λ₁ and h; each value is within the tolerance of the true one."""
    start = {"sigma": 0.004, "lambda1": 0.04, "h": 0.5}[name]
    first = bound(form=form, **{name: low * start})
    second = bound(form=form, **{name: low * start * factor})
    sign = -1 if name == "sigma" else 1
    for attribute in ("value", "worst"):
        change = sign * (getattr(second, attribute) - getattr(first, attribute))
        assert change >= -TOLERANCE


@settings(max_examples=10, deadline=None)
@given(sigma=st.floats(1e-4, 5e-3))
def test_monotone_in_initial_pulls(sigma):
    """From m = 20 to 21 with one set of contexts: the Gram matrices only grow."""
    rng = np.random.default_rng(3)
    x = DISC.sample(rng, 21 * 5000).reshape(5000, 21, 2)
    samples = {
        m: EigenvalueSample(
            rows=m,
            values=np.linalg.eigvalsh(np.einsum("nmi,nmj->nij", x[:, :m], x[:, :m]))[:, 0],
        )
        for m in (10, 20, 21)
    }
    values = [
        greedy_success(
            replace(EXAMPLE, initial_pulls=m, sigma=sigma), samples[m], tolerance=TOLERANCE
        ).value
        for m in (10, 20, 21)
    ]
    assert values[0] <= values[1] + TOLERANCE
    assert values[1] <= values[2] + TOLERANCE


def test_more_arms_at_the_same_m_can_raise_the_bound():
    """Proposition 2 says non-increasing in K; its proof holds K·m fixed, and it needs that."""
    few, many = (replace(EXAMPLE, n_arms=K, sigma=0.0033) for K in (2, 3))
    assert few.initial_pulls == many.initial_pulls
    dense = EigenvalueSample(rows=20, values=np.full(1000, 4.0))
    low, high = (greedy_success(one, dense, tolerance=1e-6).value for one in (few, many))
    assert high > low + 1e-3


@pytest.mark.parametrize("m", [2, 20])
def test_the_limit_of_proposition_2(m):
    limit = greedy_success_limit(n_arms=3, sample=SAMPLES[m])
    assert limit == 1.0
    assert bound(m=m, sigma=1e-12).value == pytest.approx(limit, abs=2e-3)
    assert bound(m=m, sigma=1e-30).value == pytest.approx(limit, abs=TOLERANCE)


def test_the_limit_of_proposition_2_where_contexts_may_not_span():
    """Two signs in two rows: singular with probability 1/2, so the limit is (1/2)^K."""
    sample = EigenvalueSample.draw(Rademacher(n_features=2), rows=2, n_samples=20_000, seed=1)
    assert sample.positive_share == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(20_000))
    inputs = replace(EXAMPLE, initial_pulls=2, sigma=1e-9, x_max=math.sqrt(2))
    found = greedy_success(inputs, sample)
    assert found.value == pytest.approx(greedy_success_limit(n_arms=3, sample=sample), abs=1e-4)
    assert found.worst <= 0.5**3 <= found.value + 0.02


@every_form
@pytest.mark.parametrize("lambda0", [0.01, 0.0001, 0.09])
def test_the_limit_of_proposition_3(lambda0, form):
    limit = greedy_first_success_limit(EXAMPLE, SAMPLES[20], lambda0=lambda0, t0=1000)
    gamma = 1 - lambda0 / (4 * 0.0255)
    rate = 0.0255 * (gamma + (1 - gamma) * math.log(1 - gamma))
    assert limit == pytest.approx(
        max(0.0, 1 - 6 * math.exp(-1000 * rate) / (1 - math.exp(-rate))), abs=1e-12
    )
    found = greedy_first_success(
        replace(EXAMPLE, sigma=1e-9), SAMPLES[20], lambda0=lambda0, t0=1000, form=form
    )
    assert found.value == pytest.approx(limit, abs=1e-4)


def test_theorem_4_is_empty_where_no_choice_is_allowed():
    quiet = replace(EXAMPLE, sigma=1e-6)
    for lambda0, t0 in ((0.2, 1000), (0.01, 60)):
        assert greedy_first_success(quiet, SAMPLES[20], lambda0=lambda0, t0=t0).value == 0
        assert greedy_first_success_limit(quiet, SAMPLES[20], lambda0=lambda0, t0=t0) == 0


# ------------------------------------------------------------------ Corollaries 2 and 3


@every_form
@pytest.mark.parametrize("m", [200, 1000])
@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_the_corollaries_are_weaker_than_the_theorems(m, sigma, form):
    inputs = replace(EXAMPLE, initial_pulls=m, sigma=sigma)
    rate = min((1 - math.log(2)) / 2 * 0.0255, (0.0255 * 0.3 / sigma) ** 2 / 64)
    by_hand = 1 - 18 * math.exp(-rate * m * 3) / (1 - math.exp(-rate))
    assert simple_greedy_success(inputs) == pytest.approx(max(0.0, by_hand))
    sample = EigenvalueSample(rows=m, values=np.full(1000, 0.2 * m))
    assert greedy_success(inputs, sample, form=form).value >= simple_greedy_success(inputs) - 1e-4
    simple = simple_greedy_first_success(inputs, lambda0=0.01, t0=10**5)
    found = greedy_first_success(inputs, sample, lambda0=0.01, t0=10**5, form=form)
    assert found.value >= simple - 1e-4


def test_corollary_3_needs_the_conditions_it_does_not_print():
    inputs = replace(EXAMPLE, initial_pulls=1000, sigma=1e-5)
    assert simple_greedy_first_success(inputs, lambda0=0.05, t0=3001) > 0.9
    assert simple_greedy_first_success(inputs, lambda0=0.06, t0=3001) == 0
    assert simple_greedy_first_success(inputs, lambda0=0.05, t0=3000) == 0


# ------------------------------------------------------------------ the law of λ_min


def test_confident_survivors_cover_the_truth():
    """Ten contexts on a line: Σx² of uniforms has a known law. False alarms 1 %, fixed seed."""
    rng = np.random.default_rng(11)
    many = np.sort((rng.uniform(-1, 1, (10**6, 10)) ** 2).sum(axis=1))
    sample = EigenvalueSample.draw(UniformBall(n_features=1), rows=10, n_samples=5000, seed=2)
    deltas, lower = sample.confident_survivors(0.99)
    truth = 1 - np.searchsorted(many, deltas) / len(many)
    assert np.all(lower <= truth + 3e-3)
    assert np.all(truth - lower < 0.12)
    assert np.all(np.diff(deltas) >= 0)
    assert np.all(np.diff(lower) <= 0)


def test_few_contexts_never_span():
    sample = EigenvalueSample(rows=2, values=np.zeros(100))
    found = greedy_success(replace(EXAMPLE, initial_pulls=2), sample)
    assert (found.value, found.worst, found.terms, found.dominant) == (0.0, 0.0, None, None)


def test_draws_depend_on_the_seed_only():
    first, again, other = (
        EigenvalueSample.draw(DISC, rows=3, n_samples=200, seed=seed).values for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigma": -0.1}, ["sigma", "-0.1", "above 0", "sub-Gaussian"]),
        ({"sigma": 0}, ["sigma", "above 0"]),
        ({"h": 0}, ["h must be", "above 0", "Assumption 4"]),
        ({"h": -1}, ["h must be", "-1", "Assumption 4"]),
        ({"lambda1": 1.1}, ["lambda1", "1.1", "at most 0.166667", "Assumption 4"]),
        ({"lambda1": 0.17}, ["lambda1", "Assumption 4"]),
        ({"lambda1": 0}, ["lambda1", "above 0", "Assumption 4"]),
        ({"x_max": -1}, ["x_max", "Assumption 1"]),
        ({"initial_pulls": 1}, ["initial_pulls", "1", "at least 2", "least squares"]),
        ({"n_suboptimal": 3}, ["n_suboptimal", "at most 2"]),
        ({"n_arms": 1}, ["n_arms", "at least 2"]),
    ],
)
def test_bad_inputs_are_named(change, words):
    with pytest.raises(ValueError, match="must be") as caught:
        replace(EXAMPLE, **change)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.0}, "gamma"),
        ({"delta": 0.0}, "delta"),
        ({"rounds": 60}, "rounds"),
        ({"survivor": 1.5}, "survivor"),
        ({"form": "guessed"}, "form"),
    ],
)
def test_bad_points_are_named(change, name):
    point = {"survivor": 0.9, "gamma": 0.5, "delta": 1.0, "rounds": 61, **change}
    with pytest.raises(ValueError, match=f"{name} must be"):
        failure_terms(EXAMPLE, **point)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"rows must be .* at least 2, got 1 \(Assumption 4"):
        EigenvalueSample.draw(DISC, rows=1, seed=1)
    with pytest.raises(ValueError, match="sample must be drawn with rows = 20"):
        greedy_success(EXAMPLE, SAMPLES[5])
    with pytest.raises(ValueError, match="n_suboptimal must be 0"):
        greedy_first_success(replace(EXAMPLE, n_suboptimal=1), SAMPLES[20], lambda0=0.01, t0=1000)
    with pytest.raises(ValueError, match="lambda0 must be"):
        greedy_first_success(EXAMPLE, SAMPLES[20], lambda0=0.0, t0=1000)
    with pytest.raises(ValueError, match=r"lambda1_lower must be .* \(Assumption 4"):
        greedy_success(EXAMPLE, SAMPLES[20], lambda1_lower=0.03)
    with pytest.raises(ValueError, match="tolerance must be"):
        greedy_success(EXAMPLE, SAMPLES[20], tolerance=0)
    with pytest.raises(ValueError, match="confidence must be"):
        SAMPLES[20].confident_survivors(1.0)
