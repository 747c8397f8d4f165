"""The span of the rows seen so far.

Kept as an orthogonal matrix whose first d - rank rows, Z, span the complement of the rows' span and
whose others span it. It starts as the identity; each time the span grows, at most d times, a
Householder reflection of Z's rows turns the new direction into the last of them. A row x is inside
the span when Zx = 0 up to ``TOLERANCE``.
"""

from __future__ import annotations

import math

from greedyfirst.compilation import rare_kernel
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

# A row adds a direction when the part of it outside the span exceeds this share of its norm:
# well above the rounding of Z (about 1e-15), well below features whose scales differ by 10⁸.
TOLERANCE = 1e-11


@rare_kernel
def widen(
    basis: FloatArray, rank: int, x: FloatArray, outside: FloatArray, reflector: FloatArray
) -> float:
    """Take x into the span of ``rank`` dimensions kept in ``basis`` (d, d).

    Returns the squared length of x's part outside the span, 0 when x was inside; the caller's rank
    grows by one when it is positive, and the part itself is then in ``outside`` (d,); ``reflector``
    (d,) is scratch.
    """
    d = x.shape[0]
    free = d - rank
    w = reflector
    squared = 0.0
    for k in range(free):
        w[k] = inner(basis[k], x)
        squared += w[k] * w[k]
    if squared <= TOLERANCE * TOLERANCE * inner(x, x):
        return 0.0
    for i in range(d):
        outside[i] = 0.0
    for k in range(free):
        add_multiple(outside, w[k], basis[k])
    # Reflected along w, with the last of its entries shifted: Z'w is then outside + shift·last.
    last = basis[free - 1]
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
