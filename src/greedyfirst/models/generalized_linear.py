r"""Maximum likelihood per arm under a link, from the first row on.

For each arm the estimate maximises :math:`\ell(\beta) = \sum \ell(x^\top\beta; y)` by Newton's
method from the last estimate, one row's step ahead, until another step would move it by less than
10⁻⁵ of a standard error (or its last digits); that last step is taken as well.

**Until the estimate exists** (rows may not span everything, or a direction may separate them, see
:mod:`greedyfirst.models.separation`), the estimate is 0 (``warmup="none"``) or maximises
:math:`\ell(\beta) - \beta^\top Q\beta/(2\cdot 2.5^2)` (``"ridge"``): a wide normal prior, about the
features' means where there is a constant among them
(:mod:`greedyfirst.models.centred_likelihood`). By rule 1 Q is the diagonal of the mean squares of
the arm's own features. A direction that separates the rows is looked for again only when a row
comes that is on its wrong side.

**Rows** are kept in blocks, all of them or the newest (:mod:`greedyfirst.models.row_blocks`).
"""

from __future__ import annotations

import math
from typing import Any

from greedyfirst.compiling.families import by_record, kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.compiling.routines import routine
from greedyfirst.links.link import curvature, mean, score
from greedyfirst.models import least_squares, posterior
from greedyfirst.models.likelihood import (
    PENALTY,
    GeneralizedLinear,
    keep_estimate,
    take_estimate,
)
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


def init_first_rule(
    memory: Memory, n_arms: int, d: int, link: Any, window_rows: int
) -> GeneralizedLinear:
    """The state of rule 1 before the first row; ``window_rows`` per arm are kept, 0 for all."""
    window, pool = blocks_for(window_rows, memory.rows, n_arms)
    linear = least_squares.init(memory, n_arms, d)
    model = GeneralizedLinear(memory, link=link, linear=linear, n_arms=n_arms, d=d, pool=pool)
    model.window = window
    return model


@by_record
def observe(model: Any, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row and find the new estimate: O(nd²) for n rows kept."""


@by_record
def spans(model: Any, arm: int) -> bool:
    """Whether the arm's rows span everything, so that the maximum may exist."""
    raise NotImplementedError


@kernel_for(observe, GeneralizedLinear)
@inline_kernel
def _observe(model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    observe_by_first_rule(model, warmup, arm, x, y)


@routine(GeneralizedLinear)
def observe_by_first_rule(
    model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float
) -> None:
    """Take in one row and find the new estimate, by rule 1."""
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


@kernel_for(spans, GeneralizedLinear)
@inline_kernel
def _spans(model: GeneralizedLinear, arm: int) -> bool:
    return bool(model.linear.rank[arm] == model.estimate.shape[1])


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
    take_estimate(model, arm, point)
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
    keep_estimate(model, arm, model.point)
    for i in range(model.point.shape[0]):
        copy(model.solved[i], model.inverse[arm, i])


@kernel
def penalise_arm(model: GeneralizedLinear, arm: int) -> None:
    """Make the ridge's maximum the arm's estimate."""
    take_estimate(model, arm, model.point)
    if seek(model, arm, PENALTY):
        keep_estimate(model, arm, model.point)
        for i in range(model.point.shape[0]):
            copy(model.solved[i], model.inverse[arm, i])


@kernel
def wait(model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """The ridge's estimate if wanted; and whether the new row makes the maximum exist."""
    point, direction = model.point, model.direction[arm]
    if warmup == RIDGE:
        penalise_arm(model, arm)
    z = inner(direction, x)
    if model.separated[arm] and right_side(model.link, z, y, direction, x):
        return
    model.separated[arm] = False
    if not spans(model, arm):
        return
    take_estimate(model, arm, point)
    found = proves_existence(model, arm, point)
    if not found and not model.separated[arm]:
        zero(point)
        found = proves_existence(model, arm, point)
    if found:
        adopt(model, arm)
