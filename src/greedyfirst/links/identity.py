"""Linear rewards."""

from __future__ import annotations

import numpy as np

from greedyfirst.links.link import Link
from greedyfirst.validation import FloatArray


class Identity(Link):
    """μ(z) = z with normal noise of any scale: the maximum likelihood estimate is least squares.

    Examples
    --------
    >>> from greedyfirst.links import Identity
    >>> Identity.mean(0.3)
    0.3
    """

    name = "identity"
    rewards = "a finite number"
    canonical = True
    subgaussian = True

    @staticmethod
    def mean(z: float) -> float:
        """z."""
        return z

    @staticmethod
    def slope(z: float) -> float:
        """1."""
        return 1.0

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """For noise of scale 1, which does not matter for the maximum."""
        return -0.5 * (y - z) * (y - z)

    @staticmethod
    def score(z: float, y: float) -> float:
        """The residual."""
        return y - z

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """1."""
        return 1.0

    @staticmethod
    def extreme(y: float) -> float:
        """Never."""
        return 0.0

    @staticmethod
    def accepts(rewards: FloatArray) -> np.ndarray:
        """All numbers."""
        return np.isfinite(rewards)

    @staticmethod
    def draw(rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """With noise of scale 1, the same for all arms of a row."""
        return means + rng.standard_normal((len(means), 1))
