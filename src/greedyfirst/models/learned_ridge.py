r"""Ridge regression per arm whose prior is learned from all arms' rewards.

What the prior is, and how it is learned, is in :mod:`greedyfirst.models.learned_prior`. That is
done again whenever the rewards have grown by ``GROWTH``, at a feature's first value other than 0,
and at the first reward that is not like all others; in between each row is a rank-one update,
O(d²), as in :mod:`greedyfirst.models.least_squares`.

A penalty that is given is the plain ridge: b = 0, D = I, κ the penalty.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.compiling.families import kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.compiling.routines import routine
from greedyfirst.models import posterior
from greedyfirst.models.learned_prior import (
    ALIKE,
    FIRST_STEP,
    PENALTIES,
    LearnedRidge,
    learn_prior,
    refresh,
)
from greedyfirst.models.least_squares import BLOCK, is_stale, settle
from greedyfirst.numerics.matrices import add_outer, multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray


def init(memory: Memory, n_arms: int, d: int, penalty: float) -> LearnedRidge:
    """The state before the first row; a ``penalty`` of 0 is learned."""
    model = LearnedRidge(memory, n_arms=n_arms, d=d)
    model.growth[:] = 1.0
    model.given = penalty > 0.0
    model.blank = d
    model.step = FIRST_STEP
    model.penalty = penalty if penalty > 0.0 else d * PENALTIES[FIRST_STEP]
    model.mean_squares[:] = model.units[:] = 1.0
    for i in range(d):
        model.covariance[:, i, i] = 1.0 / model.penalty
    return model


def admit(model: LearnedRidge, arm: int) -> None:
    """Start an arm that joins later from the prior."""
    model.estimate[arm] = model.reference
    np.fill_diagonal(model.covariance[arm], 1.0 / (model.penalty * model.mean_squares))


@routine(LearnedRidge)
def observe(model: LearnedRidge, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row: O(d²), and now and then the prior."""
    v, estimate = model.gain, model.estimate[arm]
    s = 1.0 + multiply(model.covariance[arm], x, v)
    error = y - inner(estimate, x)
    excess = y - inner(model.reference, x)
    add_multiple(model.total[arm], 1.0, x)
    add_multiple(model.moment[arm], excess, x)
    model.squares[arm] += excess * excess
    place = model.waiting[arm]
    copy(x, model.rows[arm, place])
    model.pulls[arm] += 1
    model.waiting[arm] = place + 1
    if place == BLOCK - 1:
        settle(model, arm)
    add_multiple(estimate, error / s, v)
    add_outer(model.covariance[arm], v, -1.0 / s)
    model.growth[arm] *= s
    model.rewards += 1
    surprise = model.noise_variance == 0.0 and excess * excess > ALIKE * y * y
    if model.rewards >= model.learn_at or surprise or (model.blank > 0 and shows_more(model, x)):
        learn_prior(model)
    elif is_stale(model, arm):
        settle(model, arm)
        refresh(model, arm)


@kernel
def shows_more(model: LearnedRidge, x: FloatArray) -> bool:
    """Whether a feature is not 0 here that was 0 in every row when the prior was learned."""
    more = 0
    for i in range(x.shape[0]):
        if x[i] != 0.0 and model.pooled[i, i] == 0.0:
            more += 1
    return more > 0 and not model.given


# ------------------------------------------------------------------------ as policies ask for it


@kernel_for(posterior.observe, LearnedRidge)
@inline_kernel
def _observe(model: LearnedRidge, arm: int, x: FloatArray, y: float, noise_variance: float) -> None:
    observe(model, arm, x, y)


@kernel_for(posterior.variance, LearnedRidge)
@inline_kernel
def _variance(model: LearnedRidge, arm: int, x: FloatArray) -> float:
    return max(quadratic(model.covariance[arm], x), 0.0)


@kernel_for(posterior.noise_scale, LearnedRidge)
@inline_kernel
def _noise_scale(model: LearnedRidge, sigma: float) -> float:
    return sigma if sigma >= 0.0 else math.sqrt(model.noise_variance)


@kernel_for(posterior.penalty, LearnedRidge)
@inline_kernel
def _penalty(model: LearnedRidge, given: float) -> float:
    return model.penalty


@kernel_for(posterior.length, LearnedRidge)
@inline_kernel
def _length(model: LearnedRidge, x: FloatArray) -> float:
    squared = 0.0
    for i in range(x.shape[0]):
        squared += x[i] * x[i] / model.mean_squares[i]
    return math.sqrt(squared)


@kernel_for(posterior.distance, LearnedRidge)
@inline_kernel
def _distance(model: LearnedRidge) -> float:
    squared = 0.0
    for arm in range(model.estimate.shape[0]):
        for i in range(model.reference.shape[0]):
            rise = model.estimate[arm, i] - model.reference[i]
            squared += model.mean_squares[i] * rise * rise
    return math.sqrt(squared)
