"""The spread of rewards: mean and standard deviation, one reward at a time (Welford)."""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.compiling.records import Record, integer, number


class RewardSpread(Record):
    """What both need."""

    count: int = integer()
    mean: float = number()
    #: The sum of squares about the mean.
    squares: float = number()


@inline_kernel
def observe(spread: RewardSpread, reward: float) -> None:
    """Take in one reward."""
    spread.count += 1
    deviation = reward - spread.mean
    spread.mean += deviation / spread.count
    spread.squares += deviation * (reward - spread.mean)


@inline_kernel
def standard_deviation(spread: RewardSpread) -> float:
    """√(Σ(y − ȳ)²/(n − 1)); ∞ while it is not known, or all rewards are alike."""
    if not spread.squares > 0.0:
        return math.inf
    return math.sqrt(spread.squares / (spread.count - 1))
