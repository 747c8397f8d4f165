"""From a sample's λ₀ to its law's: a bootstrap interval and concentration bounds."""

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
    """What the sample says of λ₀ of the law p it was drawn from, rows independent.

    The bounds hold with a chance of at least ``confidence`` each. They need a bound on the
    contexts' norm, ``x_max``; where it is the longest row of the sample, that is an assumption.
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
    #: The rows that the first two numbers are from.
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
    r"""The least mean μ of [0, limit]-valued rows at which ``observed`` is not too high.

    .. math:: P(\bar z \ge t) \le \exp(-n\, kl(t / b, \mu / b)), \qquad t \ge \mu ,

    with kl the relative entropy of two coins (Hoeffding). A smallest eigenvalue of a mean of
    matrices is at most its value at the true weakest direction, which is such a mean: the
    inequality holds for it as well, without a factor d.
    """
    return limit * _invert(observed / limit, -log_chance / n_rows, below=True)


def mean_above(observed: float, n_rows: int, limit: float, log_chance: float) -> float:
    """The largest mean μ of [0, limit]-valued rows at which ``observed`` is not too low."""
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
    # The side on which the bound is safe.
    return far


def _relative_entropy(p: float, q: float) -> float:
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            total += a * math.log(a / b) if b > 0.0 else math.inf
    return total
