"""Few rows that stand for many: how samples are handed over and states are merged.

At most d rows per arm have the same Gram matrix and moments as all of an arm's rows, which is all
that least squares and Gaussian posteriors learn from them.
"""

from __future__ import annotations

import math

import numpy as np
from numba.extending import overload

from greedyfirst.compilation import INLINE_OPTIONS, Routine, call, template_kernel
from greedyfirst.linalg import eigen
from greedyfirst.models.least_squares import (
    COUNT,
    GAIN,
    GRAM,
    MODEL_SIGNATURE,
    MOMENT,
    OBSERVE,
    OUTSIDE,
    REFLECTOR,
    WARMUPS,
    LeastSquares,
    addresses,
    model_at,
    observe,
    pointers,
    settle,
)
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import inner

# Eigenvalues of a unit-diagonal G below this share of d are rounding.
SUMMARY_CUT = 1e-14


def summarise_by(routine: int, model: LeastSquares, arm: int) -> None:
    """:func:`summarise`, in compiled code by the routine's address."""
    summarise(model, arm)


@template_kernel
def summarise(model: LeastSquares, arm: int) -> None:
    r"""At most d rows with the same G and m as all rows of an arm.

    With S the roots of G's diagonal and :math:`S^{-1}GS^{-1} = \sum \lambda uu^\top`, the rows are
    :math:`\sqrt\lambda Su` with rewards :math:`u^\top S^{-1}m/\sqrt\lambda`: in the rows of
    ``scratch_matrices[0]`` and in ``scratch[GAIN]``; rows outside the span are 0.
    """
    vectors, gram = model.vectors[arm], model.matrices[arm, GRAM]
    settle(gram, vectors, model.numbers[arm])
    rows, directions = model.scratch_matrices[0], model.scratch_matrices[1]
    rewards, scale, scaled = model.scratch[GAIN], model.scratch[OUTSIDE], model.scratch[REFLECTOR]
    d = gram.shape[0]
    for i in range(d):
        scale[i] = math.sqrt(gram[i, i])
        scaled[i] = vectors[MOMENT, i] / scale[i] if scale[i] > 0.0 else 0.0
    for i in range(d):
        for j in range(d):
            product = scale[i] * scale[j]
            rows[i, j] = gram[i, j] / product if product > 0.0 else 0.0
    eigen(rows, directions, rewards)
    for k in range(d):
        root = math.sqrt(rewards[k]) if rewards[k] > SUMMARY_CUT * d else 0.0
        rewards[k] = inner(directions[k], scaled) / root if root > 0.0 else 0.0
        for i in range(d):
            rows[k, i] = directions[k, i] * root * scale[i]


def summary_rows(model: LeastSquares) -> tuple[FloatArray, np.ndarray, FloatArray]:
    """:func:`summarise` for all arms, for callers that are not compiled: rows, arms, rewards."""
    rows, arms, rewards = [], [], []
    for arm, gram in enumerate(model.gram):
        scale = np.sqrt(np.diag(gram))
        safe = np.where(scale > 0.0, scale, 1.0)
        values, directions = np.linalg.eigh(gram / np.outer(safe, safe))
        moment = model.vectors[arm, MOMENT] / safe
        for value, direction in zip(values, directions.T, strict=True):
            if value > SUMMARY_CUT * len(values):
                rows.append(direction * math.sqrt(value) * scale)
                rewards.append(float(direction @ moment) / math.sqrt(value))
                arms.append(arm)
    shape = (len(rows), model.vectors.shape[2])
    return np.array(rows).reshape(shape), np.array(arms, np.int64), np.array(rewards)


def rows_not_handed_over(model: LeastSquares, arms: np.ndarray) -> FloatArray:
    """How many more rows each arm has than the summary rows of ``arms`` that stand for them."""
    result: FloatArray = model.pulls - np.bincount(arms, minlength=len(model.pulls))
    return result


def merge(model: LeastSquares, other: LeastSquares, *, warmup: str = "none") -> None:
    """Add the rows of ``other`` to those of ``model``: G, m and counts add up.

    ``other`` hands over at most d rows per arm that stand for all of its own.
    """
    rows, arms, rewards = summary_rows(other)
    model.numbers[:, COUNT] += rows_not_handed_over(other, arms)
    for row, arm, reward in zip(rows, arms, rewards, strict=True):
        learn(model, WARMUPS.index(warmup), int(arm), row, float(reward))


def learn(model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """:func:`observe`, for callers that are not compiled."""
    if not model.observe_routine:
        observe(model, warmup, arm, x, y)
        return
    OBSERVE.compiled.ctypes(*addresses(model), warmup, arm, x.ctypes.data, y)


@Routine(f"void({MODEL_SIGNATURE} int64)")
def SUMMARISE(a, b, c, d, e, n, size, f, arm):  # type: ignore[no-untyped-def]
    summarise(model_at(a, b, c, d, e, n, size, f), arm)


@overload(summarise_by, strict=False, jit_options=INLINE_OPTIONS)
def _summarise_by(routine, model, arm):  # type: ignore[no-untyped-def]
    def compiled(routine, model, arm):  # type: ignore[no-untyped-def]
        call(routine, (*pointers(model), arm))

    return compiled
