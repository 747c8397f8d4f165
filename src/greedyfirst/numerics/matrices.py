"""Small dense kernels on symmetric matrices: in place, without temporaries, row by row."""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.numerics.vectors import add_multiple, inner, inner_of_four
from greedyfirst.validation import FloatArray

# Cyclic Jacobi converges quadratically: 5 to 10 sweeps in practice, this is only a stop.
JACOBI_SWEEPS = 30
# From this many features on, rows are worth taking four at a time.
WIDE = 12


@inline_kernel
def identity(out: FloatArray) -> None:
    """out = I."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 1.0 if i == j else 0.0


@inline_kernel
def multiply(a: FloatArray, x: FloatArray, out: FloatArray) -> float:
    """out = ax for a symmetric a; returns x'ax."""
    d = x.shape[0]
    done = multiply_fours(a, x, out) if d >= WIDE else 0
    for i in range(done, d):
        out[i] = inner(a[i], x)
    return inner(out, x)


@kernel
def multiply_fours(a: FloatArray, x: FloatArray, out: FloatArray) -> int:
    """The rows of ax four at a time; how many those are."""
    fours: int = x.shape[0] - x.shape[0] % 4
    for i in range(0, fours, 4):
        rows = (a[i], a[i + 1], a[i + 2], a[i + 3])
        out[i], out[i + 1], out[i + 2], out[i + 3] = inner_of_four(rows, x)
    return fours


@inline_kernel
def quadratic(a: FloatArray, x: FloatArray) -> float:
    """x'ax for a symmetric a."""
    d = x.shape[0]
    fours = d - d % 4
    total = 0.0
    for i in range(0, fours, 4):
        products = inner_of_four((a[i], a[i + 1], a[i + 2], a[i + 3]), x)
        for k in range(4):
            total += x[i + k] * products[k]
    for i in range(fours, d):
        total += x[i] * inner(a[i], x)
    return total


@inline_kernel
def add_outer(a: FloatArray, x: FloatArray, weight: float) -> None:
    """a += weight·xx'."""
    for i in range(x.shape[0]):
        add_multiple(a[i], weight * x[i], x)


@kernel
def invert(a: FloatArray, out: FloatArray, scale: FloatArray) -> bool:
    """out = a⁻¹ for a symmetric positive definite a, by sweeps. Cost d³/2.

    Each sweep takes in one row and column; the lower triangle becomes that of -a⁻¹, and the upper
    one only lends a place for the pivot's column. Rows and columns are first scaled to a unit
    diagonal, which makes the result independent of the units of the features: scales that differ
    by 10⁸ cost no digits. Positive definite matrices need no pivoting. Returns False, with ``out``
    undefined, when a is not numerically positive definite.
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
        for i in range(k + 1, d):
            out[k, i] = out[i, k]
        for i in range(d):
            if i != k:
                add_multiple(out[i, : i + 1], -pivot * out[k, i], out[k, : i + 1])
        for i in range(k + 1, d):
            out[i, k] = out[k, i] * pivot
        for j in range(k):
            out[k, j] *= pivot
        out[k, k] = -pivot
    for i in range(d):
        for j in range(i + 1):
            out[i, j] *= -scale[i] * scale[j]
            out[j, i] = out[i, j]
    return True


@kernel
def cholesky(a: FloatArray, out: FloatArray) -> bool:
    """out = L, the lower triangle with a = LL', of which only the lower triangle is read.

    Cost d³/3. False, with ``out`` undefined, when a is not numerically positive definite.
    """
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] = (a[i, j] - inner(out[i, :j], out[j, :j])) / out[j, j]
        pivot = a[i, i] - inner(out[i, :i], out[i, :i])
        if not pivot > 1e-15 * abs(a[i, i]):
            return False
        out[i, i] = math.sqrt(pivot)
    return True


@inline_kernel
def rotate(x: FloatArray, y: FloatArray, cosine: float, sine: float) -> None:
    """x, y = cosine·x - sine·y, sine·x + cosine·y."""
    for i in range(x.shape[0]):
        xi, yi = x[i], y[i]
        x[i] = cosine * xi - sine * yi
        y[i] = sine * xi + cosine * yi


@kernel
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


@kernel
def eigen(a: FloatArray, vectors: FloatArray, values: FloatArray) -> None:
    """Eigenvalues and eigenvectors (the rows of ``vectors``) of a positive semidefinite a.

    Once its rows are orthogonal, row k of a is λ_k times the k-th eigenvector. a is overwritten.
    """
    d = a.shape[0]
    identity(vectors)
    orthogonalise(a, vectors, d)
    for k in range(d):
        values[k] = math.sqrt(inner(a[k], a[k]))
