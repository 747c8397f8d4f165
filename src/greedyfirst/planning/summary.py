"""Many simulated trials as numbers, each with its Monte Carlo standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from greedyfirst.planning.measures import Measures
from greedyfirst.validation import FloatArray

#: The quantiles that are told of widths and errors.
MEDIAN, MOST, NEARLY_ALL = 0.5, 0.8, 0.95
LARGEST_EXPONENT = 100.0  # so that limits stay finite


def summarise(measured: Sequence[Measures]) -> dict[str, float]:
    """Each number by name, and its Monte Carlo standard error by that name and ``_se``."""
    columns = {
        name: np.array([getattr(each, name) for each in measured]) for name in Measures._fields
    }
    width = columns["width"]
    found = {
        "width": quantile(width, MEDIAN),
        "width_80": quantile(width, MOST),
        "interval": mean(np.isfinite(width)),
        "coverage": mean(columns["covered"]),
        "error_95": quantile(columns["error"], NEARLY_ALL),
    }
    plain = ("not_best", "worse_on_average", "regret", "starving", "right_arm", "right_person")
    found |= {name: mean(columns[name]) for name in plain}
    return with_errors(found)


def with_errors(found: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Pairs of a number and its standard error, side by side."""
    flat: dict[str, float] = {}
    for name, (value, error) in found.items():
        flat |= {name: value, f"{name}_se": error}
    return flat


def mean(values: FloatArray | np.ndarray) -> tuple[float, float]:
    """The mean of those that are known and its standard error; NaN where that is unknown."""
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    if not known.size:
        return math.nan, math.nan
    error = math.nan if known.size < 2 else float(known.std(ddof=1) / math.sqrt(known.size))
    return float(known.mean()), error


def quantile(values: FloatArray, share: float) -> tuple[float, float]:
    """A quantile of numbers that may be infinite, and its standard error.

    The error is half the distance of the quantiles at ``share`` ± its binomial standard error.
    """
    ordered = np.sort(values)
    spread = math.sqrt(share * (1 - share) / len(ordered))
    low, middle, high = (_at(ordered, share + step) for step in (-spread, 0.0, spread))
    return middle, (high - low) / 2 if math.isfinite(high) else math.inf


def _at(ordered: FloatArray, share: float) -> float:
    """The smallest number that at least this share of all does not exceed."""
    place = math.ceil(min(max(share, 0.0), 1.0) * len(ordered)) - 1
    return float(ordered[max(place, 0)])


def interpolate(people: Sequence[int], values: Sequence[float], size: float) -> float:
    """A value between two sizes: its logarithm is taken as linear in log(people)."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(values, 0.0))
    return float(np.exp(np.interp(math.log(size), np.log(people), logs)))


def likely_range(value: float, error: float) -> tuple[float, float]:
    """95 % limits of a width, by a normal law of its logarithm; the lower one is positive.

    Where the error is unknown because a larger quantile is infinite, so is the upper limit.
    """
    if not math.isfinite(error):
        return value, math.inf
    factor = math.exp(min(2 * error / value, LARGEST_EXPONENT))
    return value / factor, value * factor


def people_until(people: Sequence[int], widths: Sequence[float], target: float) -> float:
    """The number of people at which the width has fallen to ``target`` for good.

    Between two sizes log(width) is taken as linear in log(people); infinite if the largest size is
    too small, and the smallest size if that is large enough.
    """
    wide = [place for place, width in enumerate(widths) if not width <= target]
    if not wide:
        return float(people[0])
    last = wide[-1]
    if last == len(people) - 1:
        return math.inf
    before, after = float(people[last]), float(people[last + 1])
    high, low = widths[last], widths[last + 1]
    if not math.isfinite(high):
        return after
    share = math.log(high / target) / math.log(high / low)
    return float(before * (after / before) ** share)
