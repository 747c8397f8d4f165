"""Bounds on λ₀ of the law that a sample is from: bootstrap and concentration inequalities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.validation import FloatArray

# Rows are put into this many groups, whose sums are resampled: the cost does not grow with n.
GROUPS = 200
RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class SamplingError:
    """Bounds on λ₀ of the law p that the sample was drawn from, for independent rows.

    Each bound holds with a probability of at least ``confidence``, if no context of the law is
    longer than ``x_max``.
    """

    confidence: float
    x_max: float
    #: Bootstrap interval of E[(xᵀv)² 1{xᵀu ≥ 0}], which is at least λ₀(p), at the u and v that the
    #: search found; on rows that the search has not seen.
    bootstrap: tuple[float, float]
    #: λ₀(p) is below this: concentration of that mean.
    upper: float
    #: λ₀(p) is above this: concentration at each direction of a net; 0 where there is no net.
    lower: float
    #: λ₀(p) = λ_min(E[xxᵀ])/2 is above this **if p is the same at x and -x**, Lemma 1's case.
    lower_if_symmetric: float
    #: The number of rows behind ``bootstrap``, ``upper`` and ``lower``. 0 if nothing was searched;
    #: ``upper`` then uses all rows.
    held_out_rows: int


def bootstrap_interval(
    sums: FloatArray, counts: FloatArray, *, confidence: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile bootstrap of Σ sums / Σ counts over groups of rows (k,), resampled together."""
    groups = int((counts > 0).sum())
    sums, counts = sums[counts > 0], counts[counts > 0]
    drawn = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=RESAMPLES)
    means = (drawn @ sums) / (drawn @ counts)
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(means, [tail, 100.0 - tail])
    return float(low), float(high)


def mean_below(observed: float, n_rows: int, limit: float, log_chance: float) -> float:
    r"""A lower confidence bound on the mean μ of numbers in [0, limit], given their average.

    .. math:: P(\bar z \ge t) \le \exp(-n\, kl(t / b, \mu / b)), \qquad t \ge \mu ,

    with b = ``limit`` and kl the relative entropy of two coins (Hoeffding). The bound is the least
    μ at which the right side, for t = ``observed``, is at least e^``log_chance``. It also holds for
    the smallest eigenvalue of a mean of matrices, without a factor d: that is at most the
    quadratic form at the true weakest direction, which is a mean of numbers.
    """
    return limit * _invert(observed / limit, -log_chance / n_rows, below=True)


def mean_above(observed: float, n_rows: int, limit: float, log_chance: float) -> float:
    """An upper confidence bound on the mean μ of numbers in [0, limit], as `mean_below`."""
    return limit * _invert(observed / limit, -log_chance / n_rows, below=False)


def _invert(share: float, budget: float, *, below: bool) -> float:
    share = min(max(share, 0.0), 1.0)
    near, far = share, (0.0 if below else 1.0)
    for _ in range(100):
        middle = 0.5 * (near + far)
        if _relative_entropy(share, middle) <= budget:
            near = middle
        else:
            far = middle
    # Of the bracket, the end at which the bound holds.
    return far


def _relative_entropy(p: float, q: float) -> float:
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            total += a * math.log(a / b) if b > 0.0 else math.inf
    return total
