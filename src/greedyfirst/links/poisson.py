"""Rewards that are counts."""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.links.link import Link
from greedyfirst.validation import FloatArray, wrong

# The largest expectation whose counts a float holds exactly.
LARGEST_MEAN = 1e15


class Poisson(Link):
    """μ(z) = eᶻ: the canonical link of counts.

    Examples
    --------
    >>> from greedyfirst.links import Poisson
    >>> Poisson.mean(0.0)
    1.0
    """

    name = "poisson"
    rewards = "a whole number of at least 0"
    canonical = True

    @staticmethod
    def mean(z: float) -> float:
        """e to the z, infinite where a float cannot hold it."""
        return math.exp(z) if z < 709.0 else math.inf

    @staticmethod
    def slope(z: float) -> float:
        """e to the z."""
        return math.exp(z) if z < 709.0 else math.inf

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """y·z - e to the z."""
        return y * z - math.exp(z) if z < 709.0 else -math.inf

    @staticmethod
    def score(z: float, y: float) -> float:
        """y - μ."""
        return y - math.exp(z) if z < 709.0 else -math.inf

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """μ."""
        return math.exp(z) if z < 709.0 else math.inf

    @staticmethod
    def extreme(y: float) -> float:
        """At 0."""
        return -1.0 if y == 0.0 else 0.0

    @staticmethod
    def accepts(rewards: FloatArray) -> np.ndarray:
        """Counts."""
        return np.asarray((rewards >= 0.0) & (rewards == np.floor(rewards)) & np.isfinite(rewards))

    @staticmethod
    def draw(rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """Quantiles of one uniform number per row."""
        if not means.max(initial=0.0) <= LARGEST_MEAN:
            expected = f"at most {LARGEST_MEAN:g}: smaller contexts or parameters"
            raise wrong("the largest expected count", float(means.max()), expected)
        # Most of a second to import, and only needed where counts are simulated.
        from scipy import stats

        counts: FloatArray = stats.poisson.ppf(rng.random((len(means), 1)), means)
        return np.ascontiguousarray(counts, dtype=np.float64)
