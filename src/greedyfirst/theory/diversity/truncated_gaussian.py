"""The smallest second moment of Gaussians truncated to a ball or a box (§2.2, example 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.stats import chi2, norm

from greedyfirst.validation import FloatArray

# Ruben's series needs about bound² / (2 · smallest variance) terms; beyond this a bound is given.
MOST_TERMS = 200_000
# The remainder of the series at which it is cut, relative to the sum.
SERIES_TOLERANCE = 1e-13


@dataclass(frozen=True, kw_only=True)
class SmallestMoment:
    """What is known of λ_min(E[xxᵀ]): a proved lower bound, and the value where it is exact."""

    lower: float
    exact: float | None
    reason: str


def moment_in_interval(variance: float, bound: float) -> float:
    """E[z² | |z| ≤ bound] for z ~ N(0, variance)."""
    if variance == 0.0:
        return 0.0
    b = bound / math.sqrt(variance)
    if b < 0.05:
        # The closed form subtracts nearly equal numbers here; b²/3 - 2b⁴/45 + O(b⁶).
        return variance * (b * b / 3.0 - 2.0 * b**4 / 45.0)
    return variance * (1.0 - 2.0 * b * float(norm.pdf(b)) / (1.0 - 2.0 * float(norm.sf(b))))


def chance_of_quadratic_form(scales: FloatArray, counts: FloatArray, bound: float) -> float | None:
    r"""P(Q ≤ bound) for Q = Σ s_j χ²(n_j), by Ruben's mixture of chi-square distributions.

    .. math:: P(Q \le t) = \sum_k a_k F_{N+2k}(t / \beta), \quad \beta = \min_j s_j,

    with N = Σ n_j, a_0 = Π (β/s_j)^{n_j/2} and 2k·a_k = Σ_{r<k} a_r Σ_j n_j (1 - β/s_j)^{k-r}.
    All a_k are ≥ 0 and sum to 1, so the remainder is at most (1 - Σ a_k) F_{N+2K}(t/β). None if
    a_0 underflows or the series is too long.
    """
    smallest = float(scales.min())
    gamma = 1.0 - smallest / scales
    log_first = 0.5 * float(counts @ np.log(smallest / scales))
    point, degrees = bound / smallest, float(counts.sum())
    needed = int(0.5 * point + 20.0 * math.sqrt(point + 10.0) + 100)
    if log_first < -600.0 or needed > MOST_TERMS:
        return None
    tails = chi2.cdf(point, degrees + 2.0 * np.arange(needed))
    weight = math.exp(log_first)
    history = np.zeros_like(scales)  # Σ_r a_r γ_j^(k-r)
    total, mass = weight * tails[0], weight
    for k in range(1, needed):
        history = gamma * (history + weight)
        weight = float(counts @ history) / (2.0 * k)
        total += weight * tails[k]
        mass += weight
        if (1.0 - mass) * tails[k] <= SERIES_TOLERANCE * total:
            return float(total)
    return None


def moment_in_ball(variances: FloatArray, bound: float) -> SmallestMoment:
    r"""λ_min(E[xxᵀ]) for N(0, Σ) inside the ball of radius ``bound``, from Σ's eigenvalues s.

    The ball is round, so Σ may be taken diagonal. The smallest moment is that of the smallest
    s_1: swapping two coordinates shows that the larger variance keeps the larger moment. A χ²(1)
    weighted by itself is a χ²(3), so

    .. math:: E[x_1^2] = s_1 \frac{P(Q + s_1 \chi^2_2 \le b^2)}{P(Q \le b^2)},
              \qquad Q = \sum_j s_j \chi^2_1 ,

    which for Σ = v·I is v·F_{d+2}(b²/v)/F_d(b²/v). Where the series for the two chances is too
    long, the bound is the value with all other variances infinite,

    .. math:: \frac{\int x^2 e^{-x^2/2s_1} (b^2 - x^2)^{(d-1)/2} dx}
                   {\int e^{-x^2/2s_1} (b^2 - x^2)^{(d-1)/2} dx} ,

    a lower bound because the other coordinates' share of the ball of radius √(b² - x²),
    relative to its volume, grows with x².
    """
    smallest = float(variances.min())
    d = len(variances)
    if smallest <= 0.0:
        return SmallestMoment(lower=0.0, exact=0.0, reason="the covariance is singular")
    square = bound * bound
    if float(variances.max()) == smallest:
        ratio = chi2.cdf(square / smallest, d + 2) / chi2.cdf(square / smallest, d)
        value = smallest * float(ratio)
        if math.isfinite(value) and value > 0.0:
            return SmallestMoment(lower=value, exact=value, reason="a ratio of chi-square laws")
    ones = np.ones(d)
    more = ones.copy()
    more[int(variances.argmin())] = 3.0
    under = chance_of_quadratic_form(variances, ones, square)
    over = chance_of_quadratic_form(variances, more, square)
    if under and over:
        value = smallest * over / under
        return SmallestMoment(lower=value, exact=value, reason="Ruben's chi-square series")
    return SmallestMoment(
        lower=_moment_beside_uniform(smallest, bound, d),
        exact=None,
        reason="a one-dimensional integral in which the other coordinates are uniform",
    )


def _moment_beside_uniform(variance: float, bound: float, n_features: int) -> float:
    """E[x²] under exp(-x²/2v)(b² - x²)^((d-1)/2) on [-b, b], by quadrature on x = b·y."""
    ratio = bound * bound / (2.0 * variance)
    power = 0.5 * (n_features - 1)

    def density(y: float) -> float:
        return float(math.exp(-ratio * y * y) * (1.0 - y * y) ** power)

    # The mass lies within a few standard deviations of 0.
    reach = min(1.0, 12.0 / math.sqrt(2.0 * ratio + 2.0 * power + 1.0))
    over = quad(lambda y: y * y * density(y), 0.0, reach, epsabs=0.0, epsrel=1e-11)[0]
    under = quad(density, 0.0, reach, epsabs=0.0, epsrel=1e-11)[0]
    # Lowered by a millionth: more than the error of the quadrature and the tail beyond ``reach``.
    return bound * bound * float(over / under) * (1.0 - 1e-6)


def moment_in_box(covariance: float | FloatArray, n_features: int, bound: float) -> SmallestMoment:
    r"""λ_min(E[xxᵀ]) for N(0, Σ) inside the box [-bound, bound]^d.

    Exact for a diagonal Σ, whose coordinates stay independent. Otherwise, with s = λ_min(Σ), the
    density exp(-xᵀΣ⁻¹x/2) is at least exp(-‖x‖²/2s), whose second moment on the box is known:

    .. math:: E[xx^\top] \succeq \frac{\int_{box} e^{-\|x\|^2/2s} dx}
              {\min((2b)^d, (2\pi)^{d/2} |\Sigma|^{1/2})}\, E_s[z^2 : |z| \le b]\, I .
    """
    if np.ndim(covariance) < 2:
        smallest = float(np.min(covariance))
        value = moment_in_interval(smallest, bound)
        return SmallestMoment(lower=value, exact=value, reason="independent truncated coordinates")
    variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    smallest = float(variances[0])
    if smallest == 0.0:
        return SmallestMoment(lower=0.0, exact=0.0, reason="the covariance is singular")
    inside = 1.0 - 2.0 * float(norm.sf(bound / math.sqrt(smallest)))
    log_isotropic = n_features * (0.5 * math.log(2.0 * math.pi * smallest) + math.log(inside))
    log_whole = min(
        n_features * math.log(2.0 * bound),
        0.5 * float(np.log(2.0 * math.pi * variances).sum()),
    )
    value = math.exp(log_isotropic - log_whole) * moment_in_interval(smallest, bound)
    return SmallestMoment(
        lower=value,
        exact=None,
        reason="a comparison with the isotropic Gaussian of variance λ_min(Σ)",
    )
