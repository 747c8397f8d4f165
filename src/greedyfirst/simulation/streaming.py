"""Mean and spread of curves that come one at a time."""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.validation import FloatArray


class StreamingMoments:
    """Mean and half-width of arrays of one shape, added one by one (Welford).

    The result depends on the order of the arrays, not on how they were grouped.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    def add(self, values: FloatArray) -> None:
        """Take in one array."""
        self.count += 1
        deviation = values - self.mean
        self.mean += deviation / self.count
        self._squares += deviation * (values - self.mean)

    @property
    def half_width(self) -> FloatArray:
        """2·standard deviation/√n: half of a 95 % confidence interval; nan for a single array."""
        if self.count < 2:
            return np.full_like(self.mean, np.nan)
        result: FloatArray = 2.0 * np.sqrt(self._squares / (self.count - 1) / self.count)
        return result


def half_width_text(half_width: float, form: str) -> str:
    """A half-width as people read it: blank where a single instance leaves it unknown."""
    return "" if math.isnan(half_width) else format(half_width, form)
