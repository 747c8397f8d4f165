"""Extreme eigenvalues of symmetric matrices, without computing the others.

The smallest one: Householder reflections make the matrix tridiagonal, bisection finds the
eigenvalue by asking whether one is below a number, and the factorisations of the shifted matrix
from the top and from the bottom meet in its eigenvector. The largest one: conjugate gradients on
the Rayleigh quotient u'au/u'u from a guess, for matrices that change little from call to call.
"""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import kernel
from greedyfirst.numerics.matrices import multiply
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray

BISECTIONS = 100
ASCENT_STEPS = 1000
# The ascent ends at this residual: the eigenvalue's error is of the order of its square.
RESIDUAL = 1e-6
ROUNDING = 2.3e-16


@kernel
def smallest_eigenpair(a: FloatArray, work: FloatArray, vector: FloatArray) -> float:
    """The smallest eigenvalue of a symmetric a, and its eigenvector; a is overwritten.

    ``work`` (d, d) is scratch. Exact up to rounding in the largest eigenvalue. Cost about 2d³.
    """
    d = a.shape[0]
    if d == 1:
        vector[0] = 1.0
        return float(a[0, 0])
    tridiagonalise(a, work, vector)
    diagonal, beside = work[d - 1], work[d - 2]  # rows that hold no reflector
    for i in range(d):
        diagonal[i] = a[i, i]
        beside[i] = a[i, i + 1] if i + 1 < d else 0.0
    copy(diagonal, a[0])
    copy(beside, a[1])
    value = bisect(a[0], a[1])
    twist(a[0], a[1], value, work[d - 1], work[d - 2], vector)
    for k in range(d - 3, -1, -1):
        add_multiple(vector, -inner(work[k], vector), work[k])
    return value


@kernel
def tridiagonalise(a: FloatArray, reflectors: FloatArray, scratch: FloatArray) -> None:
    """Make a tridiagonal by reflections I - vv', whose v go to the first rows of ``reflectors``."""
    d = a.shape[0]
    for k in range(d - 2):
        v = reflectors[k]
        for i in range(d):
            v[i] = a[i, k] if i > k else 0.0
        length = math.sqrt(inner(v, v))
        if length == abs(v[k + 1]):  # nothing below: the reflection is the identity
            for i in range(d):
                v[i] = 0.0
            continue
        end = -math.copysign(length, v[k + 1])
        v[k + 1] -= end
        scale = math.sqrt(2.0 / inner(v, v))
        for i in range(d):
            v[i] *= scale
            scratch[i] = 0.0
        for i in range(k + 1, d):
            scratch[i] = inner(a[i], v)
        add_multiple(scratch, -0.5 * inner(scratch, v), v)
        for i in range(k + 1, d):
            add_multiple(a[i], -v[i], scratch)
            add_multiple(a[i], -scratch[i], v)
        a[k, k + 1] = end


@kernel
def bisect(diagonal: FloatArray, beside: FloatArray) -> float:
    """The smallest eigenvalue of a tridiagonal matrix."""
    d = diagonal.shape[0]
    low, high, size = math.inf, math.inf, 0.0
    for i in range(d):
        around = abs(beside[i]) + (abs(beside[i - 1]) if i > 0 else 0.0)
        low = min(low, diagonal[i] - around)
        high = min(high, diagonal[i])  # a diagonal entry is never below the smallest eigenvalue
        size = max(size, abs(diagonal[i]) + around)
    for _ in range(BISECTIONS):
        if high - low <= ROUNDING * size:
            break
        middle = 0.5 * (low + high)
        if any_below(diagonal, beside, middle, ROUNDING * size):
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@kernel
def any_below(diagonal: FloatArray, beside: FloatArray, x: float, least: float) -> bool:
    """Whether an eigenvalue is below x: a pivot of the shifted matrix is then negative."""
    pivot = diagonal[0] - x
    for i in range(1, diagonal.shape[0]):
        if pivot < 0.0:
            return True
        pivot = diagonal[i] - x - beside[i - 1] * beside[i - 1] / max(pivot, least * least)
    return bool(pivot < 0.0)


@kernel
def twist(
    diagonal: FloatArray,
    beside: FloatArray,
    value: float,
    down: FloatArray,
    up: FloatArray,
    vector: FloatArray,
) -> None:
    """The eigenvector of a tridiagonal matrix, from pivots going down and pivots going up."""
    d = diagonal.shape[0]
    least = 0.0
    for i in range(d):
        least = max(least, abs(diagonal[i]) + abs(beside[i]))
    least = max(least * ROUNDING * ROUNDING, 1e-300)
    for i in range(d):
        down[i] = diagonal[i] - value
        if i > 0:
            down[i] -= beside[i - 1] * beside[i - 1] / down[i - 1]
        if abs(down[i]) < least:
            down[i] = least
    best, middle = math.inf, 0
    for i in range(d - 1, -1, -1):
        up[i] = diagonal[i] - value
        if i < d - 1:
            up[i] -= beside[i] * beside[i] / up[i + 1]
        if abs(up[i]) < least:
            up[i] = least
        meeting = abs(down[i] + up[i] - (diagonal[i] - value))
        if meeting < best:
            best, middle = meeting, i
    vector[middle] = 1.0
    for i in range(middle - 1, -1, -1):
        vector[i] = -beside[i] * vector[i + 1] / down[i]
    for i in range(middle + 1, d):
        vector[i] = -beside[i - 1] * vector[i - 1] / up[i]
    length = math.sqrt(inner(vector, vector))
    for i in range(d):
        vector[i] /= length


@kernel
def largest_eigenvalue(a: FloatArray, guess: FloatArray, scratch: FloatArray) -> float:
    """The largest eigenvalue of a positive semidefinite a; its eigenvector replaces ``guess``.

    The guess must not be 0; ``scratch`` is (3, d). Where the two largest eigenvalues are all but
    equal it may give any number between them.
    """
    u, product, ascent, other = guess, scratch[0], scratch[1], scratch[2]
    d = a.shape[0]
    length = math.sqrt(inner(u, u))
    for i in range(d):
        u[i] /= length
        ascent[i] = 0.0
    value = multiply(a, u, product)
    before = 0.0
    for _ in range(ASCENT_STEPS):
        squared = 0.0
        for i in range(d):
            squared += (product[i] - value * u[i]) ** 2
        if squared <= RESIDUAL * RESIDUAL * value * value:
            break
        kept = squared / before if before > 0.0 else 0.0
        before = squared
        for i in range(d):
            ascent[i] = product[i] - value * u[i] + kept * ascent[i]
        add_multiple(ascent, -inner(ascent, u), u)
        length = math.sqrt(inner(ascent, ascent))
        for i in range(d):
            ascent[i] /= length
        # The best vector of the plane that u and the ascent span.
        along = multiply(a, ascent, other)
        angle = 0.5 * math.atan2(2.0 * inner(product, ascent), value - along)
        cosine, sine = math.cos(angle), math.sin(angle)
        for i in range(d):
            u[i], ascent[i] = (
                cosine * u[i] + sine * ascent[i],
                length * (cosine * ascent[i] - sine * u[i]),
            )
            product[i] = cosine * product[i] + sine * other[i]
        value = inner(product, u)
    return value
