"""How often an arm can be pulled where it is poorly known."""

from __future__ import annotations

import math

from greedyfirst.validation import number, whole_number

# It is at rounding after six or so, but where the root is 0.
NEWTON_STEPS = 60


def poorly_known_rounds(*, n_features: int, ratio: float, variance: float) -> float:
    r"""How many pulls of an arm can have had :math:`V \ge v`: the largest N with

    .. math:: N\log(1+v) \le d\log\Bigl(1 + \frac{N}{d}\,\frac{x_{\max}^2}{\kappa}\Bigr) ,

    ``ratio`` x_max²/κ, ``variance`` v. For whatever contexts, and with other pulls in between.

    Examples
    --------
    One feature that is always 1, κ = 1: V = 1/(1 + n) is at least 1/10 for the first ten pulls.

    >>> from greedyfirst.theory import poorly_known_rounds
    >>> 10 <= poorly_known_rounds(n_features=1, ratio=1.0, variance=0.1) < 40
    True
    """
    d = whole_number("n_features", n_features, at_least=1)
    ratio = number("ratio", ratio, above=0)
    each = math.log1p(number("variance", variance, above=0))
    # The right side is concave in N and 0 at 0: above the root the left side is larger, and
    # Newton's method from there stays above it.
    high = 1.0
    while high * each <= d * math.log1p(high * ratio / d):
        high *= 2
    for _ in range(NEWTON_STEPS):
        beyond = high * each - d * math.log1p(high * ratio / d)
        step = beyond / (each - ratio / (1 + high * ratio / d))
        if step <= 1e-12 * high:
            break
        high -= step
    return high
