"""The span of the rows seen so far.

Kept as an orthogonal matrix whose first d - rank rows, Z, span the complement of the rows' span and
whose others span it. It starts as the identity; each time the span grows, at most d times, a
Householder reflection of Z's rows turns the new direction into the last of them. A row x is inside
the span when Zx = 0 up to rounding.

What is rounding depends on the features' units. Rows of large features leave errors in Z that are
nothing beside them, but not beside a later row in which they are zero and small features are not.
So a row is also judged with each feature divided by its unit, the largest size it has had.
"""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import kernel
from greedyfirst.numerics.vectors import add_multiple, inner
from greedyfirst.validation import FloatArray

# A row adds a direction when the part of it outside the span exceeds this share of its norm, and in
# the features' units too: well above rounding (about 1e-13 in these units, whatever they are), well
# below features whose scales differ by 10⁸.
TOLERANCE = 1e-11


@kernel
def widen(
    basis: FloatArray,
    units: FloatArray,
    rank: int,
    x: FloatArray,
    outside: FloatArray,
    reflector: FloatArray,
) -> float:
    """Take x into the span of ``rank`` dimensions kept in ``basis`` (d, d) and ``units`` (d,).

    Returns the squared length of x's part outside the span, 0 when x was inside; the caller's rank
    grows by one when it is positive, and the part itself is then in ``outside`` (d,); ``reflector``
    (d,) is scratch. ``units`` starts as 0.
    """
    d = x.shape[0]
    free = d - rank
    w = reflector
    for i in range(d):
        units[i] = max(units[i], abs(x[i]))
    squared = 0.0
    largest = 0
    for k in range(free):
        w[k] = inner(basis[k], x)
        squared += w[k] * w[k]
        if abs(w[k]) > abs(w[largest]):
            largest = k
    if squared <= TOLERANCE * TOLERANCE * inner(x, x):
        return 0.0
    if not stands_out(basis, units, x, w, free, outside):
        return 0.0
    # Z loses the row that is most along x: the others change little, so that their entries for
    # features of large units, which are small, keep their digits, and features not yet seen stay
    # apart.
    last = basis[free - 1]
    w[largest], w[free - 1] = w[free - 1], w[largest]
    for i in range(d):
        basis[largest, i], last[i] = last[i], basis[largest, i]
        outside[i] = 0.0
    for k in range(free):
        add_multiple(outside, w[k], basis[k])
    # Reflected along w, with the last of its entries shifted: Z'w is then outside + shift·last.
    shift = math.copysign(math.sqrt(squared), w[free - 1])
    w[free - 1] += shift
    length = 0.0
    for k in range(free):
        length += w[k] * w[k]
    for k in range(free - 1):
        share = -2.0 * w[k] / length
        add_multiple(basis[k], share, outside)
        add_multiple(basis[k], share * shift, last)
    share = -2.0 * w[free - 1] / length
    for i in range(d):
        last[i] += share * (outside[i] + shift * last[i])
    return squared


@kernel
def stands_out(
    basis: FloatArray,
    units: FloatArray,
    x: FloatArray,
    w: FloatArray,
    free: int,
    scaled: FloatArray,
) -> bool:
    """Whether x, by the products w = Zx, is outside the span also in the features' units u.

    That is, for some row z of Z, the cosine of the angle between uz and x/u exceeds the tolerance.
    """
    for i in range(x.shape[0]):
        scaled[i] = x[i] / units[i] if units[i] > 0.0 else 0.0
    rounding = TOLERANCE * TOLERANCE * inner(scaled, scaled)
    for k in range(free):
        for i in range(x.shape[0]):
            scaled[i] = basis[k, i] * units[i]
        if w[k] * w[k] > rounding * inner(scaled, scaled):
            return True
    return False
