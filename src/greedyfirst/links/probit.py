"""Rewards that are 0 or 1, by a normal threshold."""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.links.link import Link
from greedyfirst.links.logistic import Logistic

# Beyond this the tail's asymptotic series is exact to rounding.
FAR = 30.0
ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@inline_kernel
def excess(t: float) -> float:
    """φ(t)/Φ(-t) - t far out, by its series in 1/t."""
    s = 1.0 / (t * t)
    return (1.0 - s * (2.0 - s * (10.0 - s * (74.0 - s * 706.0)))) / t


@inline_kernel
def hazard(z: float) -> float:
    """φ(z)/Φ(z), for any z."""
    if z < -FAR:
        return excess(-z) - z
    return ROOT_TWO_OVER_PI * math.exp(-0.5 * z * z) / math.erfc(-z * ROOT_HALF)


@inline_kernel
def bend(z: float) -> float:
    """h(h + z) with h = φ(z)/Φ(z): the curvature of -log Φ."""
    if z < -FAR:
        return hazard(z) * excess(-z)
    return hazard(z) * (hazard(z) + z)


@inline_kernel
def log_cdf(z: float) -> float:
    """log Φ(z)."""
    if z < -FAR:
        return -0.5 * z * z - LOG_ROOT_TWO_PI - math.log(hazard(z))
    if z < 0.0:
        return math.log(0.5 * math.erfc(-z * ROOT_HALF))
    return math.log1p(-0.5 * math.erfc(z * ROOT_HALF))


class Probit(Link):
    """μ(z) = Φ(z), the normal distribution function: not canonical, log-concave all the same.

    Examples
    --------
    >>> from greedyfirst.links import Probit
    >>> Probit.mean(0.0)
    0.5
    """

    name = "probit"
    rewards = Logistic.rewards
    subgaussian = True
    largest_sigma = Logistic.largest_sigma

    @staticmethod
    def mean(z: float) -> float:
        """Φ(z)."""
        return 0.5 * math.erfc(-z * ROOT_HALF)

    @staticmethod
    def slope(z: float) -> float:
        """φ(z)."""
        return math.exp(-0.5 * z * z - LOG_ROOT_TWO_PI)

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """y·log Φ(z) + (1 - y)·log Φ(-z)."""
        total = y * log_cdf(z) if y > 0.0 else 0.0
        return total + ((1.0 - y) * log_cdf(-z) if y < 1.0 else 0.0)

    @staticmethod
    def score(z: float, y: float) -> float:
        """y·φ/Φ(z) - (1 - y)·φ/Φ(-z)."""
        total = y * hazard(z) if y > 0.0 else 0.0
        return total - ((1.0 - y) * hazard(-z) if y < 1.0 else 0.0)

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """Observed, not expected."""
        total = y * bend(z) if y > 0.0 else 0.0
        return total + ((1.0 - y) * bend(-z) if y < 1.0 else 0.0)

    extreme = staticmethod(Logistic.extreme)
    accepts = staticmethod(Logistic.accepts)
    draw = staticmethod(Logistic.draw)
