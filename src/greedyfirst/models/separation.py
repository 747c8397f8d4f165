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

from greedyfirst.compilation import kernel
from greedyfirst.linalg import copy, invert, multiply, quadratic
from greedyfirst.links.link import extreme
from greedyfirst.models.likelihood import (
    BLOCK,
    BLOCKS,
    CURVATURES,
    DIRECTION,
    FILLED,
    FIRST,
    FOLDED,
    FOLDED_CURVATURE,
    GRADIENT,
    HESSIAN,
    LAST,
    PREDICTOR,
    SCORES,
    SEPARATED,
    SOLVED,
    SQUARED,
    STEP,
    TRIAL,
    Fit,
    accumulate,
    differentiate,
    evaluate,
    mirror,
    predict_block,
)
from greedyfirst.models.newton import ITERATIONS, advance
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import inner

# g'M⁻¹g below this proves that the estimate exists; 1 but for rounding.
CERTAIN = 0.99
# M's inverse is rounding when a diagonal entry of M times that of its inverse exceeds this.
CONDITION = 1e11
# A row is on the right side of u up to this share of the terms of x'u.
SIDE = 1e-9


@kernel
def right_side(tag: Any, z: float, y: float, direction: FloatArray, x: FloatArray) -> bool:
    """Whether a row is where a direction that separates the rows would have it."""
    slack = 0.0
    for i in range(x.shape[0]):
        slack += abs(direction[i] * x[i])
    slack *= SIDE
    side = extreme(tag, y)
    return bool(side * z >= -slack if side != 0.0 else abs(z) <= slack)


@kernel
def proves_existence(tag: Any, model: Fit, arm: int, point: FloatArray) -> bool:
    """Go uphill until g'M⁻¹g < 1, or until a direction separates the rows, which is kept."""
    matrix, inverse = model.scratch_matrices[HESSIAN], model.scratch_matrices[SOLVED]
    gradient, step, trial = (
        model.scratch[GRADIENT],
        model.scratch[STEP],
        model.scratch[TRIAL],
    )
    evaluate(tag, model, arm, point, 0.0)
    for _ in range(ITERATIONS):
        square_scores(tag, model, arm, point)
        regular = invert(model.scratch_matrices[SQUARED], inverse, trial) and conditioned(
            model.scratch_matrices[SQUARED], inverse
        )
        if regular and quadratic(inverse, gradient) < CERTAIN:
            return True
        if separates(tag, model, arm, point):
            return False
        if not invert(matrix, inverse, trial):
            return False
        decrement = multiply(inverse, gradient, step)
        if separates(tag, model, arm, step):
            return False
        if not (decrement < 1e300 and advance(tag, model, arm, point, decrement, 0.0)):
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
def square_scores(tag: Any, model: Fit, arm: int, point: FloatArray) -> None:
    """M: Σ score²·xx', with the curvature added where a reward is not at an end."""
    matrix, lanes, d = model.scratch_matrices[SQUARED], model.scratch_rows, point.shape[0]
    for i in range(d):
        copy(model.matrices[arm, FOLDED_CURVATURE, i], matrix[i])
    unused = model.scratch[TRIAL]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        differentiate(tag, block, point, lanes)
        for j in range(BLOCK):
            weight = lanes[SCORES, j] * lanes[SCORES, j]
            if extreme(tag, block[d, j]) == 0.0:
                weight += lanes[CURVATURES, j]
            lanes[CURVATURES, j] = weight
        accumulate(block, lanes, unused, matrix)
        place = int(block[d + 1, 0])
    mirror(matrix)


@kernel
def separates(tag: Any, model: Fit, arm: int, direction: FloatArray) -> bool:
    """Whether a direction separates the arm's rows; kept if so. Folded rows are never separated."""
    if model.numbers[arm, FOLDED] != 0.0 or not inner(direction, direction) > 0.0:
        return False
    d = direction.shape[0]
    x, z = model.vectors[arm, DIRECTION], model.scratch_rows[PREDICTOR]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        predict_block(block, direction, z)
        last = place == int(model.numbers[arm, LAST])
        for j in range(int(model.numbers[arm, FILLED]) if last else BLOCK):
            for i in range(d):
                x[i] = block[i, j]
            if not right_side(tag, z[j], block[d, j], direction, x):
                return False
        place = int(block[d + 1, 0])
    copy(direction, model.vectors[arm, DIRECTION])
    model.numbers[arm, SEPARATED] = 1.0
    return True
