"""The inner loops of all arithmetic on vectors, four numbers at a time.

The order of operations is part of the meaning: compiled and uncompiled results agree bit for bit.
"""

from __future__ import annotations

from typing import TypeVar

from greedyfirst.compiling import native_numba
from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.validation import FloatArray

Loop = TypeVar("Loop")


def vector_loop(function: Loop) -> Loop:
    """A kernel; where private parts of numba are used, as 4-wide machine instructions."""
    generated: Loop | None = native_numba.vector_loop(function)
    return inline_kernel(function) if generated is None else generated  # type: ignore[type-var]


@vector_loop
def inner(x: FloatArray, y: FloatArray) -> float:
    """x·y, in four interleaved partial sums."""
    d = x.shape[0]
    whole = d - d % 4
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, whole, 4):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(whole, d):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)


@vector_loop
def inner_of_four(
    rows: tuple[FloatArray, FloatArray, FloatArray, FloatArray], x: FloatArray
) -> tuple[float, float, float, float]:
    """Four :func:`inner` products with x at once: none waits for the sums of another."""
    return inner(rows[0], x), inner(rows[1], x), inner(rows[2], x), inner(rows[3], x)


@vector_loop
def add_multiple(y: FloatArray, w: float, x: FloatArray) -> None:
    """y += w·x."""
    for i in range(x.shape[0]):
        y[i] += w * x[i]


@vector_loop
def add_multiples(
    y: FloatArray,
    w: tuple[float, float, float, float],
    x: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> None:
    """y += (w₀x₀ + w₁x₁) + (w₂x₂ + w₃x₃)."""
    for i in range(y.shape[0]):
        y[i] += (w[0] * x[0][i] + w[1] * x[1][i]) + (w[2] * x[2][i] + w[3] * x[3][i])


@inline_kernel
def copy(x: FloatArray, out: FloatArray) -> None:
    """out = x."""
    for i in range(x.shape[0]):
        out[i] = x[i]
