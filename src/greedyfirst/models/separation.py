r"""Whether an arm's maximum likelihood estimate exists: proved, one way or the other.

It exists unless a direction u *separates* the rows: all rewards at the ends of the scale are on
their sides of :math:`x^\top u = 0`, the others on it. With scores c and M = Σ c²xx' at any β (any
weight for rows that are not at an end), g = Σ cx:

- :math:`g^\top M^{-1}g < 1` proves that none does, since such a u would have
  :math:`g^\top u = \sum |c\,x^\top u| \ge (u^\top Mu)^{1/2}`; and g tends to 0 uphill if none does;
- a u that separates the rows proves the contrary, and is kept.
"""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.links.link import extreme
from greedyfirst.models.likelihood import (
    BLOCK,
    GeneralizedLinear,
    accumulate,
    differentiate,
    evaluate,
    mirror,
    predict_block,
    rows_in,
)
from greedyfirst.models.newton import ITERATIONS, advance
from greedyfirst.numerics.matrices import invert, multiply, quadratic
from greedyfirst.numerics.vectors import copy, inner
from greedyfirst.validation import FloatArray

# g'M⁻¹g below this proves that the estimate exists; 1 but for rounding.
CERTAIN = 0.99
# M's inverse is rounding when a diagonal entry of M times that of its inverse exceeds this.
CONDITION = 1e11
# A row is on the right side of u up to this share of the terms of x'u.
SIDE = 1e-9


@kernel
def right_side(link: Any, z: float, y: float, direction: FloatArray, x: FloatArray) -> bool:
    """Whether a row is where a direction that separates the rows would have it."""
    slack = 0.0
    for i in range(x.shape[0]):
        slack += abs(direction[i] * x[i])
    slack *= SIDE
    side = extreme(link, y)
    return bool(side * z >= -slack if side != 0.0 else abs(z) <= slack)


@kernel
def proves_existence(model: GeneralizedLinear, arm: int, point: FloatArray) -> bool:
    """Go uphill until g'M⁻¹g < 1, or until a direction separates the rows, which is kept."""
    matrix, squared, inverse = model.hessian, model.squared, model.solved
    gradient, step, trial = model.gradient, model.step, model.trial
    evaluate(model, arm, point, 0.0)
    for _ in range(ITERATIONS):
        square_scores(model, arm, point)
        regular = invert(squared, inverse, trial) and conditioned(squared, inverse)
        if regular and quadratic(inverse, gradient) < CERTAIN:
            return True
        if separates(model, arm, point):
            return False
        if not invert(matrix, inverse, trial):
            return False
        decrement = multiply(inverse, gradient, step)
        if separates(model, arm, step):
            return False
        if not (decrement < 1e300 and advance(model, arm, point, decrement, 0.0)):
            return False
    return False


@kernel
def conditioned(matrix: FloatArray, inverse: FloatArray) -> bool:
    """Whether an inverse is more than rounding, by the digits lost along each axis."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        largest = max(largest, matrix[i, i] * inverse[i, i])
    return largest < CONDITION


@kernel
def square_scores(model: GeneralizedLinear, arm: int, point: FloatArray) -> None:
    """M: Σ score²·xx', with the curvature added where a reward is not at an end."""
    matrix, scores, curvatures = model.squared, model.scores, model.curvatures
    for i in range(point.shape[0]):
        copy(model.folded_curvature[arm, i], matrix[i])
    unused = model.trial
    block = model.first_block[arm]
    for _ in range(model.n_blocks[arm]):
        differentiate(model, block, point)
        for j in range(BLOCK):
            weight = scores[j] * scores[j]
            if extreme(model.link, model.rewards[block, j]) == 0.0:
                weight += curvatures[j]
            curvatures[j] = weight
        accumulate(model, block, unused, matrix)
        block = model.next_block[block]
    mirror(matrix)


@kernel
def separates(model: GeneralizedLinear, arm: int, direction: FloatArray) -> bool:
    """Whether a direction separates the arm's rows; kept if so. Folded rows are never separated."""
    if model.folded[arm] != 0 or not inner(direction, direction) > 0.0:
        return False
    x, z = model.direction[arm], model.predictors
    block = model.first_block[arm]
    for _ in range(model.n_blocks[arm]):
        features = model.features[block]
        predict_block(features, direction, z)
        for j in range(rows_in(model, arm, block)):
            for i in range(direction.shape[0]):
                x[i] = features[i, j]
            if not right_side(model.link, z[j], model.rewards[block, j], direction, x):
                return False
        block = model.next_block[block]
    copy(direction, model.direction[arm])
    model.separated[arm] = True
    return True
