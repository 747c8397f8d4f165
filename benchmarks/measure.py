"""How the benchmarks measure: alternating repetitions on a noisy machine, and their ratios."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A pass shorter than this is repeated: the clock and a scheduler's time slice then hardly matter.
SHORTEST_MEASUREMENT = 0.2  # seconds

Work = Callable[[], Any]


class SkippedError(Exception):
    """Why a line cannot be measured here."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A measured number, and how it is printed."""

    value: float
    text: str


def seconds(work: Work, passes: int = 1) -> float:
    """The time that ``passes`` calls of ``work`` take."""
    start = time.perf_counter()
    for _ in range(passes):
        work()
    return time.perf_counter() - start


def time_ratio(work: Work, yardstick: Work, *, repetitions: int) -> Reading:
    """The time of ``work`` over that of ``yardstick``: ratio of the minima of both.

    Both are called once to warm up, then in turns, the first one changing from repetition to
    repetition, so that a slow minute of the machine meets both. Printed beside it: the median of
    the ratios of neighbours.
    """
    work()
    once = min(seconds(yardstick) for _ in range(3))
    passes = max(1, math.ceil(SHORTEST_MEASUREMENT / once))
    pairs = []
    for repetition in range(repetitions):
        if repetition % 2:
            under = seconds(yardstick, passes)
            pairs.append((seconds(work, passes), under))
        else:
            over = seconds(work, passes)
            pairs.append((over, seconds(yardstick, passes)))
    value = min(over for over, _ in pairs) / min(under for _, under in pairs)
    median = statistics.median(over / under for over, under in pairs)
    return Reading(value=value, text=f"{value:.2f} (median of pairs {median:.2f})")
