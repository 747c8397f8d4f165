"""Bounds on λ₀ of the law that a sample is from, by concentration inequalities."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SamplingError:
    r"""An interval for λ₀ of the law p that the sample was drawn from, for independent rows.

    .. math:: P(\text{lower} \le \lambda_0(p) \le \text{upper}) \ge \text{confidence}

    Each end fails with a chance of at most half of 1 - ``confidence``, by Hoeffding's inequality on
    rows that the search has not seen. Then both are moved out, if they must, to the sample's own
    bounds on λ₀: a wider interval fails no more often.

    - The upper end is a bound on E[(xᵀv)² 1{xᵀu ≥ 0}] at the u and v that the search found, which
      is at least λ₀(p). It supposes that no context has a larger (xᵀv)² than the rows have, or,
      where ``x_max`` is given, that none is longer than that.
    - The lower end is the least of such bounds over a net of directions, where there is one (up to
      three dimensions), else 0. It supposes that no context is longer than ``x_max``.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.theory import measure_diversity
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> sampling = measure_diversity(rows).sampling
    >>> bool(sampling.lower <= 1 / 6 <= sampling.upper)  # λ₀ of this law
    True
    """

    confidence: float
    #: The largest norm of a context: as given, or that of the longest row.
    x_max: float
    lower: float
    upper: float
    #: λ₀(p) = λ_min(E[xxᵀ])/2 is above this with ``confidence`` **if p is the same at x and -x**,
    #: Lemma 1's case.
    lower_if_symmetric: float
    #: The number of rows behind ``upper`` and ``lower``: those that the search has not seen, or
    #: all rows if nothing was searched.
    held_out_rows: int


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
