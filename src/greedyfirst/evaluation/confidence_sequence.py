r"""Intervals of a running average that hold at all times together: look whenever you like.

Numbers :math:`Z_1, Z_2, \dots` come one after the other; :math:`\delta_i` is the mean of
:math:`Z_i` given all before it, which may change from one to the next as a policy learns. After n
of them the interval is about the average :math:`\bar\delta_n = \frac1n\sum\delta_i`. With
probability ``level`` it holds :math:`\bar\delta_n` at *every* n: stopping at a look that pleases
costs nothing. Both intervals need three sums only: n, :math:`S = \sum Z_i`, :math:`Q = \sum Z_i^2`.

**Bounded**: :math:`|Z_i| \le c`, and nothing else is assumed. For :math:`y \ge -1` and
:math:`0 \le \lambda < 1`,

.. math:: e^{\lambda y - \psi(\lambda)y^2} \le 1 + \lambda y,
          \qquad \psi(\lambda) = -\log(1 - \lambda) - \lambda .

With :math:`y = Z_i/c` the right side has the mean :math:`1 + \lambda\delta_i/c \le
e^{\lambda\delta_i/c}`, so that :math:`M_n(\lambda) = e^{\lambda s - \psi(\lambda)v}` with
:math:`s = (S - n\bar\delta_n)/c` and :math:`v = Q/c^2` is a non-negative supermartingale that
begins at 1. So is its mean over λ by any weights. With :math:`1 - \lambda` from a Gamma
distribution of shape and rate ρ, cut off at 1, that mean is

.. math:: M_n = \frac{\rho^\rho}{\gamma(\rho, \rho)}\,
                \frac{\gamma(v + \rho, s + v + \rho)}{(s + v + \rho)^{v + \rho}}\, e^{s + v}

(γ the lower incomplete gamma function). By Ville's inequality it ever reaches :math:`2/\alpha` with
probability :math:`\alpha/2` at most. It grows with s: the s at which it would is how far :math:`S`
may be above :math:`n\bar\delta_n`; for the other side take :math:`-Z_i`. The boundary is that of
Howard, Ramdas, McAuliffe and Sekhon (*Annals of Statistics* 2021). The plug-in of Waudby-Smith and
Ramdas (2024) is about a weighted average, which is another number where the means change.

**Asymptotic**: without a bound, the variance :math:`\hat\sigma^2 = Q/n - (S/n)^2` takes its place,
as in the central limit theorem. Partial sums come close to those of normal steps, for which a mean
over λ by a normal density has the closed form

.. math:: \left|\tfrac Sn - \bar\delta_n\right| \le
          \frac{\hat\sigma}{n}\sqrt{\frac{n\rho^2 + 1}{\rho^2}\,\log\frac{n\rho^2 + 1}{\alpha^2}}

(Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, *Annals of Statistics* 2024). The level is
approached as n grows from the first look on, so a first look that comes too early costs some of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import gammainc, gammaln

from greedyfirst.validation import number

#: The bounded interval is narrowest when Q is about so many c², the asymptotic one after about so
#: many numbers. Elsewhere both are wider by some per cent: the square root of a logarithm.
NARROWEST_SQUARES, NARROWEST_COUNT = 10.0, 1000.0
#: Of the boundary, relatively; the end that is taken is the wider one.
PRECISION = 1e-12


@dataclass(kw_only=True)
class Sums:
    """What an interval needs to know of the numbers so far: count, sum, and sum of squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.count += 1
        self.total += value
        self.squares += value * value


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The average so far, and the ends of its interval."""

    value: float
    low: float
    high: float


def bounded_interval(sums: Sums, *, bound: float, level: float = 0.95) -> Interval:
    """The interval for numbers that are at most ``bound`` in size; all numbers, without any.

    Examples
    --------
    >>> sums = Sums()
    >>> for value in [1.0, 0.0, 1.0, 1.0] * 100:
    ...     sums.add(value)
    >>> found = bounded_interval(sums, bound=1.0)
    >>> round(found.low, 2), found.value, round(found.high, 2)
    (0.59, 0.75, 0.91)
    """
    number("bound", bound, above=0)
    number("level", level, above=0, below=1)
    if sums.count == 0:
        return Interval(value=0.0, low=-math.inf, high=math.inf)
    tail = (1 - level) / 2
    # Where the boundary of normal steps is narrowest, which is close.
    rho = NARROWEST_SQUARES / (2 * math.log(1 / tail) + math.log(1 + 2 * math.log(1 / tail)))
    half = bound * _boundary(sums.squares / bound**2, rho, tail) / sums.count
    value = sums.total / sums.count
    return Interval(value=value, low=value - half, high=value + half)


def log_mixture(s: float, v: float, rho: float) -> float:
    """log M of the module's docstring."""
    shape, rate = v + rho, s + v + rho
    gamma = gammaln(shape) + math.log(gammainc(shape, rate))
    start = gammaln(rho) + math.log(gammainc(rho, rho))
    return float(s + v + gamma - shape * math.log(rate) + rho * math.log(rho) - start)


def _boundary(v: float, rho: float, tail: float) -> float:
    """The least s, but for rounding, at which the mixture is at least 1/tail: by bisection."""
    wanted = math.log(1 / tail)
    low, high = 0.0, 1.0
    while log_mixture(high, v, rho) < wanted:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if log_mixture(middle, v, rho) < wanted else (low, middle)
    return high


def asymptotic_interval(sums: Sums, *, level: float = 0.95) -> Interval:
    """The interval for numbers without a known bound; right for many of them.

    Examples
    --------
    >>> sums = Sums()
    >>> for value in [1.0, 0.0, 1.0, 1.0] * 100:
    ...     sums.add(value)
    >>> found = asymptotic_interval(sums)
    >>> round(found.low, 2), found.value, round(found.high, 2)
    (0.68, 0.75, 0.82)
    """
    number("level", level, above=0, below=1)
    n, alpha = sums.count, 1 - level
    if n < 2:
        value = sums.total if n else 0.0
        return Interval(value=value, low=-math.inf, high=math.inf)
    value = sums.total / n
    deviation = math.sqrt(max(sums.squares / n - value**2, 0.0))
    log = -2 * math.log(alpha)
    ratio = n * (log + math.log(log) + 1) / NARROWEST_COUNT + 1  # nρ² + 1
    half = deviation * math.sqrt(ratio / (ratio - 1) / n * (math.log(ratio) + log))
    return Interval(value=value, low=value - half, high=value + half)
