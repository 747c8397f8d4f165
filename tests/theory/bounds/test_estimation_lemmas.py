"""Lemmas 5 and 10 and Corollary 4 against exact normal tails, greedy runs and statsmodels."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from greedyfirst.links import Logistic
from greedyfirst.problems import UniformBall
from greedyfirst.theory import (
    estimate_failure_probability,
    generalized_error_bound,
    generalized_estimate_failure_probability,
)
from support.greedy_runs import GreedyRuns, chance_of_as_many

COMMON = {"n_features": 1, "sigma": 0.7, "x_max": 1.5}
LOGISTIC = {"link": "logistic", "x_max": 1.0, "b_max": 1.0}


@pytest.mark.parametrize("pulls", [3, 40, 1000])
def test_lemma_5_where_the_law_is_normal(pulls):
    """x = 1.5 always: λ_min = n·x² and β̂ - β is normal, whose tail the exponent bounds."""
    eigenvalue = pulls * 1.5**2
    deviation = 0.7 / math.sqrt(eigenvalue)
    for errors_away in (1.5, 3.0, 8.0, 20.0):
        error = errors_away * deviation
        found = estimate_failure_probability(
            error=error, eigenvalue=eigenvalue, pulls=pulls, **COMMON
        )
        assert found >= 2 * stats.norm.sf(errors_away)
        assert found == pytest.approx(min(1, 2 * math.exp(-(errors_away**2) / 2)))
    # The exponent is the right one: log P over it goes to 1.
    assert stats.norm.logsf(20.0) / (-(20.0**2) / 2) == pytest.approx(1, abs=0.03)


def test_lemma_5_under_greedy():
    """2000 runs, 12 comparisons. False alarms: at most 1 % for all together; fixed seed."""
    arms, sigma, d = [[1.0, 0.0], [0.7, 0.4]], 0.1, 2
    runs = GreedyRuns(UniformBall(n_features=d), arms, sigma=sigma, n_runs=2000, seed=11)
    runs.run(12)
    seen = 0
    for eigenvalue in (0.3, 1.5):
        for error in (0.2, 0.4, 0.8):
            bound = estimate_failure_probability(
                error=error,
                eigenvalue=eigenvalue,
                pulls=runs.t,
                n_features=d,
                sigma=sigma,
                x_max=1.0,
            )
            happened = (runs.errors >= error) & (runs.smallest_eigenvalues >= eigenvalue)
            seen += int(happened.sum())
            for arm in range(2):
                assert chance_of_as_many(happened[:, arm], bound) > 0.01 / 12
    assert bound < 0.5
    assert seen > 20


def test_one_sided_noise_breaks_both_tails():
    """Definition 1 as printed, at τ > 0 only. Z = 1 - E with E exponential meets it with σ = 1.

    E[exp(τZ)] = e^τ/(1+τ) ≤ exp(τ²/2), as log(1+τ) ≥ τ - τ²/2; but P[Z ≤ -s] = e^{-(1+s)} falls
    more slowly than any normal tail, and Lemma 5 fails with a single sample at x = 1.
    """
    tau = np.geomspace(1e-3, 50, 500)
    assert np.all(tau - np.log1p(tau) <= tau**2 / 2)
    bound = estimate_failure_probability(
        error=4.0, eigenvalue=1.0, pulls=1, n_features=1, sigma=1.0, x_max=1.0
    )
    assert math.exp(-5) > bound


def logistic_sample(rng, n, d, beta):
    x = UniformBall(n_features=d).sample(rng, n)
    means = 1 / (1 + np.exp(-x @ beta))
    return x, means, (rng.random(n) < means).astype(float)


def test_lemma_10_holds_sample_by_sample():
    """No chance involved: where the noise is at most θ·m_θ·λ_min, the error is bounded."""
    rng = np.random.default_rng(5)
    said = 0
    for _ in range(200):
        beta = rng.normal(size=2)
        beta *= rng.uniform(0, 1) / np.linalg.norm(beta)
        x, means, y = logistic_sample(rng, 1000, 2, beta)
        noise = x.T @ (y - means)
        bound = generalized_error_bound(
            **LOGISTIC,
            noise_sum=float(np.linalg.norm(noise)),
            eigenvalue=np.linalg.eigvalsh(x.T @ x)[0],
            radius=0.6,
        )
        if math.isinf(bound):
            continue
        estimate = sm.Logit(y, x).fit(disp=0).params
        error = np.linalg.norm(estimate - beta)
        assert error <= bound <= 0.6
        # Nor is the error below what the steepest slope, 1/4, and λ_max allow.
        largest = np.linalg.eigvalsh(x.T @ x)[-1]
        assert error >= np.linalg.norm(noise) / (0.25 * largest) * (1 - 1e-6)
        said += 1
    assert said > 100


def test_lemma_10_by_hand():
    """θ = 0.5, x_max = b_max = 1: m_θ is the logistic slope at 1.5."""
    slope = math.exp(-1.5) / (1 + math.exp(-1.5)) ** 2
    bound = generalized_error_bound(**LOGISTIC, noise_sum=2.0, eigenvalue=40.0, radius=0.5)
    assert bound == pytest.approx(0.05 / slope)
    edge = 0.5 * slope * 40
    for noise, says in ((edge * 0.999, True), (edge * 1.001, False)):
        found = generalized_error_bound(**LOGISTIC, noise_sum=noise, eigenvalue=40.0, radius=0.5)
        assert math.isfinite(found) == says
    linear = {"link": "identity", "x_max": 1.0, "b_max": 1.0}
    assert generalized_error_bound(**linear, noise_sum=2.0, eigenvalue=10.0, radius=0.3) == 0.2


@pytest.mark.parametrize("b_max", [0.5, 3.0, 12.0])
def test_lemma_10_is_sharp_in_one_dimension(b_max):
    """x = 1 always and β = -b_max: the slopes between β and a lower estimate come near m_θ."""
    estimate = -b_max - 1e-4
    noise = Logistic.mean(estimate) - Logistic.mean(-b_max)
    common = {"link": "logistic", "x_max": 1.0, "b_max": b_max}
    bound = generalized_error_bound(**common, noise_sum=-noise, eigenvalue=1.0, radius=1.01e-4)
    assert 1e-4 * (1 - 1e-6) <= bound <= 1e-4 * (1 + 2e-4)


def test_corollary_4():
    """The linear link is Lemma 5; the logistic one has χ·m_χ; and it holds in 100 samples.

    False alarms of the last part: 1 %; fixed seed.
    """
    rest = {"error": 0.5, "eigenvalue": 200.0, "pulls": 1000, "n_features": 2, "sigma": 0.5}
    linear = generalized_estimate_failure_probability(link="identity", x_max=1.0, b_max=1.0, **rest)
    assert linear == estimate_failure_probability(x_max=1.0, **rest)
    bound = generalized_estimate_failure_probability(**LOGISTIC, **rest)
    slope = Logistic.slope(1.5)
    exponent = 200.0**2 * (0.5 * slope) ** 2 / (2 * 2 * 0.25 * 1000)
    assert bound == pytest.approx(min(1.0, 4 * math.exp(-exponent)))
    rng = np.random.default_rng(8)
    beta = np.array([0.6, -0.8])
    rest |= {"eigenvalue": 3200.0, "pulls": 16_000}
    bound = generalized_estimate_failure_probability(**LOGISTIC, **rest)
    assert bound < 0.2
    happened = []
    for _ in range(100):
        x, _, y = logistic_sample(rng, 16_000, 2, beta)
        off = np.linalg.norm(sm.Logit(y, x).fit(disp=0).params - beta) >= 0.5
        happened.append(off and np.linalg.eigvalsh(x.T @ x)[0] >= 3200)
    assert chance_of_as_many(happened, bound) > 0.01


def test_bad_arguments_are_named():
    rest = {"error": 0.5, "eigenvalue": 1.0, "pulls": 10, "n_features": 2, "sigma": 0.5}
    for change, words in [
        ({"error": 0}, "error must be .* above 0"),
        ({"eigenvalue": -1}, "eigenvalue must be .* above 0"),
        ({"pulls": 0}, "pulls must be a whole number"),
        ({"sigma": 0}, "sigma must be .*sub-Gaussian"),
        ({"x_max": 0}, "x_max must be .*Assumption 1"),
    ]:
        with pytest.raises(ValueError, match=words):
            estimate_failure_probability(**{"x_max": 1.0, **rest, **change})
    with pytest.raises(ValueError, match=r"link must be .*Corollary 4 is proved for a canonical"):
        generalized_estimate_failure_probability(link="probit", x_max=1.0, b_max=1.0, **rest)
    with pytest.raises(ValueError, match="radius must be"):
        generalized_error_bound(**LOGISTIC, noise_sum=0.1, eigenvalue=1.0, radius=0)
    with pytest.raises(ValueError, match=r"eigenvalue must be .* above 0"):
        generalized_error_bound(**LOGISTIC, noise_sum=0.1, eigenvalue=0, radius=1.0)
