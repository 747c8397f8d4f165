"""The bound for OLS Bandit: its sums round by round, its schedule, and the policy itself."""

import math
from dataclasses import replace

import numpy as np
import pytest

from greedyfirst import OLSBandit, simulate
from greedyfirst.problems import GaussianNoise, LinearProblem, Rademacher
from greedyfirst.theory import OLSBanditInputs, RegretInputs, greedy_first_regret, ols_bandit_regret
from greedyfirst.theory.bounds.ols_bandit_regret import filter_failure_probability
from greedyfirst.theory.bounds.peeling_sum import peeling_sum
from support.greedy_runs import chance_of_as_many

INPUTS = OLSBanditInputs(
    n_arms=3,
    n_features=2,
    horizon=5000,
    x_max=math.sqrt(2),
    b_max=1.0,
    sigma=0.05,
    margin_constant=0.5,
    lambda1=0.25,
    h=0.9,
    q=9,
    n_suboptimal=1,
)


def forced_rounds(inputs):
    """The forced-sample sets T_i as the paper defines them, all arms together."""
    K, q = inputs.n_arms, inputs.q
    return {(2**n - 1) * K * q + j for n in range(20) for j in range(1, K * q + 1)}


def round_by_round(inputs):
    """The proof's four steps for each round, added up phase by phase."""
    K, d, q, x, b = inputs.n_arms, inputs.n_features, inputs.q, inputs.x_max, inputs.b_max
    optimal, lam, h = K - inputs.n_suboptimal, inputs.lambda1, inputs.h
    forced, half = forced_rounds(inputs), (1 - math.log(2)) / 2

    def fails(s):
        a1 = half * optimal * lam / x**2
        a2 = h**2 * optimal * lam / (64 * d * inputs.sigma**2 * x**2)
        return min(1, K * d * (math.exp(-a1 * s) + 2 * math.exp(-a2 * s)))

    total, phase, previous, this = 0.0, 0.0, 0, 0
    blocks = 0
    for t in range(1, inputs.horizon + 1):
        if t in forced:
            if this:
                total += min(phase, 2 * x * b * this)
                phase, previous, this = 0.0, this, 0
            total += 2 * x * b
            continue
        if not this:
            blocks = len([s for s in forced if s < t]) // (K * q)
        s = blocks * q
        diverse = previous + this + s * optimal
        most = t - 1 - (K - 1) * s
        phase += 2 * x * b * fails(s)
        lacking = fails(s - q) if previous else 0.0
        lacking += optimal * d * math.exp(-half * lam * diverse / x**2)
        phase += min(h, 2 * x * b) * lacking
        scale = 2 * d * inputs.sigma**2 * x**2 * most / (lam * diverse / 2) ** 2
        pairs = optimal * (optimal - 1) / 2
        phase += pairs * 4 * inputs.margin_constant * x**2 * scale * peeling_sum(d)
        this += 1
    return total + min(phase, 2 * x * b * this)


@pytest.mark.parametrize(
    "change",
    [{}, {"horizon": 3}, {"horizon": 200}, {"q": 1}, {"n_suboptimal": 0, "q": 3}, {"sigma": 1.0}],
)
def test_the_sums_round_by_round(change):
    inputs = replace(INPUTS, **change)
    found = ols_bandit_regret(inputs)
    assert found.bound == pytest.approx(round_by_round(inputs), rel=1e-9)
    assert sum(found.terms.values()) == pytest.approx(found.bound)
    assert found.bound <= found.trivial_bound * (1 + 1e-12)
    assert found.coefficient == pytest.approx(found.bound / math.log(inputs.horizon))


def test_the_bound_never_falls_with_the_horizon():
    bounds = [ols_bandit_regret(replace(INPUTS, horizon=T)).bound for T in range(3, 2000, 7)]
    assert np.all(np.diff(bounds) >= -1e-9)


def test_it_grows_like_the_logarithm_from_the_smallest_q_on():
    """Phases cost a bounded amount each, so that doubling T adds no more than a constant."""
    enough = INPUTS.with_smallest_q()
    assert enough.q == math.ceil(math.log(2) / min(INPUTS.filter_rates))
    assert ols_bandit_regret(enough).is_logarithmic
    steps = [ols_bandit_regret(replace(enough, horizon=10**k)).bound for k in range(6, 16)]
    added = np.diff(steps)
    assert np.all(added[1:] <= added[0] * 1.05)
    few = replace(INPUTS, q=1)
    assert not ols_bandit_regret(few).is_logarithmic
    grown = [ols_bandit_regret(replace(few, horizon=10**k)).bound for k in (12, 15)]
    assert grown[1] > 100 * grown[0]


def test_simulated_regret_stays_below():
    """On the corners of a square all constants are exact; 200 runs of 3000 rounds.

    The first feature's sign decides between arms 0 and 1, by 2 each: λ₁ = 1/2; arm 2 trails by
    1, so that C₀ = 1. The mean's upper 99.9 % limit is compared; fixed seed.
    """
    inputs = replace(INPUTS, horizon=3000, lambda1=0.5, margin_constant=1.0, sigma=0.02)
    inputs = inputs.with_smallest_q()
    found = ols_bandit_regret(inputs)
    assert found.informative
    assert found.bound < 0.5 * found.trivial_bound
    problem = LinearProblem(
        contexts=Rademacher(n_features=2),
        arms=[[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]],
        noise=GaussianNoise(sigma=inputs.sigma),
    )
    policy = OLSBandit(h=inputs.h, q=inputs.q, warmup="none")
    result = simulate(problem, {"OLS": policy}, n_instances=200, horizon=3000, seed=4, n_jobs=1)
    row = result.to_frame().query("policy == 'OLS'").iloc[-1]
    # half_width is that of a 95 % interval.
    assert 0 < row["mean"] + row["half_width"] * 3.1 / 1.96 < found.bound
    # Forced samples alone cost what the bound says, but for their luck: two of three are wrong.
    assert row["mean"] > 0.2 * found.terms["forced samples"]


def test_the_filter_fails_no_more_often_than_it_says():
    """Forced estimates of 5000 first blocks. False alarms: 1 %; fixed seed."""
    inputs = replace(INPUTS, lambda1=0.5, sigma=0.2, q=50)
    bound = filter_failure_probability(inputs, 0)
    assert 0.05 < bound < 0.5
    rng = np.random.default_rng(6)
    x = Rademacher(n_features=2).sample(rng, 5000 * 150).reshape(15_000, 50, 2)
    gram = np.einsum("nsi,nsj->nij", x, x)
    noise = np.einsum("nsi,ns->ni", x, inputs.sigma * rng.standard_normal((15_000, 50)))
    errors = np.linalg.norm(np.linalg.solve(gram, noise[..., None])[..., 0], axis=1)
    radius = inputs.h / (4 * inputs.x_max)
    wrong = np.any(errors.reshape(5000, 3) >= radius, axis=1)
    assert chance_of_as_many(wrong, bound) > 0.01
    # A third of the radius is left often: the errors are of a size that could be seen.
    assert np.any(errors.reshape(5000, 3) >= radius / 3, axis=1).mean() > bound


def test_theorem_3_with_its_coefficient():
    inputs = INPUTS.with_smallest_q()
    fallback = ols_bandit_regret(inputs)
    regret = RegretInputs(
        n_arms=3,
        n_features=2,
        horizon=5000,
        x_max=math.sqrt(2),
        b_max=1.0,
        sigma=0.05,
        margin_constant=0.5,
        lambda0=0.05,
    )
    found = greedy_first_regret(regret, t0=100, ols_bandit_coefficient=fallback.coefficient)
    alone = greedy_first_regret(regret, t0=100, ols_bandit_coefficient=0.0)
    assert found.bound == pytest.approx(alone.bound + fallback.bound)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": 0}, "q must be a whole number"),
        ({"h": 0}, "h must be .*Assumption 4"),
        ({"lambda1": 0.6}, "lambda1 must be .* at most 0.5.*Assumption 4"),
        ({"sigma": 0}, "sigma must be .*sub-Gaussian"),
        ({"margin_constant": 0}, "margin_constant must be .*Assumption 2"),
        ({"n_suboptimal": 3}, "n_suboptimal must be"),
        ({"horizon": 2}, "horizon must be"),
        ({"b_max": -1}, "b_max must be .*Assumption 1"),
    ],
)
def test_bad_inputs_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        replace(INPUTS, **change)
