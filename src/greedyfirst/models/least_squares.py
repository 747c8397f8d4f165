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
estimate another than the minimum-norm one, and while an arm's estimate is paused, until
:func:`catch_up` computes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry, inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, flags, floats, integers
from greedyfirst.compiling.routines import routine
from greedyfirst.models.ridge import ridge
from greedyfirst.models.span import widen
from greedyfirst.numerics.matrices import add_outer, invert, multiply, orthogonalise
from greedyfirst.numerics.vectors import add_multiple, add_multiples, copy, inner
from greedyfirst.validation import BoolArray, FloatArray, IntArray

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


class LeastSquares(Record):
    """Sufficient statistics and estimates of all arms."""

    #: Rows seen, and their rank.
    pulls: IntArray = integers("n_arms")
    rank: IntArray = integers("n_arms")
    #: Growth of det G since the last refresh, and the rows seen at that refresh.
    growth: FloatArray = floats("n_arms")
    refreshed_at: IntArray = integers("n_arms")
    #: Rows that are not yet in G, and how many there are.
    rows: FloatArray = floats("n_arms", BLOCK, "d")
    waiting: IntArray = integers("n_arms")
    #: Whether estimates rest, since nobody looks at them.
    paused: BoolArray = flags("n_arms")
    #: G but for the waiting rows, m, and G⁺.
    settled_gram: FloatArray = floats("n_arms", "d", "d")
    moment: FloatArray = floats("n_arms", "d")
    inverse: FloatArray = floats("n_arms", "d", "d")
    #: G⁺m while G is singular; the estimate that decisions use (G⁺m once G is regular).
    solution: FloatArray = floats("n_arms", "d")
    estimate: FloatArray = floats("n_arms", "d")
    #: The span of the rows: its orthogonal matrix, and the features' units.
    basis: FloatArray = floats("n_arms", "d", "d")
    units: FloatArray = floats("n_arms", "d")
    #: Of a ridge while G is singular: q², (G + q²I)⁻¹, and the last guess at G's first eigenvector.
    penalty: FloatArray = floats("n_arms")
    ridge_inverse: FloatArray = floats("n_arms", "d", "d")
    first_direction: FloatArray = floats("n_arms", "d")
    # Scratch: v = G⁺x, the part of x outside the span, a reflector, and two matrices.
    gain: FloatArray = floats("d")
    outside: FloatArray = floats("d")
    reflector: FloatArray = floats("d")
    matrix: FloatArray = floats("d", "d")
    other_matrix: FloatArray = floats("d", "d")
    ridge_scratch: FloatArray = floats(3, "d")

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d), the waiting rows included."""
        return whole_gram(self)


def whole_gram(model: Any) -> FloatArray:
    """Gram matrices (n_arms, d, d) of a model whose rows wait in blocks, the waiting ones too."""
    counted = np.arange(BLOCK)[None, :, None] < model.waiting[:, None, None]
    rows = model.rows * counted
    result: FloatArray = model.settled_gram + np.einsum("kbi,kbj->kij", rows, rows)
    return result


def init(memory: Memory, n_arms: int, d: int) -> LeastSquares:
    """The state before the first row."""
    model = LeastSquares(memory, n_arms=n_arms, d=d)
    model.growth[:] = 1.0
    model.basis[:] = np.eye(d)
    return model


@routine(LeastSquares)
def observe(model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row: O(d²)."""
    v, inverse, estimate = model.gain, model.inverse[arm], model.estimate[arm]
    current = model.rank[arm] == x.shape[0] and not model.paused[arm]
    error, s = 0.0, 1.0
    if current:
        error = y - inner(estimate, x)
        s += multiply(inverse, x, v)
    place = model.waiting[arm]
    add_multiple(model.moment[arm], y, x)
    copy(x, model.rows[arm, place])
    model.pulls[arm] += 1
    model.waiting[arm] = place + 1
    if place == BLOCK - 1:
        settle(model, arm)
    if current:
        add_multiple(estimate, error / s, v)
        add_outer(inverse, v, -1.0 / s)
        model.growth[arm] *= s
    if is_stale(model, arm) or not current:
        repair(model, warmup, arm, x, y, False)


@inline_kernel
def is_stale(model: Any, arm: int) -> bool:
    """Whether G⁺ must be computed afresh."""
    rows: int = model.pulls[arm] - model.refreshed_at[arm]
    return bool(model.growth[arm] > REFRESH_GROWTH or rows >= REFRESH_ROWS)


@kernel
def settle(model: Any, arm: int) -> None:
    """Add an arm's waiting rows to its G."""
    gram, rows = model.settled_gram[arm], model.rows[arm]
    d = gram.shape[0]
    n = model.waiting[arm]
    model.waiting[arm] = 0
    if n == 1:
        add_outer(gram, rows[0], 1.0)
        return
    for k in range(n, BLOCK):
        for i in range(d):
            rows[k, i] = 0.0
    four = (rows[0], rows[1], rows[2], rows[3])
    for i in range(d):
        add_multiples(gram[i], (four[0][i], four[1][i], four[2][i], four[3][i]), four)


@routine(LeastSquares)
def repair(
    model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float, catching_up: bool
) -> None:
    """What is done rarely, O(d³): a row while G is singular, a refresh, or all that was paused."""
    d = x.shape[0]
    known = not model.paused[arm] and (model.rank[arm] == d or warmup == PINV)
    if model.rank[arm] < d and not catching_up:
        observe_while_singular(model, arm, x, y, known)
    if model.paused[arm] and not catching_up:
        return
    settle(model, arm)
    if (catching_up or is_stale(model, arm)) and (model.rank[arm] == d or warmup == PINV):
        refresh(model, arm, catching_up or not known)
    if model.rank[arm] < d and warmup == RIDGE:
        fresh = catching_up or model.pulls[arm] % REFRESH_ROWS == 0
        model.penalty[arm] = ridge(
            model.settled_gram[arm],
            model.moment[arm],
            float(model.pulls[arm]),
            x,
            0.0 if fresh else model.penalty[arm],
            model.ridge_inverse[arm],
            model.first_direction[arm],
            model.estimate[arm],
            model.ridge_scratch,
            model.matrix,
        )
    elif model.rank[arm] < d and warmup == PINV:
        copy(model.solution[arm], model.estimate[arm])


@kernel
def catch_up(model: LeastSquares, warmup: int, arm: int) -> None:
    """Bring an arm's paused estimate up to date: O(d³)."""
    repair(model, warmup, arm, model.gain, 0.0, True)


@entry
def _resume(model: LeastSquares, warmup: int) -> None:
    for arm in range(model.paused.shape[0]):
        if model.paused[arm]:
            model.paused[arm] = False
            catch_up(model, warmup, arm)


def resume(model: LeastSquares, warmup: int) -> None:
    """Bring all estimates up to date and keep them so; for callers that are not compiled."""
    run(_resume, model, warmup)


@kernel
def observe_while_singular(
    model: LeastSquares, arm: int, x: FloatArray, y: float, known: bool
) -> None:
    """Greville's step, or only the span where G⁺ is not ``known``; at full rank comes a refresh."""
    d = x.shape[0]
    inverse, solution = model.inverse[arm], model.solution[arm]
    v, k = model.gain, model.outside
    rank = model.rank[arm]
    outside = widen(model.basis[arm], model.units[arm], rank, x, k, model.reflector)
    if outside > 0.0:
        rank += 1
        model.rank[arm] = rank
    if rank == d:
        model.growth[arm] = 2.0 * REFRESH_GROWTH
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
        model.growth[arm] *= s
    if rank == d:
        copy(solution, model.estimate[arm])


@kernel
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


@kernel
def refresh(model: LeastSquares, arm: int, must: bool) -> None:
    """Compute G⁺ and the solution afresh from G and m.

    If G is near singular they are kept as they are, or, where they ``must`` be computed, G's
    diagonal is raised by ``LOOSENING`` of itself.

    D is the Gram matrix's own scale along each row of Z, and Z is turned so that these scales
    separate: features of small units are not rounded away by those of large ones. One step of
    iterative refinement gives the solution the accuracy of a fresh solve.
    """
    gram, inverse, basis = model.settled_gram[arm], model.inverse[arm], model.basis[arm]
    complete, result = model.matrix, model.other_matrix
    model.refreshed_at[arm] = model.pulls[arm]
    model.growth[arm] = 1.0
    d = gram.shape[0]
    free = d - model.rank[arm]
    if free > 1:
        for k in range(free):
            for i in range(d):
                result[k, i] = basis[k, i] * math.sqrt(gram[i, i])
        orthogonalise(result, basis, free)
    for i in range(d):
        copy(gram[i], complete[i])
    for k in range(free):
        add_outer(complete, basis[k], own_scale(gram, basis[k]))
    if not invert(complete, result, model.gain):
        if not must:
            return
        for i in range(d):
            complete[i, i] *= 1.0 + LOOSENING
        if not invert(complete, result, model.gain):
            return
    for i in range(d):
        copy(result[i], inverse[i])
    for k in range(free):
        add_outer(inverse, basis[k], -1.0 / own_scale(gram, basis[k]))
    solve(model, arm, model.solution[arm] if free > 0 else model.estimate[arm])


@kernel
def solve(model: LeastSquares, arm: int, solution: FloatArray) -> None:
    """The solution G⁺m, with one step of iterative refinement."""
    gram, inverse, moment = model.settled_gram[arm], model.inverse[arm], model.moment[arm]
    residual = model.gain
    d = gram.shape[0]
    for i in range(d):
        solution[i] = inner(inverse[i], moment)
    for i in range(d):
        residual[i] = moment[i] - inner(gram[i], solution)
    for i in range(d):
        solution[i] += inner(inverse[i], residual)
