r"""Least squares per arm, kept by rank-one updates.

For each arm, with rows x and rewards y seen so far:

.. math:: G = \sum xx^\top, \quad m = \sum xy, \quad \hat\beta = G^+ m .

:math:`G^+` and :math:`\hat\beta` follow Greville's recursion, O(d²) a row:

- x inside the span of earlier rows (Sherman-Morrison), with :math:`v = G^+x,\ s = 1 + x^\top v`:
  :math:`\hat\beta \mathrel{+}= v\,e/s,\ G^+ \mathrel{-}= vv^\top/s`;
- x with a part c outside it, :math:`k = c/\lVert c\rVert^2`:
  :math:`\hat\beta \mathrel{+}= k\,e,\ G^+ \mathrel{+}= s\,kk^\top - vk^\top - kv^\top`,

where :math:`e = y - x^\top\hat\beta`, so the estimate is the minimum-norm solution from the first
row on. The span is tracked in :mod:`greedyfirst.models.span` by a basis Z of its complement.

Rounding is kept in check from G and m, which only ever add up: whenever det G has grown by
``REFRESH_GROWTH`` or ``REFRESH_ROWS`` rows have come, :math:`G^+` is computed afresh from
:math:`(G + Z^\top DZ)^{-1} = G^+ + Z^\top D^{-1}Z` (D diagonal, any positive entries) by an
elimination that is blind to the features' units. That happens O(log n) times and once
every ``REFRESH_ROWS`` rows, so it costs next to nothing.

G is needed only there and in the switch test: rows wait in blocks of ``BLOCK`` until then, since
adding four at once costs little more than adding one (:func:`settle`).

Where :math:`G^+` is not needed, rows only enter G, m and the span: while G is singular and the
estimate another than the minimum-norm one, and while nobody asks for an arm's estimate
(``UNASKED``), until :func:`catch_up` computes it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from greedyfirst.compilation import (
    INLINE_OPTIONS,
    Routine,
    array_at,
    call,
    kernel,
    pointer,
    rare_kernel,
    template_kernel,
)
from greedyfirst.linalg import add_outer, copy, invert, multiply, orthogonalise
from greedyfirst.memory import Memory
from greedyfirst.models.ridge import ridge
from greedyfirst.models.span import widen
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, add_multiples, inner

#: What the estimate is while an arm's Gram matrix is singular: 0 (Algorithm 1 as printed), ridge
#: regression with penalty λ_max(G)/n² (the practice of the paper's figures), or minimum norm.
WARMUPS = ("none", "ridge", "pinv")
NONE, RIDGE, PINV = range(3)

# How much det G may grow, and how many rows may come, before G⁺ is computed afresh.
REFRESH_GROWTH = 100.0
REFRESH_ROWS = 2000
BLOCK = 4
# Where G⁺ must be computed from a G that is near singular, its diagonal grows by this share.
LOOSENING = 1e-12
# Z is accurate to 1e-13 or better: its squares say nothing of features below this share of G.
ROUNDING_SCALE = 1e-20

# Per arm: rows seen, their rank, growth of det G since the last refresh, rows at that refresh,
# rows not yet in G, q² of the ridge's inverse, 1 while nobody asks for the estimate.
NUMBERS = 7
COUNT, RANK, GROWTH, FRESH, WAITING, PENALTY, UNASKED = range(NUMBERS)
# Per arm: m, G⁺m while G is singular, the estimate that decisions use (G⁺m once G is regular), the
# ridge's last guess at G's first eigenvector, `span`'s units, and the waiting rows from ROWS on.
MOMENT, SOLUTION, ESTIMATE, TOP, UNITS, ROWS = range(6)
# Per arm: G (but for the waiting rows), G⁺, the orthogonal matrix of `span`, and (G + q²I)⁻¹ while
# G is singular and the estimate a ridge.
GRAM, INVERSE, BASIS, RIDGE_INVERSE = range(4)
# Scratch rows: v = G⁺x, the part of x outside the span, a reflector; then two matrices.
GAIN, OUTSIDE, REFLECTOR = range(3)


class LeastSquares(NamedTuple):
    """Sufficient statistics and estimates of all arms, in few arrays: each costs compile time."""

    numbers: FloatArray  # (n_arms, NUMBERS)
    vectors: FloatArray  # (n_arms, ROWS + BLOCK, d)
    matrices: FloatArray  # (n_arms, 4, d, d)
    scratch: FloatArray  # (3, d)
    scratch_matrices: FloatArray  # (2, d, d)
    observe_routine: int  # addresses in this process, as the next
    repair_routine: int

    @property
    def pulls(self) -> FloatArray:
        """Rows seen (n_arms,)."""
        return self.numbers[:, COUNT]

    @property
    def estimate(self) -> FloatArray:
        """What decisions use (n_arms, d)."""
        return self.vectors[:, ESTIMATE]

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d), the waiting rows included."""
        rows = self.vectors[:, ROWS:] * (
            np.arange(BLOCK)[None, :, None] < self.numbers[:, WAITING][:, None, None]
        )
        result: FloatArray = self.matrices[:, GRAM] + np.einsum("kbi,kbj->kij", rows, rows)
        return result


def init(memory: Memory, n_arms: int, d: int) -> LeastSquares:
    """The state before the first row."""
    model = LeastSquares(
        memory.take(n_arms, NUMBERS),
        memory.take(n_arms, ROWS + BLOCK, d),
        memory.take(n_arms, 4, d, d),
        memory.take(3, d),
        memory.take(2, d, d),
        OBSERVE.address,
        REPAIR.address,
    )
    model.numbers[:, GROWTH] = 1.0
    model.matrices[:, BASIS] = np.eye(d)
    return model


def observe(model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row: O(d²)."""
    observe_row(model, warmup, arm, x, y)


def repair(
    model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float, undone: float
) -> None:
    """What is done rarely: a row while G is singular, a refresh, or all that was left undone."""
    repair_row(model, warmup, arm, x, y, undone)


@template_kernel
def observe_row(model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """The work of :func:`observe`."""
    d = x.shape[0]
    numbers, vectors, v = model.numbers[arm], model.vectors[arm], model.scratch[GAIN]
    inverse, estimate = model.matrices[arm, INVERSE], vectors[ESTIMATE]
    current = numbers[RANK] == d and numbers[UNASKED] == 0.0
    error, s = 0.0, 1.0
    if current:
        error = y - inner(estimate, x)
        s += multiply(inverse, x, v)
    place = int(numbers[WAITING])
    add_multiple(vectors[MOMENT], y, x)
    copy(x, vectors[ROWS + place])
    numbers[COUNT] += 1.0
    numbers[WAITING] = place + 1.0
    if place == BLOCK - 1:
        settle(model.matrices[arm, GRAM], vectors, numbers)
    if current:
        add_multiple(estimate, error / s, v)
        add_outer(inverse, v, -1.0 / s)
        numbers[GROWTH] *= s
    stale = numbers[GROWTH] > REFRESH_GROWTH or numbers[COUNT] - numbers[FRESH] >= REFRESH_ROWS
    if stale or not current:
        repair(model, warmup, arm, x, y, 0.0)


@kernel
def settle(gram: FloatArray, vectors: FloatArray, numbers: FloatArray) -> None:
    """Add an arm's waiting rows to its G."""
    d = gram.shape[0]
    n = int(numbers[WAITING])
    numbers[WAITING] = 0.0
    if n == 1:
        add_outer(gram, vectors[ROWS], 1.0)
        return
    for k in range(n, BLOCK):
        for i in range(d):
            vectors[ROWS + k, i] = 0.0
    rows = (vectors[ROWS], vectors[ROWS + 1], vectors[ROWS + 2], vectors[ROWS + 3])
    for i in range(d):
        add_multiples(gram[i], (rows[0][i], rows[1][i], rows[2][i], rows[3][i]), rows)


@rare_kernel
def repair_row(
    model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float, undone: float
) -> None:
    """The work of :func:`repair`: O(d³)."""
    d = x.shape[0]
    numbers, vectors, matrices = model.numbers[arm], model.vectors[arm], model.matrices[arm]
    catching_up = undone != 0.0
    known = numbers[UNASKED] == 0.0 and (numbers[RANK] == d or warmup == PINV)
    if numbers[RANK] < d and not catching_up:
        observe_while_singular(numbers, vectors, matrices, x, y, model.scratch, known)
    if numbers[UNASKED] != 0.0 and not catching_up:
        return
    settle(matrices[GRAM], vectors, numbers)
    grown = numbers[GROWTH] > REFRESH_GROWTH
    stale = catching_up or grown or numbers[COUNT] - numbers[FRESH] >= REFRESH_ROWS
    if stale and (numbers[RANK] == d or warmup == PINV):
        must = catching_up or not known
        refresh(numbers, vectors, matrices, model.scratch, model.scratch_matrices, must)
    if numbers[RANK] < d and warmup == RIDGE:
        fresh = catching_up or numbers[COUNT] % REFRESH_ROWS == 0.0
        numbers[PENALTY] = ridge(
            matrices[GRAM],
            vectors[MOMENT],
            numbers[COUNT],
            x,
            0.0 if fresh else numbers[PENALTY],
            matrices[RIDGE_INVERSE],
            vectors[TOP],
            vectors[ESTIMATE],
            model.scratch,
            model.scratch_matrices[0],
        )
    elif numbers[RANK] < d and warmup == PINV:
        copy(vectors[SOLUTION], vectors[ESTIMATE])


@template_kernel
def catch_up(model: LeastSquares, warmup: int, arm: int) -> None:
    """Bring an arm's estimate up to date that nobody had asked for: O(d³)."""
    repair(model, warmup, arm, model.vectors[arm, ROWS], 0.0, 1.0)


def ask_again(model: LeastSquares, warmup: int) -> None:
    """Bring all estimates up to date and keep them so; for callers that are not compiled."""
    for arm, numbers in enumerate(model.numbers):
        if numbers[UNASKED] == 0.0:
            continue
        numbers[UNASKED] = 0.0
        if model.repair_routine:
            row = model.vectors[arm, ROWS].ctypes.data
            REPAIR.compiled.ctypes(*addresses(model), warmup, arm, row, 0.0, 1.0)
        else:
            catch_up(model, warmup, arm)


@rare_kernel
def observe_while_singular(
    numbers: FloatArray,
    vectors: FloatArray,
    matrices: FloatArray,
    x: FloatArray,
    y: float,
    scratch: FloatArray,
    known: bool,
) -> None:
    """Greville's step, or only the span where G⁺ is not ``known``; at full rank comes a refresh."""
    d = x.shape[0]
    inverse, solution = matrices[INVERSE], vectors[SOLUTION]
    v, k = scratch[GAIN], scratch[OUTSIDE]
    basis, units, rank = matrices[BASIS], vectors[UNITS], int(numbers[RANK])
    outside = widen(basis, units, rank, x, k, scratch[REFLECTOR])
    if outside > 0.0:
        numbers[RANK] += 1.0
    if numbers[RANK] == d:
        numbers[GROWTH] = 2.0 * REFRESH_GROWTH
    if not known:
        return
    error = y - inner(solution, x)
    s = 1.0 + multiply(inverse, x, v)
    if outside > 0.0:
        for i in range(d):
            k[i] /= outside
            solution[i] += k[i] * error
        for i in range(d):
            for j in range(d):
                inverse[i, j] += s * k[i] * k[j] - v[i] * k[j] - k[i] * v[j]
    else:
        add_multiple(solution, error / s, v)
        add_outer(inverse, v, -1.0 / s)
        numbers[GROWTH] *= s
    if numbers[RANK] == d:
        copy(solution, vectors[ESTIMATE])


@template_kernel
def own_scale(gram: FloatArray, z: FloatArray) -> float:
    """The Gram matrix's scale along z, Σ z²diag(G); its mean where that is only rounding."""
    d = z.shape[0]
    total = trace = 0.0
    for i in range(d):
        total += z[i] * z[i] * gram[i, i]
        trace += gram[i, i]
    if total > ROUNDING_SCALE * trace:
        return total
    return trace / d if trace > 0.0 else 1.0


@rare_kernel
def refresh(
    numbers: FloatArray,
    vectors: FloatArray,
    matrices: FloatArray,
    scratch: FloatArray,
    scratch_matrices: FloatArray,
    must: bool,
) -> None:
    """Compute G⁺ and the solution afresh from G and m.

    If G is near singular they are kept as they are, or, where they ``must`` be computed, G's
    diagonal is raised by ``LOOSENING`` of itself.

    D is the Gram matrix's own scale along each row of Z, and Z is turned so that these scales
    separate: features of small units are not rounded away by those of large ones. One step of
    iterative refinement gives the solution the accuracy of a fresh solve.
    """
    gram, inverse, basis = matrices[GRAM], matrices[INVERSE], matrices[BASIS]
    complete, result = scratch_matrices[0], scratch_matrices[1]
    numbers[FRESH] = numbers[COUNT]
    numbers[GROWTH] = 1.0
    d = gram.shape[0]
    free = d - int(numbers[RANK])
    if free > 1:
        for k in range(free):
            for i in range(d):
                result[k, i] = basis[k, i] * math.sqrt(gram[i, i])
        orthogonalise(result, basis, free)
    for i in range(d):
        copy(gram[i], complete[i])
    for k in range(free):
        add_outer(complete, basis[k], own_scale(gram, basis[k]))
    if not invert(complete, result, scratch[GAIN]):
        if not must:
            return
        for i in range(d):
            complete[i, i] *= 1.0 + LOOSENING
        if not invert(complete, result, scratch[GAIN]):
            return
    for i in range(d):
        copy(result[i], inverse[i])
    for k in range(free):
        add_outer(inverse, basis[k], -1.0 / own_scale(gram, basis[k]))
    solution = vectors[SOLUTION] if free > 0 else vectors[ESTIMATE]
    residual = scratch[GAIN]
    for i in range(d):
        solution[i] = inner(inverse[i], vectors[MOMENT])
    for i in range(d):
        residual[i] = vectors[MOMENT, i] - inner(gram[i], solution)
    for i in range(d):
        solution[i] += inner(inverse[i], residual)


# Compiled callers reach `observe` and `repair` by address: see `Routine`.
MODEL_SIGNATURE = "int64, " * 8


@template_kernel
def pointers(model: LeastSquares) -> tuple[int, ...]:
    """Addresses, n_arms and d: how a routine is told of a model."""
    return (
        pointer(model.numbers),
        pointer(model.vectors),
        pointer(model.matrices),
        pointer(model.scratch),
        pointer(model.scratch_matrices),
        model.vectors.shape[0],
        model.vectors.shape[2],
        model.repair_routine,
    )


def addresses(model: LeastSquares) -> tuple[int, ...]:
    """:func:`pointers`, for callers that are not compiled."""
    found = (array.ctypes.data for array in model if isinstance(array, np.ndarray))
    return (*found, model.vectors.shape[0], model.vectors.shape[2], model.repair_routine)


@template_kernel
def model_at(a: int, b: int, c: int, d: int, e: int, n: int, size: int, f: int) -> LeastSquares:
    """The model that :func:`pointers` tells of."""
    return LeastSquares(
        array_at(a, (n, NUMBERS)),
        array_at(b, (n, ROWS + BLOCK, size)),
        array_at(c, (n, 4, size, size)),
        array_at(d, (3, size)),
        array_at(e, (2, size, size)),
        0,
        f,
    )


@Routine(f"void({MODEL_SIGNATURE} int64, int64, int64, float64)")
def OBSERVE(a, b, c, d, e, n, size, f, warmup, arm, x, y):  # type: ignore[no-untyped-def]
    observe_row(model_at(a, b, c, d, e, n, size, f), warmup, arm, array_at(x, (size,)), y)


@Routine(f"void({MODEL_SIGNATURE} int64, int64, int64, float64, float64)")
def REPAIR(a, b, c, d, e, n, size, f, warmup, arm, x, y, undone):  # type: ignore[no-untyped-def]
    model = model_at(a, b, c, d, e, n, size, f)
    repair_row(model, warmup, arm, array_at(x, (size,)), y, undone)


@overload(observe, strict=False, jit_options=INLINE_OPTIONS)
def _observe(model, warmup, arm, x, y):  # type: ignore[no-untyped-def]
    def compiled(model, warmup, arm, x, y):  # type: ignore[no-untyped-def]
        call(model.observe_routine, (*pointers(model), warmup, arm, pointer(x), y))

    return compiled


@overload(repair, strict=False, jit_options=INLINE_OPTIONS)
def _repair(model, warmup, arm, x, y, undone):  # type: ignore[no-untyped-def]
    def compiled(model, warmup, arm, x, y, undone):  # type: ignore[no-untyped-def]
        call(model.repair_routine, (*pointers(model), warmup, arm, pointer(x), y, undone))

    return compiled
