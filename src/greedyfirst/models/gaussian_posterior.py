r"""Gaussian posterior per arm for linear rewards with Gaussian noise.

With prior :math:`\beta \sim N(\mu_0, \Sigma_0)` and rewards :math:`y = x^\top\beta + N(0, w)`:

.. math:: \Lambda = \Sigma_0^{-1} + \sum xx^\top/w, \quad \Sigma = \Lambda^{-1}, \quad
          \mu = \Sigma\,(\Sigma_0^{-1}\mu_0 + \sum xy/w).

Each reward is a rank-one update, O(d²): with :math:`v = \Sigma x,\ s = w + x^\top v`,
:math:`\mu \mathrel{+}= v(y - x^\top\mu)/s,\ \Sigma \mathrel{-}= vv^\top/s`. As in
:mod:`greedyfirst.models.least_squares`, Σ and μ are computed afresh from the sums whenever
det Λ has grown by ``REFRESH_GROWTH`` or ``REFRESH_ROWS`` rows have come.
"""

from __future__ import annotations

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
from greedyfirst.linalg import add_outer, copy, invert, multiply
from greedyfirst.memory import Memory
from greedyfirst.models.least_squares import REFRESH_GROWTH, REFRESH_ROWS
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

# Per arm: rows seen, growth of det Λ since the last refresh, rows at that refresh.
COUNT, GROWTH, FRESH = range(3)
# Per arm: Λμ and μ.
SHIFT, MEAN = range(2)
# Per arm: Σxx', Λ and Σ.
GRAM, PRECISION, COVARIANCE = range(3)


class GaussianPosterior(NamedTuple):
    """Posteriors of all arms, in few arrays: each costs compile time."""

    numbers: FloatArray  # (n_arms, 3)
    vectors: FloatArray  # (n_arms, 2, d)
    matrices: FloatArray  # (n_arms, 3, d, d)
    scratch: FloatArray  # (1 + d, d): v = Σx, then a matrix
    observe_routine: int  # its address in this process

    @property
    def pulls(self) -> FloatArray:
        """Rows seen (n_arms,)."""
        return self.numbers[:, COUNT]

    @property
    def estimate(self) -> FloatArray:
        """Posterior means (n_arms, d)."""
        return self.vectors[:, MEAN]

    @property
    def covariance(self) -> FloatArray:
        """Posterior covariances (n_arms, d, d)."""
        return self.matrices[:, COVARIANCE]

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d)."""
        return self.matrices[:, GRAM]


def init(
    memory: Memory, n_arms: int, mean: FloatArray, covariance: FloatArray
) -> GaussianPosterior:
    """The state before the first row: every arm's prior N(mean, covariance)."""
    d = len(mean)
    model = GaussianPosterior(
        memory.take(n_arms, 3),
        memory.take(n_arms, 2, d),
        memory.take(n_arms, 3, d, d),
        memory.take(1 + d, d),
        OBSERVE.address,
    )
    precision = np.linalg.inv(covariance)
    model.numbers[:, GROWTH] = 1.0
    model.vectors[:, MEAN] = mean
    model.vectors[:, SHIFT] = precision @ mean
    model.matrices[:, COVARIANCE] = covariance
    model.matrices[:, PRECISION] = precision
    return model


def observe(
    model: GaussianPosterior, arm: int, x: FloatArray, y: float, noise_variance: float
) -> None:
    """Take in one row: O(d²)."""
    observe_row(model, arm, x, y, noise_variance)


@kernel
def observe_row(
    model: GaussianPosterior, arm: int, x: FloatArray, y: float, noise_variance: float
) -> None:
    """The work of :func:`observe`."""
    numbers, matrices, v = model.numbers[arm], model.matrices[arm], model.scratch[0]
    mean, shift = model.vectors[arm, MEAN], model.vectors[arm, SHIFT]
    error = y - inner(mean, x)
    s = noise_variance + multiply(matrices[COVARIANCE], x, v)
    weight = 1.0 / noise_variance
    add_multiple(mean, error / s, v)
    add_multiple(shift, weight * y, x)
    add_outer(matrices[COVARIANCE], v, -1.0 / s)
    add_outer(matrices[PRECISION], x, weight)
    add_outer(matrices[GRAM], x, 1.0)
    numbers[COUNT] += 1.0
    numbers[GROWTH] *= s * weight
    if numbers[GROWTH] > REFRESH_GROWTH or numbers[COUNT] - numbers[FRESH] >= REFRESH_ROWS:
        refresh(model, arm)


@rare_kernel
def refresh(model: GaussianPosterior, arm: int) -> None:
    """Compute Σ and μ afresh from Λ and Λμ; kept as they are if Λ is near singular."""
    numbers, covariance = model.numbers[arm], model.matrices[arm, COVARIANCE]
    numbers[FRESH] = numbers[COUNT]
    numbers[GROWTH] = 1.0
    result = model.scratch[1:]
    if not invert(model.matrices[arm, PRECISION], result, model.scratch[0]):
        return
    for i in range(result.shape[0]):
        copy(result[i], covariance[i])
    for i in range(result.shape[0]):
        model.vectors[arm, MEAN, i] = inner(covariance[i], model.vectors[arm, SHIFT])


# Compiled callers reach `observe` through its address: see `compilation.Routine`.
_MODEL = "int64, " * 4 + "int64, int64, "


@template_kernel
def pointers(model: GaussianPosterior) -> tuple[int, ...]:
    """The arrays' addresses, n_arms and d: how a routine is told of a model."""
    return (
        pointer(model.numbers),
        pointer(model.vectors),
        pointer(model.matrices),
        pointer(model.scratch),
        model.vectors.shape[0],
        model.vectors.shape[2],
    )


@template_kernel
def model_at(a: int, b: int, c: int, d: int, n_arms: int, size: int) -> GaussianPosterior:
    """The model whose arrays are at these addresses."""
    return GaussianPosterior(
        array_at(a, (n_arms, 3)),
        array_at(b, (n_arms, 2, size)),
        array_at(c, (n_arms, 3, size, size)),
        array_at(d, (1 + size, size)),
        0,
    )


@Routine(f"void({_MODEL} int64, int64, float64, float64)")
def OBSERVE(a, b, c, d, n_arms, size, arm, x, y, noise_variance):  # type: ignore[no-untyped-def]
    model = model_at(a, b, c, d, n_arms, size)
    observe_row(model, arm, array_at(x, (size,)), y, noise_variance)


@overload(observe, strict=False, jit_options=INLINE_OPTIONS)
def _observe(model, arm, x, y, noise_variance):  # type: ignore[no-untyped-def]
    def compiled(model, arm, x, y, noise_variance):  # type: ignore[no-untyped-def]
        call(model.observe_routine, (*pointers(model), arm, pointer(x), y, noise_variance))

    return compiled
