r"""Maximum likelihood per arm under a link, from the first row on.

For each arm the estimate maximises :math:`\ell(\beta) = \sum \ell(x^\top\beta; y)` by Newton's
method from the last estimate, one row's step ahead, until another step would move it by less than
10⁻⁵ of a standard error (or its last digits); that last step is taken as well.

**Until the estimate exists** (rows may not span everything, or a direction may separate them, see
:mod:`greedyfirst.models.separation`), the estimate is 0 (``warmup="none"``) or maximises
:math:`\ell(\beta) - \sum_i s_i^2\beta_i^2/(2\cdot 2.5^2)` (``"ridge"``), s_i the root mean square
of feature i: a wide normal prior that does not depend on units. A direction that separates the rows
is looked for again only when a row comes that is on its wrong side.

**Rows** are kept in blocks, all of them or the newest (:mod:`greedyfirst.models.row_blocks`).
"""

from __future__ import annotations

import math
from typing import Any

from greedyfirst.compiling.families import kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.compiling.routines import routine
from greedyfirst.links.link import curvature, mean, score
from greedyfirst.models import least_squares, posterior
from greedyfirst.models.likelihood import PENALTY, GeneralizedLinear
from greedyfirst.models.newton import seek, zero
from greedyfirst.models.row_blocks import blocks_for, store
from greedyfirst.models.separation import proves_existence, right_side
from greedyfirst.numerics.matrices import multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray

#: What the estimate is until the maximum likelihood estimate exists.
WARMUPS = ("none", "ridge")
NONE, RIDGE = range(2)

# The linear model beside it is there for its Gram matrices and, which this warm-up keeps, their
# pseudo-inverses: its own estimates are not used.
LINEAR_WARMUP = least_squares.PINV


def init(memory: Memory, n_arms: int, d: int, link: Any, window_rows: int) -> GeneralizedLinear:
    """The state before the first row; ``window_rows`` per arm are kept, 0 for all."""
    window, pool = blocks_for(window_rows, memory.rows, n_arms)
    linear = least_squares.init(memory, n_arms, d)
    model = GeneralizedLinear(memory, link=link, linear=linear, n_arms=n_arms, d=d, pool=pool)
    model.window = window
    return model


@routine(GeneralizedLinear)
def observe(model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row and find the new estimate: O(nd²) for n rows kept."""
    least_squares.observe(model.linear, LINEAR_WARMUP, arm, x, y)
    store(model, arm, x, y)
    if model.exists[arm]:
        follow(model, arm, x, y)
    else:
        wait(model, warmup, arm, x, y)


@inline_kernel
def expect(model: GeneralizedLinear, predictors: FloatArray) -> None:
    """Replace linear predictors by expected rewards."""
    for i in range(predictors.shape[0]):
        predictors[i] = mean(model.link, predictors[i])


@kernel_for(posterior.prepare, GeneralizedLinear)
@inline_kernel
def _prepare(model: GeneralizedLinear, x: FloatArray) -> None:
    pass


@kernel_for(posterior.rounding, GeneralizedLinear)
@inline_kernel
def _rounding(model: GeneralizedLinear) -> float:
    return 0.0


@kernel_for(posterior.mean, GeneralizedLinear)
@inline_kernel
def _mean(model: GeneralizedLinear, arm: int, x: FloatArray) -> float:
    return inner(model.estimate[arm], x)


@kernel_for(posterior.form, GeneralizedLinear)
@inline_kernel
def _form(model: GeneralizedLinear, matrix: FloatArray, x: FloatArray) -> float:
    return max(quadratic(matrix, x), 0.0)


@kernel_for(posterior.arm_scale, GeneralizedLinear)
@inline_kernel
def _arm_scale(model: GeneralizedLinear, arm: int) -> float:
    return 1.0


@kernel_for(posterior.scale_rows, GeneralizedLinear)
@inline_kernel
def _scale_rows(model: GeneralizedLinear, arm: int) -> float:
    return math.inf


@kernel_for(posterior.variance, GeneralizedLinear)
@kernel
def _variance(model: GeneralizedLinear, arm: int, x: FloatArray) -> float:
    """By the likelihood's curvature; of an arm without rows by the ridge's prior alone."""
    if model.linear.pulls[arm] > 0:
        return max(quadratic(model.inverse[arm], x), 0.0)
    variance, n = 0.0, 0
    for other in range(model.squares.shape[0]):
        n += model.linear.pulls[other]
    for i in range(x.shape[0]):
        squares = 0.0
        for other in range(model.squares.shape[0]):
            squares += model.squares[other, i]
        if squares > 0.0:
            variance += x[i] * x[i] * n / (PENALTY * squares)
    return variance


@kernel_for(posterior.noise_scale, GeneralizedLinear)
@inline_kernel
def _noise_scale(model: GeneralizedLinear, sigma: float) -> float:
    return 1.0


# ----------------------------------------------------------------------------------- the estimate


@kernel
def follow(model: GeneralizedLinear, arm: int, x: FloatArray, y: float) -> None:
    """The new maximum, from the last one and the step that the new row alone asks for."""
    point, gain = model.point, model.step
    copy(model.estimate[arm], point)
    spread = multiply(model.inverse[arm], x, gain)
    z = inner(point, x)
    slope = score(model.link, z, y) / (1.0 + curvature(model.link, z, y) * spread)
    add_multiple(point, slope, gain)
    adopt(model, arm)


@kernel
def adopt(model: GeneralizedLinear, arm: int) -> None:
    """Make the maximum the arm's estimate, if it is found, and keep the derivatives' inverse."""
    if not seek(model, arm, 0.0):
        return
    model.exists[arm] = True
    copy(model.point, model.estimate[arm])
    for i in range(model.point.shape[0]):
        copy(model.solved[i], model.inverse[arm, i])


@kernel
def wait(model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """The ridge's estimate if wanted; and whether the new row makes the maximum exist."""
    point, estimate, direction = model.point, model.estimate[arm], model.direction[arm]
    copy(estimate, point)
    if warmup == RIDGE and seek(model, arm, PENALTY):
        copy(point, estimate)
        for i in range(point.shape[0]):
            copy(model.solved[i], model.inverse[arm, i])
    if model.linear.rank[arm] < x.shape[0]:
        return
    z = inner(direction, x)
    if model.separated[arm] and right_side(model.link, z, y, direction, x):
        return
    model.separated[arm] = False
    copy(estimate, point)
    found = proves_existence(model, arm, point)
    if not found and not model.separated[arm]:
        zero(point)
        found = proves_existence(model, arm, point)
    if found:
        adopt(model, arm)
