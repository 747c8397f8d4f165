"""The log-likelihood of an arm's rows and its derivatives, block by block.

Rows are kept in blocks of ``BLOCK``, each feature's numbers side by side, so that loops over a
block are loops over long vectors. An arm's blocks are a chain; *folded* rows are there as the
second-order expansion of their likelihood.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from greedyfirst.compilation import inline_kernel, kernel
from greedyfirst.linalg import copy, quadratic
from greedyfirst.links.link import curvature, log_likelihood, score
from greedyfirst.models.least_squares import COUNT
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

BLOCK = 64

# Per arm: 1 once the estimate exists; its first and its last block, how many it has, rows in the
# last; rows folded; 1 while a direction is known that separates its rows.
EXISTS, FIRST, LAST, BLOCKS, FILLED, FOLDED, SEPARATED = range(7)
# Per arm: the estimate that decisions use, the direction that separates its rows, Σx² by feature,
# and the gradient of the folded rows at β = 0.
ESTIMATE, DIRECTION, SQUARES, FOLDED_GRADIENT = range(4)
# Per arm: the inverse of minus ℓ's second derivatives, and those of the folded rows.
INVERSE, FOLDED_CURVATURE = range(2)
# Scratch vectors and matrices.
POINT, STEP, TRIAL, GRADIENT = range(4)
HESSIAN, SOLVED, SQUARED = range(3)
# Scratch rows of a block: linear predictors, scores, curvatures, products.
PREDICTOR, SCORES, CURVATURES, PRODUCT = range(4)


class Fit(NamedTuple):
    """What fitting needs of a model: its arrays but for those of least squares."""

    linear_numbers: FloatArray
    numbers: FloatArray
    vectors: FloatArray
    matrices: FloatArray
    rows: FloatArray
    scratch: FloatArray
    scratch_rows: FloatArray
    scratch_matrices: FloatArray
    window: int


@inline_kernel
def predict_block(block: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Linear predictors of a block's rows."""
    for j in range(BLOCK):
        out[j] = 0.0
    for i in range(point.shape[0]):
        add_multiple(out, point[i], block[i])


@kernel
def differentiate(tag: Any, block: FloatArray, point: FloatArray, lanes: FloatArray) -> None:
    """Predictors, scores and curvatures of a block's rows."""
    z, rewards = lanes[PREDICTOR], block[point.shape[0]]
    predict_block(block, point, z)
    scores, curvatures = lanes[SCORES], lanes[CURVATURES]
    for j in range(BLOCK):
        predictor, reward = z[j], rewards[j]
        first, second = score(tag, predictor, reward), curvature(tag, predictor, reward)
        scores[j] = first
        curvatures[j] = second


@kernel
def accumulate(
    block: FloatArray, lanes: FloatArray, gradient: FloatArray, matrix: FloatArray
) -> None:
    """Add Σ score·x, and the lower half of Σ curvature·xx'; places without a row have x = 0."""
    d = gradient.shape[0]
    scores, curvatures, product = lanes[SCORES], lanes[CURVATURES], lanes[PRODUCT]
    for i in range(d):
        gradient[i] += inner(block[i], scores)
        for j in range(BLOCK):
            product[j] = block[i, j] * curvatures[j]
        for k in range(i + 1):
            matrix[i, k] += inner(product, block[k])


@kernel
def mirror(matrix: FloatArray) -> None:
    """Copy the lower half to the upper one."""
    for i in range(matrix.shape[0]):
        for k in range(i):
            matrix[k, i] = matrix[i, k]


@kernel
def prior(model: Fit, arm: int, i: int, weight: float) -> float:
    """The ridge's penalty on feature i."""
    mean_square = model.vectors[arm, SQUARES, i] / model.linear_numbers[arm, COUNT]
    return weight * (mean_square if mean_square > 0.0 else 1.0)


@kernel
def evaluate(tag: Any, model: Fit, arm: int, point: FloatArray, weight: float) -> None:
    """Gradient and minus the second derivatives of ℓ, less the ridge's penalty, at a point."""
    gradient, matrix = model.scratch[GRADIENT], model.scratch_matrices[HESSIAN]
    folded, d = model.matrices[arm, FOLDED_CURVATURE], point.shape[0]
    for i in range(d):
        penalty = prior(model, arm, i, weight) if weight > 0.0 else 0.0
        gradient[i] = (
            model.vectors[arm, FOLDED_GRADIENT, i] - inner(folded[i], point) - penalty * point[i]
        )
        copy(folded[i], matrix[i])
        matrix[i, i] += penalty
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        differentiate(tag, block, point, model.scratch_rows)
        accumulate(block, model.scratch_rows, gradient, matrix)
        place = int(block[d + 1, 0])
    mirror(matrix)


@kernel
def objective(tag: Any, model: Fit, arm: int, point: FloatArray, weight: float) -> float:
    """ℓ, less the ridge's penalty, at a point."""
    d = point.shape[0]
    folded = model.matrices[arm, FOLDED_CURVATURE]
    total = inner(model.vectors[arm, FOLDED_GRADIENT], point) - 0.5 * quadratic(folded, point)
    if weight > 0.0:
        for i in range(d):
            total -= 0.5 * prior(model, arm, i, weight) * point[i] * point[i]
    z = model.scratch_rows[PREDICTOR]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        predict_block(block, point, z)
        last = place == int(model.numbers[arm, LAST])
        for j in range(int(model.numbers[arm, FILLED]) if last else BLOCK):
            total += log_likelihood(tag, z[j], block[d, j])
        place = int(block[d + 1, 0])
    return total
