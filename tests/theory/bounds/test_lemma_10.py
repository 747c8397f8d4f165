"""Lemma 10 as printed fails on nearly parallel contexts; as mended it holds there.

Rewards are made for an estimate: y = μ(Xβ̂) solves the likelihood's equation exactly. With 0 and 1
as rewards two contexts are repeated, and shares of ones take the place of y. β has the largest
norm, and its probabilities are near 0, where differences of μ lose no digits.
"""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from greedyfirst.links import Logistic
from greedyfirst.theory import generalized_error_bound

#: How parallel the two contexts are: the second is (√(1 - s²), s), the first (1, 0).
TILT = 0.4


def two_contexts(tilt=TILT):
    return np.array([[1.0, 0.0], [math.sqrt(1 - tilt * tilt), tilt]])


def worst_direction(contexts, beta):
    """Where S⁻¹X'DX, with D the slopes at β, shortens most: the last right singular vector."""
    slopes = expit(contexts @ beta) * expit(-contexts @ beta)
    weighted = contexts.T @ (slopes[:, None] * contexts)
    found = np.linalg.svd(np.linalg.solve(contexts.T @ contexts, weighted))[2][-1]
    # Downwards, to smaller slopes: those between β and β̂ are then near the smallest.
    return -found if contexts[0] @ found > 0 else found


def noise_of(contexts, beta, estimate):
    """X'ε for rewards of which ``estimate`` is the maximum likelihood estimate."""
    return contexts.T @ (expit(contexts @ estimate) - expit(contexts @ beta))


def smallest_slope(b_max, radius):
    """m_θ for x_max = 1."""
    return Logistic.slope(b_max + radius)


def printed_bound(contexts, noise, b_max):
    """The printed bound with the smallest θ that satisfies its condition; None without any."""
    shrunk = float(np.linalg.norm(np.linalg.solve(contexts.T @ contexts, noise)))
    radius = shrunk / Logistic.slope(b_max)
    for _ in range(100):
        radius = shrunk / smallest_slope(b_max, radius)
        if radius > 10:
            return None
    radius *= 1 + 1e-9
    assert shrunk <= radius * smallest_slope(b_max, radius)
    return shrunk / smallest_slope(b_max, radius)


def mended_bounds(contexts, noise, b_max):
    """The bound for many θ; infinite where it says nothing."""
    return [
        generalized_error_bound(
            link="logistic",
            noise_sum=float(np.linalg.norm(noise)),
            eigenvalue=np.linalg.eigvalsh(contexts.T @ contexts)[0],
            radius=radius,
            x_max=1.0,
            b_max=b_max,
        )
        for radius in np.geomspace(1e-6, 5, 200)
    ]


@pytest.mark.parametrize(("b_max", "factor"), [(2, 1.05), (10, 1.6), (20, 2.1)])
def test_two_rows_break_the_printed_lemma(b_max, factor):
    """A S⁻² A ⪰ I does not follow from A ⪰ S."""
    contexts, beta = two_contexts(), np.array([-float(b_max), 0.0])
    estimate = beta + 1e-3 * worst_direction(contexts, beta)
    noise = noise_of(contexts, beta, estimate)
    assert np.linalg.norm(estimate - beta) > factor * printed_bound(contexts, noise, b_max)
    mended = min(mended_bounds(contexts, noise, b_max))
    assert 1e-3 <= mended < math.inf


@pytest.mark.parametrize(("b_max", "factor"), [(2, 1.05), (5, 1.25)])
def test_rewards_0_and_1_break_the_printed_lemma(b_max, factor):
    """200 000 rows of each of two contexts; statsmodels finds the estimate."""
    n = 200_000
    contexts, beta = two_contexts(), np.array([-float(b_max), 0.0])
    wanted = beta + 0.02 * worst_direction(contexts, beta)
    ones = np.round(n * expit(contexts @ wanted))
    rows, rewards = np.vstack([contexts, contexts]), np.array([1.0, 1.0, 0.0, 0.0])
    counts = np.concatenate([ones, n - ones])
    model = sm.GLM(rewards, rows, family=sm.families.Binomial(), freq_weights=counts)
    estimate = model.fit(tol=1e-14).params
    noise = contexts.T @ (ones / n - expit(contexts @ beta))  # S and X'ε are both n times as large
    error = np.linalg.norm(estimate - beta)
    assert error == pytest.approx(0.02, rel=0.1)
    assert error > factor * printed_bound(contexts, noise, b_max)
    assert error <= min(mended_bounds(contexts, noise, b_max)) < math.inf


@pytest.mark.parametrize("error", [0.05, 0.1])
def test_corollary_4_follows_from_the_mended_lemma(error):
    """Whatever 0/1 rewards come, an error of χ needs ‖X'ε‖ ≥ χ·m_χ·λ_min.

    The paper's event ‖S⁻¹X'ε‖ ≥ χ·m_χ does not happen at all of these errors. Each context has
    20 000 rows, and the estimate is X⁻¹ logit(k/n) for counts k of ones.
    """
    b_max, n, contexts = 5.0, 20_000, two_contexts()
    means = expit(contexts @ [-b_max, 0.0])
    counts = np.stack(np.meshgrid(np.arange(60, 220), np.arange(100, 330), indexing="ij"), -1)
    estimates = np.log(counts / (n - counts)) @ np.linalg.inv(contexts).T
    off = np.linalg.norm(estimates - [-b_max, 0.0], axis=-1) >= error
    noise = (counts / n - means) @ contexts  # S and X'ε are both n times as large
    shrunk = noise @ np.linalg.inv(contexts.T @ contexts)
    least = error * smallest_slope(b_max, error)
    eigenvalue = np.linalg.eigvalsh(contexts.T @ contexts)[0]
    assert np.linalg.norm(noise[off], axis=-1).min() >= least * eigenvalue
    assert np.linalg.norm(shrunk[off], axis=-1).min() < 0.9 * least


def test_the_mended_lemma_holds_on_adversarial_designs():
    """Unit contexts near the direction of β; half of the estimates are off where S⁻¹A shortens."""
    rng = np.random.default_rng(3)
    broken, said, nearest = 0, 0, 0.0
    for trial in range(400):
        d, b_max = int(rng.integers(2, 4)), rng.uniform(1, 15)
        contexts = np.zeros((int(rng.integers(d, 7)), d))
        contexts[1:, 1:] = rng.uniform(0.05, 1) * rng.normal(size=(len(contexts) - 1, d - 1))
        contexts[:, 0] = 1
        contexts /= np.linalg.norm(contexts, axis=1)[:, None]
        beta = np.zeros(d)
        beta[0] = -b_max
        direction = worst_direction(contexts, beta) if trial % 2 else rng.normal(size=d)
        error = 10 ** rng.uniform(-5, -1)
        estimate = beta + error * direction / np.linalg.norm(direction)
        noise = noise_of(contexts, beta, estimate)
        printed = printed_bound(contexts, noise, b_max)
        broken += printed is not None and error > 1.01 * printed
        mended = min(mended_bounds(contexts, noise, b_max))
        assert error <= mended * (1 + 1e-9)
        said += math.isfinite(mended)
        nearest = max(nearest, error / mended)
    assert broken >= 20
    assert said >= 200
    assert nearest > 0.5
