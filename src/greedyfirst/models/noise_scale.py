r"""The noise's standard deviation: known, or estimated as rewards come in.

.. math:: \hat\sigma^2 = \sum_s r_s^2 / (t - d)

over all arms, with each residual r taken right after its own update, from t > K·d on; before
that, a start value (EXPERIMENTS: 100 on synthetic data, 1 on real data).
"""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.compiling.records import Record
from greedyfirst.compiling.records import integer as one_integer
from greedyfirst.compiling.records import number as one_number
from greedyfirst.validation import number

UNKNOWN = -1.0


class NoiseScale(Record):
    """What the estimate needs."""

    rewards: int = one_integer()
    #: The sum of their squared residuals.
    squares: float = one_number()


def checked_sigma(sigma: float | None) -> float | None:
    """``sigma`` if it is a valid noise scale, or None for one that is estimated."""
    return None if sigma is None else number("sigma", sigma, above=0)


def known_sigma(sigma: float | None) -> float:
    """``sigma`` as kernels take it."""
    return UNKNOWN if sigma is None else float(sigma)


@inline_kernel
def observe(noise: NoiseScale, residual: float) -> None:
    """Take in one residual."""
    noise.rewards += 1
    noise.squares += residual * residual


@inline_kernel
def scale(noise: NoiseScale, sigma: float, sigma_start: float, n_arms: int, d: int) -> float:
    """``sigma`` if it is known (not negative), else the estimate or its start value."""
    if sigma >= 0.0:
        return sigma
    if noise.rewards > n_arms * d:
        return math.sqrt(noise.squares / (noise.rewards - d))
    return sigma_start
