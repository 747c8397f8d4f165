"""Rewards that are 0 or 1, by log-odds."""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.links.link import Link
from greedyfirst.validation import FloatArray


class Logistic(Link):
    """μ(z) = 1/(1 + e⁻ᶻ): the canonical link of clicks and conversions.

    Shares between 0 and 1 are taken as well, with their expected log-likelihood.

    Examples
    --------
    >>> from greedyfirst.links import Logistic
    >>> Logistic.mean(0.0), Logistic.slope(0.0)
    (0.5, 0.25)
    """

    name = "logistic"
    rewards = "a number from 0 to 1"
    canonical = True
    subgaussian = True
    # Hoeffding's lemma, for whatever lies in [0, 1].
    largest_sigma = 0.5

    @staticmethod
    def mean(z: float) -> float:
        """1/(1 + e⁻ᶻ) without overflow."""
        tail = math.exp(-abs(z))
        return (1.0 if z >= 0.0 else tail) / (1.0 + tail)

    @staticmethod
    def slope(z: float) -> float:
        """μ(1 - μ)."""
        tail = math.exp(-abs(z))
        return tail / ((1.0 + tail) * (1.0 + tail))

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """y·log μ + (1 - y)·log(1 - μ)."""
        return y * z - max(z, 0.0) - math.log1p(math.exp(-abs(z)))

    @staticmethod
    def score(z: float, y: float) -> float:
        """y - μ, as y(1 - μ) - (1 - y)μ: exact where μ is near 1."""
        tail = math.exp(-abs(z))
        one = 1.0 / (1.0 + tail)
        high = one if z >= 0.0 else tail * one
        low = tail * one if z >= 0.0 else one
        return y * low - (1.0 - y) * high

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """μ(1 - μ)."""
        tail = math.exp(-abs(z))
        one = 1.0 / (1.0 + tail)
        return tail * one * one

    @staticmethod
    def extreme(y: float) -> float:
        """At both ends."""
        if y == 1.0:
            return 1.0
        return -1.0 if y == 0.0 else 0.0

    @staticmethod
    def accepts(rewards: FloatArray) -> np.ndarray:
        """0, 1 and what is between."""
        return (rewards >= 0.0) & (rewards <= 1.0)

    @staticmethod
    def draw(rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """1 where one uniform number per row is below the expectation."""
        return (rng.random((len(means), 1)) < means).astype(np.float64)
