"""Small dense kernels on symmetric matrices: in place, without temporaries, row by row."""

from __future__ import annotations

import math

from numba.extending import overload

from greedyfirst.compilation import (
    INLINE_OPTIONS,
    array_at,
    inline_kernel,
    kernel,
    pointer,
    rare_kernel,
    template_kernel,
)
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

# Cyclic Jacobi converges quadratically: 5 to 10 sweeps in practice, this is only a stop.
JACOBI_SWEEPS = 30


@inline_kernel
def copy(x: FloatArray, out: FloatArray) -> None:
    """out = x, vectors."""
    for i in range(x.shape[0]):
        out[i] = x[i]


def copy_all(source: FloatArray, target: FloatArray) -> None:
    """target = source, arrays of any shape."""
    target[...] = source


@overload(copy_all, strict=False, jit_options=INLINE_OPTIONS)
def _copy_all(source, target):  # type: ignore[no-untyped-def]
    def compiled(source, target):  # type: ignore[no-untyped-def]
        size = source.size
        copy(array_at(pointer(source), (size,)), array_at(pointer(target), (size,)))

    return compiled


@template_kernel
def identity(out: FloatArray) -> None:
    """out = I."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 1.0 if i == j else 0.0


@inline_kernel
def multiply(a: FloatArray, x: FloatArray, out: FloatArray) -> float:
    """out = ax for a symmetric a; returns x'ax."""
    for i in range(x.shape[0]):
        out[i] = inner(a[i], x)
    return inner(out, x)


@inline_kernel
def quadratic(a: FloatArray, x: FloatArray) -> float:
    """x'ax for a symmetric a."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * inner(a[i], x)
    return total


@inline_kernel
def add_outer(a: FloatArray, x: FloatArray, weight: float) -> None:
    """a += weight·xx'."""
    for i in range(x.shape[0]):
        add_multiple(a[i], weight * x[i], x)


@kernel
def invert(a: FloatArray, out: FloatArray, scale: FloatArray) -> bool:
    """out = a⁻¹ for a symmetric positive definite a, by Gauss-Jordan sweeps. Cost d³.

    Rows and columns are first scaled to a unit diagonal, which makes the result independent of
    the units of the features: scales that differ by 10⁸ cost no digits. Positive definite
    matrices need no pivoting. Returns False, with ``out`` undefined, when a is not numerically
    positive definite.
    """
    d = a.shape[0]
    for i in range(d):
        if not a[i, i] > 0.0:
            return False
        scale[i] = 1.0 / math.sqrt(a[i, i])
    for i in range(d):
        for j in range(d):
            out[i, j] = a[i, j] * scale[i] * scale[j]
    for k in range(d):
        if not out[k, k] > 1e-15:
            return False
        pivot = 1.0 / out[k, k]
        out[k, k] = 1.0
        for j in range(d):
            out[k, j] *= pivot
        for i in range(d):
            if i != k:
                factor = out[i, k]
                out[i, k] = 0.0
                add_multiple(out[i], -factor, out[k])
    for i in range(d):
        for j in range(i + 1):
            value = 0.5 * (out[i, j] + out[j, i]) * scale[i] * scale[j]
            out[i, j] = value
            out[j, i] = value
    return True


@rare_kernel
def solve(a: FloatArray, b: FloatArray) -> None:
    """b = a⁻¹b for a symmetric positive definite a, which is overwritten by its Cholesky factor."""
    d = a.shape[0]
    for i in range(d):
        row = a[i]
        for j in range(i):
            row[j] = (row[j] - inner(row[:j], a[j, :j])) / a[j, j]
        row[i] = math.sqrt(max(row[i] - inner(row[:i], row[:i]), 1e-300))
        b[i] = (b[i] - inner(row[:i], b[:i])) / row[i]
    for i in range(d - 1, -1, -1):
        b[i] /= a[i, i]
        add_multiple(b[:i], -b[i], a[i, :i])


@template_kernel
def rotate(x: FloatArray, y: FloatArray, cosine: float, sine: float) -> None:
    """x, y = cosine·x - sine·y, sine·x + cosine·y."""
    for i in range(x.shape[0]):
        xi, yi = x[i], y[i]
        x[i] = cosine * xi - sine * yi
        y[i] = sine * xi + cosine * yi


@rare_kernel
def orthogonalise(a: FloatArray, vectors: FloatArray, n: int) -> None:
    """Rotate the first n rows of a until they are orthogonal; those of ``vectors`` along with them.

    One-sided Jacobi: each rotation makes two rows orthogonal, and small rows keep their relative
    accuracy.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, inner(a[i], a[i]))
    for _ in range(JACOBI_SWEEPS):
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                pp, qq, pq = inner(a[p], a[p]), inner(a[q], a[q]), inner(a[p], a[q])
                # A row below the rounding of a stands for a zero: it has no direction left.
                if min(pp, qq) <= 1e-34 * largest or abs(pq) <= 1e-16 * math.sqrt(pp * qq):
                    continue
                rotated = True
                zeta = (qq - pp) / (2.0 * pq)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / math.sqrt(1.0 + t * t)
                rotate(a[p], a[q], cosine, cosine * t)
                rotate(vectors[p], vectors[q], cosine, cosine * t)
        if not rotated:
            return


@rare_kernel
def eigen(a: FloatArray, vectors: FloatArray, values: FloatArray) -> None:
    """Eigenvalues and eigenvectors (the rows of ``vectors``) of a positive semidefinite a.

    Once its rows are orthogonal, row k of a is λ_k times the k-th eigenvector. a is overwritten.
    """
    d = a.shape[0]
    identity(vectors)
    orthogonalise(a, vectors, d)
    for k in range(d):
        values[k] = math.sqrt(inner(a[k], a[k]))
