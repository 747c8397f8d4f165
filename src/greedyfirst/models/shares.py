r"""How much of all that is known each arm holds, direction by direction.

.. math:: s_i(x) = \frac{x^\top P_0x}{x^\top P_ix}, \quad
          P_0 = \left(\sum_j G_j + \kappa Q\right)^{-1}, \quad P_i = (G_i + \kappa Q)^{-1} :

arm i's part of all information about people like x, 0 to 1; the sum is over the arms that are not
dropped, and the prior is in both terms. Without contexts it is the arm's part of all rewards. P₀ is
computed when the prior is learned, which is whenever the rewards have grown by 30 % or more; the
P_i are those of now, so that shares only grow in between.

An arm **holds its share** θ in every direction where :math:`G_i + \kappa Q - \theta(\sum_j G_j +
\kappa Q)` is positive definite, which one Cholesky factorisation tells: then no share of it is
below θ anywhere, until P₀ is computed again.
"""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.families import by_record, kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Record, floats, integer
from greedyfirst.models import learned_prior
from greedyfirst.models.centred_likelihood import CentredLikelihood
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import settle
from greedyfirst.models.likelihood import PENALTY, GeneralizedLinear
from greedyfirst.numerics.matrices import cholesky, invert
from greedyfirst.numerics.vectors import add_multiple, copy
from greedyfirst.validation import BoolArray, FloatArray

#: Where a model does not say when its prior was learned, P₀ is computed again when the rewards have
#: grown by this share.
GROWTH = learned_prior.GROWTH


class Shares(Record):
    """What all arms know together."""

    #: ΣG + κQ, and P₀.
    pooled: FloatArray = floats("d", "d")
    inverse: FloatArray = floats("d", "d")
    #: How many arms that is of, the rewards at which it was computed, and at which it is again.
    arms: int = integer()
    looked_at: int = integer()
    look_at: int = integer()
    # Scratch: an arm's precision, a factor, a vector.
    matrix: FloatArray = floats("d", "d")
    factor: FloatArray = floats("d", "d")
    scale: FloatArray = floats("d")


@by_record
def precision(model: Any, arm: int, out: FloatArray) -> None:
    """out = P⁻¹ of an arm; of the prior alone for an arm of -1."""


@by_record
def learned_at(model: Any) -> int:
    """The rewards at which the prior was learned last; 0 where it is not learned."""
    raise NotImplementedError


@kernel_for(precision, LearnedRidge)
@kernel
def _precision(model: LearnedRidge, arm: int, out: FloatArray) -> None:
    if arm >= 0:
        settle(model, arm)
        learned_prior.precision(model, arm, out)
        return
    for i in range(out.shape[0]):
        for j in range(out.shape[0]):
            out[i, j] = model.penalty * model.shape[i, j]


@kernel_for(learned_at, LearnedRidge)
@inline_kernel
def _learned_at(model: LearnedRidge) -> int:
    return model.learned_at


@kernel_for(precision, GeneralizedLinear)
@kernel
def _precision_of_likelihood(model: GeneralizedLinear, arm: int, out: FloatArray) -> None:
    """By the likelihood's curvature; of an arm without rows by the ridge's prior alone."""
    if arm >= 0 and model.linear.pulls[arm] > 0 and invert(model.inverse[arm], out, model.gradient):
        return
    rows = 0
    for other in range(model.squares.shape[0]):
        rows += model.linear.pulls[other]
    for i in range(out.shape[0]):
        squares = 0.0
        for other in range(model.squares.shape[0]):
            squares += model.squares[other, i]
        for j in range(out.shape[0]):
            out[i, j] = 0.0
        out[i, i] = PENALTY * squares / rows if squares > 0.0 else PENALTY


@kernel_for(precision, CentredLikelihood)
@kernel
def _precision_of_rows(model: CentredLikelihood, arm: int, out: FloatArray) -> None:
    if arm >= 0 and model.linear.pulls[arm] > 0 and invert(model.inverse[arm], out, model.gradient):
        return
    for i in range(out.shape[0]):
        for j in range(out.shape[0]):
            out[i, j] = PENALTY * model.prior.shape[i, j]


@kernel_for(learned_at, CentredLikelihood)
@inline_kernel
def _features_learned_at(model: CentredLikelihood) -> int:
    return model.prior.learned_at


@kernel_for(learned_at, GeneralizedLinear)
@inline_kernel
def _never(model: GeneralizedLinear) -> int:
    return 0


@inline_kernel
def is_stale(shares: Shares, model: Any, clock: int) -> bool:
    """Whether P₀ must be computed again after this many rewards."""
    return bool(clock >= shares.look_at or learned_at(model) > shares.looked_at)


@kernel
def look(shares: Shares, model: Any, dropped: BoolArray, clock: int) -> None:
    """Compute what all arms know together: O(Kd²) and O(d³)."""
    pooled, matrix = shares.pooled, shares.matrix
    d = pooled.shape[0]
    shares.looked_at = clock
    shares.look_at = clock + 1 + int(GROWTH * clock)
    shares.arms = 0
    precision(model, -1, shares.factor)
    for i in range(d):
        copy(shares.factor[i], pooled[i])
    for arm in range(dropped.shape[0]):
        if not dropped[arm]:
            shares.arms += 1
            precision(model, arm, matrix)
            for i in range(d):
                add_multiple(pooled[i], 1.0, matrix[i])
                add_multiple(pooled[i], -1.0, shares.factor[i])
    if not invert(pooled, shares.inverse, shares.scale):
        for i in range(d):
            for j in range(d):
                shares.inverse[i, j] = 0.0


@kernel
def holds_share(shares: Shares, model: Any, arm: int, share: float) -> bool:
    """Whether the arm holds this share in every direction. O(d³)."""
    take_excess(shares, model, arm, share)
    return cholesky(shares.matrix, shares.factor)


@kernel
def take_excess(shares: Shares, model: Any, arm: int, share: float) -> None:
    """What the arm knows beyond this share of all, into ``matrix``, in units of what all know."""
    matrix, pooled, scale = shares.matrix, shares.pooled, shares.scale
    d = matrix.shape[0]
    precision(model, arm, matrix)
    for i in range(d):
        scale[i] = pooled[i, i] ** -0.5
    for i in range(d):
        for j in range(d):
            matrix[i, j] = (matrix[i, j] - share * pooled[i, j]) * scale[i] * scale[j]
