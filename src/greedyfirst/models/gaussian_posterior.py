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

import math

import numpy as np

from greedyfirst.compiling.families import kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, floats, integers
from greedyfirst.compiling.routines import routine
from greedyfirst.models import posterior
from greedyfirst.models.least_squares import REFRESH_GROWTH, REFRESH_ROWS
from greedyfirst.numerics.matrices import add_outer, invert, multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray, IntArray


class GaussianPosterior(Record):
    """Posteriors of all arms."""

    #: Rows seen; growth of det Λ since the last refresh, and the rows seen at that refresh.
    pulls: IntArray = integers("n_arms")
    growth: FloatArray = floats("n_arms")
    refreshed_at: IntArray = integers("n_arms")
    #: μ, which is the estimate, and Λμ.
    estimate: FloatArray = floats("n_arms", "d")
    shift: FloatArray = floats("n_arms", "d")
    #: Σxx', Λ and Σ.
    gram: FloatArray = floats("n_arms", "d", "d")
    precision: FloatArray = floats("n_arms", "d", "d")
    covariance: FloatArray = floats("n_arms", "d", "d")
    # Scratch: v = Σx, and a matrix.
    gain: FloatArray = floats("d")
    matrix: FloatArray = floats("d", "d")


def init(
    memory: Memory, n_arms: int, mean: FloatArray, covariance: FloatArray
) -> GaussianPosterior:
    """The state before the first row: every arm's prior N(mean, covariance)."""
    model = GaussianPosterior(memory, n_arms=n_arms, d=len(mean))
    precision = np.linalg.inv(covariance)
    model.growth[:] = 1.0
    model.estimate[:] = mean
    model.shift[:] = precision @ mean
    model.covariance[:] = covariance
    model.precision[:] = precision
    return model


@routine(GaussianPosterior)
def observe(
    model: GaussianPosterior, arm: int, x: FloatArray, y: float, noise_variance: float
) -> None:
    """Take in one row: O(d²)."""
    v, mean, covariance = model.gain, model.estimate[arm], model.covariance[arm]
    error = y - inner(mean, x)
    s = noise_variance + multiply(covariance, x, v)
    weight = 1.0 / noise_variance
    add_multiple(mean, error / s, v)
    add_multiple(model.shift[arm], weight * y, x)
    add_outer(covariance, v, -1.0 / s)
    add_outer(model.precision[arm], x, weight)
    add_outer(model.gram[arm], x, 1.0)
    model.pulls[arm] += 1
    model.growth[arm] *= s * weight
    rows = model.pulls[arm] - model.refreshed_at[arm]
    if model.growth[arm] > REFRESH_GROWTH or rows >= REFRESH_ROWS:
        refresh(model, arm)


@kernel
def refresh(model: GaussianPosterior, arm: int) -> None:
    """Compute Σ and μ afresh from Λ and Λμ; kept as they are if Λ is near singular."""
    model.refreshed_at[arm] = model.pulls[arm]
    model.growth[arm] = 1.0
    covariance, result = model.covariance[arm], model.matrix
    if not invert(model.precision[arm], result, model.gain):
        return
    for i in range(result.shape[0]):
        copy(result[i], covariance[i])
    for i in range(result.shape[0]):
        model.estimate[arm, i] = inner(covariance[i], model.shift[arm])


# ------------------------------------------------------------------------ as policies ask for it


@kernel_for(posterior.observe, GaussianPosterior)
@inline_kernel
def _observe(
    model: GaussianPosterior, arm: int, x: FloatArray, y: float, noise_variance: float
) -> None:
    observe(model, arm, x, y, noise_variance)


@kernel_for(posterior.prepare, GaussianPosterior)
@inline_kernel
def _prepare(model: GaussianPosterior, x: FloatArray) -> None:
    pass


@kernel_for(posterior.rounding, GaussianPosterior)
@inline_kernel
def _rounding(model: GaussianPosterior) -> float:
    return 0.0


@kernel_for(posterior.mean, GaussianPosterior)
@inline_kernel
def _mean(model: GaussianPosterior, arm: int, x: FloatArray) -> float:
    return inner(model.estimate[arm], x)


@kernel_for(posterior.form, GaussianPosterior)
@inline_kernel
def _form(model: GaussianPosterior, matrix: FloatArray, x: FloatArray) -> float:
    return max(quadratic(matrix, x), 0.0)


@kernel_for(posterior.arm_scale, GaussianPosterior)
@inline_kernel
def _arm_scale(model: GaussianPosterior, arm: int) -> float:
    return 1.0


@kernel_for(posterior.scale_rows, GaussianPosterior)
@inline_kernel
def _scale_rows(model: GaussianPosterior, arm: int) -> float:
    return math.inf


@kernel_for(posterior.variance, GaussianPosterior)
@inline_kernel
def _variance(model: GaussianPosterior, arm: int, x: FloatArray) -> float:
    return max(quadratic(model.covariance[arm], x), 0.0)


@kernel_for(posterior.noise_scale, GaussianPosterior)
@inline_kernel
def _noise_scale(model: GaussianPosterior, sigma: float) -> float:
    return 1.0


@kernel_for(posterior.penalty, GaussianPosterior)
@inline_kernel
def _penalty(model: GaussianPosterior, given: float) -> float:
    return given


@kernel_for(posterior.length, GaussianPosterior)
@inline_kernel
def _length(model: GaussianPosterior, x: FloatArray) -> float:
    return math.sqrt(inner(x, x))


@kernel_for(posterior.distance, GaussianPosterior)
@inline_kernel
def _distance(model: GaussianPosterior) -> float:
    squared = 0.0
    for arm in range(model.estimate.shape[0]):
        squared += inner(model.estimate[arm], model.estimate[arm])
    return math.sqrt(squared)
