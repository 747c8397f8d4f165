"""What a virtual machine's host takes away from it, from Linux's count of stolen time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WINDOW = 0.1
_STAT = Path("/proc/stat")
_STOLEN = 8


def stolen() -> int:
    """Ticks that this machine wanted to run and another one ran; 0 where they are not counted."""
    if not _STAT.exists():
        return 0
    with _STAT.open() as lines:
        return int(lines.readline().split()[_STOLEN])


class Watch:
    """Notes in which tenths of a second the host took time away."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._ticks: list[int] = []

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self._times.append(time.perf_counter())
            self._ticks.append(stolen())
            await asyncio.sleep(WINDOW)

    def undisturbed(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of these times have no such tenth near: their own, the one before and after."""
        # The ticks between two looks; before the first and after the last one nobody looked.
        taken = np.diff(self._ticks, prepend=self._ticks[:1], append=self._ticks[-1:]) > 0
        around = taken.copy()
        around[1:] |= taken[:-1]
        around[:-1] |= taken[1:]
        calm: NDArray[np.bool_] = ~around[np.searchsorted(self._times, times)]
        return calm
