r"""The noise's standard deviation: known, or estimated as rewards come in.

.. math:: \hat\sigma^2 = \sum_s r_s^2 / (t - d)

over all arms, with each residual r taken right after its own update, from t > K·d on; before
that, a start value (EXPERIMENTS: 100 on synthetic data, 1 on real data).
"""

from __future__ import annotations

import math

from greedyfirst.compilation import inline_kernel
from greedyfirst.memory import Memory
from greedyfirst.validation import FloatArray, number

UNKNOWN = -1.0


# The state is one vector: rewards so far, and the sum of their squared residuals.
COUNT, SQUARES = range(2)


def checked_sigma(sigma: float | None) -> float | None:
    """``sigma`` if it is a valid noise scale, or None for one that is estimated."""
    return None if sigma is None else number("sigma", sigma, above=0)


def init(memory: Memory) -> FloatArray:
    """The state (2,)."""
    return memory.take(2)


@inline_kernel
def observe(noise: FloatArray, residual: float) -> None:
    """Take in one residual."""
    noise[COUNT] += 1.0
    noise[SQUARES] += residual * residual


@inline_kernel
def scale(noise: FloatArray, sigma: float, sigma_start: float, n_arms: int, d: int) -> float:
    """``sigma`` if it is known (not negative), else the estimate or its start value."""
    if sigma >= 0.0:
        return sigma
    if noise[COUNT] > n_arms * d:
        return math.sqrt(noise[SQUARES] / (noise[COUNT] - d))
    return sigma_start
