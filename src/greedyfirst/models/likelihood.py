"""The log-likelihood of an arm's rows and its derivatives, block by block.

Rows are kept in blocks of ``BLOCK``, each feature's numbers side by side, so that loops over a
block are loops over long vectors. An arm's blocks are a chain; *folded* rows are there as the
second-order expansion of their likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.compiling.families import by_record, kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Record, flags, floats, integer, integers, part
from greedyfirst.links.link import curvature, log_likelihood, score
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.numerics.matrices import quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import BoolArray, FloatArray, IntArray

BLOCK = 64
#: The ridge's penalty for a feature of size 1: a prior of standard deviation 2.5.
PENALTY = 1.0 / 2.5**2


class GeneralizedLinear(Record):
    """Rows and estimates of all arms under a link, with the ridge of rule 1."""

    #: Selects the link's formulas.
    link: Any = part()
    #: Least squares of the same rows: their Gram matrices, counts and ranks.
    linear: LeastSquares = part()
    #: The estimate that decisions use, and whether it is the maximum likelihood estimate.
    estimate: FloatArray = floats("n_arms", "d")
    exists: BoolArray = flags("n_arms")
    #: The inverse of minus ℓ's second derivatives at the estimate, the ridge's penalty included.
    inverse: FloatArray = floats("n_arms", "d", "d")
    #: A direction that separates an arm's rows, and whether one is known.
    direction: FloatArray = floats("n_arms", "d")
    separated: BoolArray = flags("n_arms")
    #: Σx² by feature.
    squares: FloatArray = floats("n_arms", "d")
    #: An arm's chain of blocks: the first, the last, how many, and the rows in the last.
    first_block: IntArray = integers("n_arms")
    last_block: IntArray = integers("n_arms")
    n_blocks: IntArray = integers("n_arms")
    filled: IntArray = integers("n_arms")
    #: Folded rows: how many, their gradient at β = 0, and minus their second derivatives.
    folded: IntArray = integers("n_arms")
    folded_gradient: FloatArray = floats("n_arms", "d")
    folded_curvature: FloatArray = floats("n_arms", "d", "d")
    #: The pool of blocks: features, rewards, the next block of the chain.
    features: FloatArray = floats("pool", "d", BLOCK)
    rewards: FloatArray = floats("pool", BLOCK)
    next_block: IntArray = integers("pool")
    #: Blocks that an arm may keep; 0 for all.
    window: int = integer()
    # Scratch: of Newton's method, of a block's rows, and matrices.
    point: FloatArray = floats("d")
    step: FloatArray = floats("d")
    trial: FloatArray = floats("d")
    gradient: FloatArray = floats("d")
    predictors: FloatArray = floats(BLOCK)
    scores: FloatArray = floats(BLOCK)
    curvatures: FloatArray = floats(BLOCK)
    product: FloatArray = floats(BLOCK)
    hessian: FloatArray = floats("d", "d")
    solved: FloatArray = floats("d", "d")
    squared: FloatArray = floats("d", "d")

    @property
    def pulls(self) -> IntArray:
        """Rows seen (n_arms,)."""
        return self.linear.pulls

    @property
    def precisions(self) -> FloatArray:
        """The curvature of each arm's likelihood (n_arms + 1, d, d); the last is the ridge's.

        Of an arm without rows it is the ridge's alone.
        """
        rows, squares = int(self.pulls.sum()), self.squares.sum(axis=0)
        usual = np.where(squares > 0.0, squares / max(rows, 1), 1.0)
        prior = PENALTY * np.diag(usual)
        known = zip(self.inverse, self.pulls, strict=True)
        return np.stack([*(np.linalg.inv(each) if n else prior for each, n in known), prior])

    @property
    def there(self) -> FloatArray:
        """The matrix (d, d) that makes rows of contexts: by rule 1 they are the same."""
        return np.eye(self.estimate.shape[1])

    @property
    def back(self) -> FloatArray:
        """The matrix (d, d) that makes contexts of rows."""
        return np.eye(self.estimate.shape[1])

    @property
    def covariance(self) -> FloatArray:
        """The inverses (n_arms, d, d), for contexts."""
        covariance: FloatArray = self.there.T @ self.inverse @ self.there
        return covariance

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d)."""
        return self.linear.gram


@inline_kernel
def predict_block(features: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Linear predictors of a block's rows."""
    for j in range(BLOCK):
        out[j] = 0.0
    for i in range(point.shape[0]):
        add_multiple(out, point[i], features[i])


@kernel
def differentiate(model: GeneralizedLinear, block: int, point: FloatArray) -> None:
    """Predictors, scores and curvatures of a block's rows."""
    link, rewards = model.link, model.rewards[block]
    z, scores, curvatures = model.predictors, model.scores, model.curvatures
    predict_block(model.features[block], point, z)
    for j in range(BLOCK):
        predictor, reward = z[j], rewards[j]
        first, second = score(link, predictor, reward), curvature(link, predictor, reward)
        scores[j] = first
        curvatures[j] = second


@kernel
def accumulate(
    model: GeneralizedLinear, block: int, gradient: FloatArray, matrix: FloatArray
) -> None:
    """Add Σ score·x, and the lower half of Σ curvature·xx'; places without a row have x = 0."""
    features = model.features[block]
    scores, curvatures, product = model.scores, model.curvatures, model.product
    for i in range(gradient.shape[0]):
        gradient[i] += inner(features[i], scores)
        for j in range(BLOCK):
            product[j] = features[i, j] * curvatures[j]
        for k in range(i + 1):
            matrix[i, k] += inner(product, features[k])


@kernel
def mirror(matrix: FloatArray) -> None:
    """Copy the lower half to the upper one."""
    for i in range(matrix.shape[0]):
        for k in range(i):
            matrix[k, i] = matrix[i, k]


@by_record
def take_estimate(model: Any, arm: int, out: FloatArray) -> None:
    """out = the estimate, as the coefficients of the model's rows."""


@by_record
def keep_estimate(model: Any, arm: int, point: FloatArray) -> None:
    """Make coefficients of the model's rows the arm's estimate."""


@by_record
def penalise(model: Any, arm: int, point: FloatArray, weight: float) -> None:
    """Take the ridge's penalty off the gradient and the second derivatives at a point."""


@by_record
def penalised(model: Any, arm: int, point: FloatArray, weight: float, value: float) -> float:
    """ℓ at a point, less the ridge's penalty there."""
    raise NotImplementedError


@kernel_for(take_estimate, GeneralizedLinear)
@inline_kernel
def _take_estimate(model: GeneralizedLinear, arm: int, out: FloatArray) -> None:
    copy(model.estimate[arm], out)


@kernel_for(keep_estimate, GeneralizedLinear)
@inline_kernel
def _keep_estimate(model: GeneralizedLinear, arm: int, point: FloatArray) -> None:
    copy(point, model.estimate[arm])


@kernel
def own_penalty(model: GeneralizedLinear, arm: int, i: int, weight: float) -> float:
    """The penalty on feature i, of rule 1: by the arm's own mean square."""
    mean_square = model.squares[arm, i] / model.linear.pulls[arm]
    return weight * (mean_square if mean_square > 0.0 else 1.0)


@kernel_for(penalise, GeneralizedLinear)
@kernel
def _penalise(model: GeneralizedLinear, arm: int, point: FloatArray, weight: float) -> None:
    for i in range(point.shape[0]):
        penalty = own_penalty(model, arm, i, weight)
        model.gradient[i] -= penalty * point[i]
        model.hessian[i, i] += penalty


@kernel_for(penalised, GeneralizedLinear)
@kernel
def _penalised(
    model: GeneralizedLinear, arm: int, point: FloatArray, weight: float, value: float
) -> float:
    for i in range(point.shape[0]):
        value -= 0.5 * own_penalty(model, arm, i, weight) * point[i] * point[i]
    return value


@kernel
def evaluate(model: GeneralizedLinear, arm: int, point: FloatArray, weight: float) -> None:
    """Gradient and minus the second derivatives of ℓ, less the ridge's penalty, at a point."""
    gradient, matrix = model.gradient, model.hessian
    folded, slopes = model.folded_curvature[arm], model.folded_gradient[arm]
    for i in range(point.shape[0]):
        gradient[i] = slopes[i] - inner(folded[i], point)
        copy(folded[i], matrix[i])
    if weight > 0.0:
        penalise(model, arm, point, weight)
    block = model.first_block[arm]
    for _ in range(model.n_blocks[arm]):
        differentiate(model, block, point)
        accumulate(model, block, gradient, matrix)
        block = model.next_block[block]
    mirror(matrix)


@kernel
def objective(model: GeneralizedLinear, arm: int, point: FloatArray, weight: float) -> float:
    """ℓ, less the ridge's penalty, at a point."""
    folded = model.folded_curvature[arm]
    total = inner(model.folded_gradient[arm], point) - 0.5 * quadratic(folded, point)
    if weight > 0.0:
        total = penalised(model, arm, point, weight, total)
    z = model.predictors
    block = model.first_block[arm]
    for _ in range(model.n_blocks[arm]):
        predict_block(model.features[block], point, z)
        for j in range(rows_in(model, arm, block)):
            total += log_likelihood(model.link, z[j], model.rewards[block, j])
        block = model.next_block[block]
    return total


@inline_kernel
def rows_in(model: GeneralizedLinear, arm: int, block: int) -> int:
    """How many rows an arm's block has."""
    last: bool = block == model.last_block[arm]
    return int(model.filled[arm]) if last else BLOCK
