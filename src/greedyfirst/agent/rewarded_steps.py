"""Which decisions have had their reward, where rewards did not come in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]


class RewardedSteps:
    """The decisions that have their reward: all up to ``first``, and some after it.

    One bit per decision after ``first``, since some never get a reward.

    Parameters
    ----------
    first
        The decision up to which all have theirs.
    unknown
        Up to this decision nothing is known of the others. That is so in agents of files which do
        not tell: then a second reward is not noticed.
    """

    def __init__(self, first: int, *, unknown: int = 0) -> None:
        self.first, self.unknown = first, unknown
        self._bits = bytearray()

    def __contains__(self, step: int) -> bool:
        if step <= self.first:
            return step > self.unknown
        place, bit = divmod(step - self.first - 1, 8)
        return place < len(self._bits) and bool(self._bits[place] >> bit & 1)

    def add(self, step: int) -> None:
        """A decision has its reward."""
        if step <= self.first:
            return
        place, bit = divmod(step - self.first - 1, 8)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits)))
        self._bits[place] |= 1 << bit
        full = 0
        while full < len(self._bits) and self._bits[full] == 0xFF:
            full += 1
        if full:
            del self._bits[:full]
            self.first += 8 * full

    def open_until(self, last: int) -> Iterator[int]:
        """The decisions up to ``last`` that wait for a reward, in their order."""
        return (step for step in range(self.first + 1, last + 1) if step not in self)

    def stored(self) -> tuple[list[int], Bits]:
        """Everything as plain data: a copy."""
        return [self.first, self.unknown], np.frombuffer(bytes(self._bits), np.uint8)

    @classmethod
    def restored(cls, ends: list[int], bits: Bits) -> Self:
        """The ones whose :meth:`stored` this is."""
        first, unknown = ends
        steps = cls(first, unknown=unknown)
        steps._bits = bytearray(bits.tobytes())
        return steps
