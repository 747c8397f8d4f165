"""Regret of the arm-by-arm rule with contexts: each step of the proof, on simulated runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from greedyfirst.theory import (
    ArmByArmInputs,
    ArmByArmRule,
    arm_by_arm_regret,
    poorly_known_rounds,
)
from greedyfirst.theory.bounds.arm_by_arm_regret import _burn_in, _log_coefficient, _Sure
from support.arm_by_arm_runs import Runs

# One-sided tests at this level; a file of them gives a false alarm with a chance below 1 %.
LEVEL = 1e-5


def disc(rng, n):
    """Contexts on the circle of radius 1."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("variance", [0.5, 0.05, 0.002])
def test_no_contexts_keep_an_arm_poorly_known_for_longer(d, variance):
    """The adversary's best: contexts as short as they may be, so that V is v and no more."""
    penalty, inverse, rounds = 0.01, np.eye(d) / 0.01, 0
    bound = poorly_known_rounds(n_features=d, ratio=1 / penalty, variance=variance)
    while True:
        values, vectors = np.linalg.eigh(inverse)
        longest = min(1.0, math.sqrt(variance / values[-1]))
        if values[-1] * longest**2 < variance * (1 - 1e-12):
            break
        v = inverse @ vectors[:, -1] * longest
        inverse -= np.outer(v, v) / (1 + longest * vectors[:, -1] @ v)
        rounds += 1
    assert 0.7 * bound - d <= rounds <= bound


@pytest.mark.parametrize("rows", [1.0, 5.0, math.inf])
@pytest.mark.parametrize("d", [1, 3])
def test_no_contexts_keep_a_width_large_for_longer(d, rows):
    """The adversary again: (Z + B)·√V of h/2σ or more, with the width B of the arm's own rows."""
    rule = ArmByArmRule(n_arms=2, rows=rows)
    inputs = replace(PROBLEM, n_features=d, sigma=0.3, lambda1=0.2 / d, rule=rule)
    sure, kappa, end = _Sure(inputs=inputs, chance=0.1), inputs.kappa, 1e6
    bound = sure.poorly_known(end, end)
    z = sure.deviations(sure.information(end, d))
    lack = rule.theta * (end / kappa + 1)
    inverse, pulls, most = np.eye(d) / kappa, 0, inputs.h / (2 * inputs.sigma)
    while True:
        values, vectors = np.linalg.eigh(inverse)
        needed = (most / (z + math.sqrt(rule.width_square(lack, pulls=pulls)))) ** 2
        if values[-1] < needed:
            break
        v = inverse @ vectors[:, -1] * math.sqrt(needed / values[-1])
        inverse -= np.outer(v, v) / (1 + needed)
        pulls += 1
    assert 0.3 * bound - d < pulls <= bound


@pytest.mark.parametrize("seed", range(20))
def test_random_contexts_keep_no_arm_poorly_known_for_longer(seed):
    rng = np.random.default_rng(seed)
    d, penalty, variance = (
        int(rng.integers(1, 5)),
        10 ** rng.uniform(-3, 1),
        10 ** rng.uniform(-3, 0),
    )
    inverse, rounds = np.eye(d) / penalty, 0
    for _ in range(3000):
        x = rng.normal(size=d) * 10 ** rng.uniform(-2, 0, size=d)
        x /= max(1.0, np.linalg.norm(x))
        v = inverse @ x
        rounds += x @ v >= variance
        if x @ v >= variance or rng.random() < 0.1:
            inverse -= np.outer(v, v) / (1 + x @ v)
    assert rounds <= poorly_known_rounds(n_features=d, ratio=1 / penalty, variance=variance)


ARMS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.3]])


@pytest.fixture(scope="module")
def watched():
    """Three arms of which the last leads nowhere by 0.5; what each round was like."""
    rng = np.random.default_rng(8)
    rule, sigma, penalty, n_runs = ArmByArmRule(n_arms=3), 0.7, 0.3, 200
    runs = Runs(ARMS, rule=rule, sigma=sigma, penalty=penalty, n_runs=n_runs, rng=rng)
    widest, failed, overtaken, checked = np.zeros(n_runs), 0, 0, 0
    for _ in range(600):
        x = disc(rng, n_runs)
        own, _ = runs.variances(x)
        raised = runs.raises(x)
        off = np.einsum("rkij,rkj->rki", runs.inverse, runs.moment) - ARMS
        error = np.einsum("rki,ri->rk", off, x)
        arm, _ = runs.play(x)
        worth = x @ ARMS.T
        leads = worth.argmax(axis=1)
        second = np.sort(worth, axis=1)[:, -2]
        wrong = (worth.max(axis=1) - second > 0.5) & (arm != leads)
        at, lead = runs.all[wrong], leads[wrong]
        short = np.maximum(-error[at, lead] - raised[at, lead], 0)
        over = error[at, arm[wrong]] + raised[at, arm[wrong]]
        overtaken += ((short < 0.25) & (over < 0.25)).sum()
        checked += wrong.sum()
        # The widest that an estimate is off, in √V, against Z with a chance of 1/10.
        noise = runs.moment - np.einsum("rkij,kj->rki", runs.gram, ARMS)
        square = np.einsum("rki,rkij,rkj->rk", noise, runs.inverse, noise) / sigma**2
        _, logs = np.linalg.slogdet(np.eye(2) + runs.gram / penalty)
        widest = np.maximum(widest, (square - logs).max(axis=1))
        limit = np.sqrt(np.maximum(square, 0)) * sigma + np.sqrt(penalty)
        off = np.einsum("rkij,rkj->rki", runs.inverse, runs.moment) - ARMS
        own, _ = runs.variances(x)
        failed += (abs(np.einsum("rki,ri->rk", off, x)) > limit * np.sqrt(own) + 1e-9).sum()
    return {"widest": widest, "failed": failed, "overtaken": overtaken, "checked": checked}


def test_estimates_are_seldom_off_by_more_than_z(watched):
    """P[‖S‖² ≥ σ²(2 log(K/δ) + log det) at any round, for any arm] ≤ δ."""
    assert watched["failed"] == 0  # |x'(β̂ - β)| ≤ (‖S‖ + √κ‖β‖)√V, always
    for chance in (0.5, 0.1, 0.01):
        beyond = (watched["widest"] >= 2 * math.log(3 / chance)).sum()
        assert stats.binom.sf(beyond - 1, 200, chance) > LEVEL


def test_who_leads_is_overtaken_only_for_one_of_two_reasons(watched):
    assert watched["checked"] > 300
    assert watched["overtaken"] == 0


PROBLEM = ArmByArmInputs(
    n_features=1,
    horizon=60_000,
    x_max=1.0,
    b_max=1.0,
    sigma=0.03,
    margin_constant=1.0,
    lambda1=0.25,
    h=1.0,
    rule=ArmByArmRule(n_arms=2, doubt=12.0),
)


def test_every_arm_gets_its_own_people_in_time():
    """x uniform on [-1, 1]: E[x²; x > 1/2] = 7/48, for arms 1 and -1 and h = 1."""
    inputs = replace(PROBLEM, lambda1=7 / 48)
    burn_in, _ = _burn_in(inputs, 0.5)
    assert burn_in < inputs.horizon
    rng = np.random.default_rng(0)
    n_runs = 20
    runs = Runs(
        [[1.0], [-1.0]],
        rule=inputs.rule,
        sigma=inputs.sigma,
        penalty=inputs.kappa,
        n_runs=n_runs,
        rng=rng,
    )
    late = np.zeros(n_runs, dtype=bool)
    for t in range(1, 8000):
        runs.play(rng.uniform(-1, 1, (n_runs, 1)))
        if t >= 100:  # long before the proof says so
            late |= (runs.gram[:, :, 0, 0] < inputs.lambda1 * t / 4).any(axis=1)
    assert stats.binom.sf(late.sum() - 1, n_runs, 0.5) > LEVEL


def test_errors_have_the_tail_that_the_last_step_takes():
    """P[‖S‖_P ≥ ζσ and λ_min(G) ≥ λt] ≤ (1 + x²/(dλ))^{d/2}·exp(-ζ²/4), rows chosen by the past."""
    rng = np.random.default_rng(4)
    n, t, d, least = 4000, 60, 2, 0.15
    gram, sums = np.zeros((n, d, d)), np.zeros((n, d))
    for _ in range(t):
        x = disc(rng, n)
        # Rows along the sum of the noise so far: those that make it largest.
        take = (np.einsum("ni,ni->n", x, sums) > 0) | (rng.random(n) < 0.5)
        noise = rng.normal(size=n) * take
        gram += np.einsum("ni,nj->nij", x, x) * take[:, None, None]
        sums += x * noise[:, None]
    square = np.einsum("ni,ni->n", sums, np.linalg.solve(gram, sums[..., None])[..., 0])
    known = np.linalg.eigvalsh(gram)[:, 0] >= least * t
    assert known.mean() > 0.9
    for zeta in (2.5, 3.0, 4.0):
        count = (known & (square >= zeta**2)).sum()
        bound = min(1.0, (1 + 1 / (d * least)) ** (d / 2) * math.exp(-(zeta**2) / 4))
        assert stats.binom.sf(count - 1, n, bound) > LEVEL


def test_the_coefficient_is_an_upper_integral():
    """Where P[gap ≤ u] is C₀u and mistakes are as likely as may be: C₀s²∫u·p(u)du."""
    inputs = replace(PROBLEM, sigma=0.3, margin_constant=2.0)
    u = np.linspace(0, 200, 400_001)
    information = 4 / inputs.lambda1
    raised = math.sqrt(inputs.rule.width_square(inputs.rule.theta * information, pulls=1))
    kappa = inputs.kappa
    rho = raised + 2 * kappa / (inputs.sigma * math.sqrt(inputs.lambda1 / 4 + kappa))
    p = np.minimum(1, 2 * math.sqrt(1 + information) * np.exp(-(np.maximum(u - rho, 0) ** 2) / 16))
    scale = 4 * inputs.sigma**2 / inputs.lambda1
    integral = 2.0 * scale * np.trapezoid(u * p, u)
    assert integral <= _log_coefficient(inputs) < 3 * integral


def test_t3_does_not_depend_on_the_horizon_where_c_is_above_d_minus_1():
    inputs = replace(PROBLEM, n_features=2, rule=ArmByArmRule(n_arms=2, doubt=2.5), sigma=0.05)
    near, far = (_burn_in(replace(inputs, horizon=T), 0.1)[0] for T in (10**28, 10**30))
    assert near == pytest.approx(far, rel=0.05)
    inputs = replace(inputs, rule=ArmByArmRule(n_arms=2, doubt=0.9))
    assert _burn_in(replace(inputs, horizon=10**30), 0.1)[0] == 10**30


def test_suboptimal_arms_cost_little_more_than_log_t():
    inputs = replace(PROBLEM, n_suboptimal=1, rule=ArmByArmRule(n_arms=3, doubt=12.0), lambda1=0.25)
    counts = [_burn_in(replace(inputs, horizon=T), 0.1)[1] for T in (10**8, 10**16, 10**32)]
    assert counts[1] < 2 * counts[0] * 1.1
    assert counts[2] < 2 * counts[1] * 1.1
    assert counts[0] > 0


def test_expected_regret_is_finite_for_c_above_d_plus_1():
    """With c = 4: in one and two dimensions t₃ hardly grows; in four it is as T^0.5 at the most."""
    one = replace(PROBLEM, rule=ArmByArmRule(n_arms=2, doubt=4.0), sigma=0.05)
    near, far = (arm_by_arm_regret(replace(one, horizon=T)) for T in (10**15, 10**20))
    assert near.informative
    assert far.burn_in < 1.1 * near.burn_in
    two = replace(one, n_features=2, lambda1=0.2)
    near, far = (arm_by_arm_regret(replace(two, horizon=T)) for T in (10**20, 10**30))
    assert far.burn_in < 100 * near.burn_in
    four = replace(one, n_features=4, lambda1=0.1)
    found = arm_by_arm_regret(replace(four, horizon=10**12))
    assert found.bound == found.trivial_bound


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 0.0}, "sigma.*sub-Gaussian"),
        ({"h": 0.0}, "h.*Assumption 4"),
        ({"lambda1": 0.6}, "lambda1.*Assumption 4"),
        ({"n_suboptimal": 2}, "n_suboptimal"),
        ({"penalty": 0.0}, "penalty"),
        ({"margin_constant": 0.0}, "Assumption 2"),
        ({"x_max": 0.0}, "Assumption 1"),
    ],
)
def test_constants_that_no_problem_has_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PROBLEM, **change)
    with pytest.raises(ValueError, match="chance"):
        arm_by_arm_regret(PROBLEM, chance=1.0)


def test_z_has_both_its_parts():
    sure = _Sure(inputs=replace(PROBLEM, penalty=0.04), chance=0.2)
    expected = math.sqrt(2 * math.log(20) + 1.5) + math.sqrt(0.04) / 0.03
    assert sure.deviations(1.5) == pytest.approx(expected)
    variance = sure.known_variance(4.0)
    assert 4.0 * 0.03 * math.sqrt(variance) == pytest.approx(PROBLEM.h / 2)
