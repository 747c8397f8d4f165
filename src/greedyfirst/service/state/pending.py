"""The decisions that wait for their reward: there may be very many."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from math import isnan, nan
from typing import Any

import numpy as np

from greedyfirst.validation import FloatArray

#: So many places of settled decisions are kept beside as many as there are pending ones.
_SPARE = 1000


class Pending:
    """When each of them was made, in their order.

    Two columns: one that is settled leaves a hole, and the holes are closed once they are more than
    the others. The oldest is at hand, and copying all of them is copying memory.
    """

    def __init__(self) -> None:
        self._steps = array("q")
        self._times = array("d")
        self._first = 0
        self._count = 0

    @classmethod
    def from_bytes(cls, steps: bytes, times: bytes) -> Pending:
        """Those whose :meth:`columns` were kept as bytes."""
        pending = cls()
        pending._steps.frombytes(steps)
        pending._times.frombytes(times)
        pending._count = len(pending._steps)
        return pending

    def __len__(self) -> int:
        return self._count

    def __contains__(self, step: int) -> bool:
        return self._place(step) is not None

    def _place(self, step: int) -> int | None:
        place = bisect_left(self._steps, step, self._first)
        there = place < len(self._steps) and self._steps[place] == step
        return place if there and not isnan(self._times[place]) else None

    def add(self, step: int, at: float) -> None:
        """A decision, later than all others."""
        self._steps.append(step)
        self._times.append(at)
        self._count += 1

    def remove(self, step: int) -> None:
        """It waits no longer; KeyError if it did not."""
        place = self._place(step)
        if place is None:
            raise KeyError(f"decision {step} does not wait for a reward")
        self._times[place] = nan
        self._count -= 1
        if len(self._steps) > 2 * self._count + _SPARE:
            steps, times = self.columns()
            self._steps, self._times = array("q", steps.tobytes()), array("d", times.tobytes())
            self._first = 0
        while self._first < len(self._times) and isnan(self._times[self._first]):
            self._first += 1

    def oldest(self) -> tuple[int, float]:
        """The one that was made first, and when; there must be one."""
        return self._steps[self._first], self._times[self._first]

    def columns(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], FloatArray]:
        """A copy: steps and times."""
        steps = np.frombuffer(self._steps, np.int64)
        times = np.frombuffer(self._times, np.float64)
        waiting = ~np.isnan(times)
        return steps[waiting], times[waiting]
