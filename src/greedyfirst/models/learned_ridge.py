r"""Ridge regression per arm whose prior is learned from all arms' rewards.

What the prior is, and how it is learned, is in :mod:`greedyfirst.models.learned_prior`. That is
done again whenever the rewards, or the squares of their noise, have grown by ``GROWTH``, when a
feature varies for the first time, and at the first reward that is not like all others; in between
each row is a rank-one update, O(d²), as in :mod:`greedyfirst.models.least_squares`.

A penalty that is given is the plain ridge: b = 0, Q = I, κ the penalty.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.compiling.families import kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.compiling.routines import routine
from greedyfirst.models import centring, posterior
from greedyfirst.models.centring import Centring
from greedyfirst.models.learned_prior import (
    ALIKE,
    FIRST_STEP,
    GROWTH,
    LOUDER_ROWS,
    MARGIN,
    PENALTIES,
    LearnedRidge,
    learn_level,
    learn_prior,
    rebase,
    refresh,
)
from greedyfirst.models.least_squares import BLOCK, is_stale, settle
from greedyfirst.numerics.matrices import add_outer, multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray

#: Expected rewards that differ by less than this share of the noise's scale are equal.
ROUNDING = 1e-9


def init(memory: Memory, n_arms: int, d: int, penalty: float) -> LearnedRidge:
    """The state before the first row; a ``penalty`` of 0 is learned."""
    about = Centring(memory, d=d)
    model = LearnedRidge(memory, centring=about, n_arms=n_arms, d=d)
    model.growth[:] = 1.0
    model.given = penalty > 0.0
    model.step = FIRST_STEP
    model.penalty = penalty if model.given else d * PENALTIES[FIRST_STEP]
    model.shape[:] = np.eye(d)
    model.units[:] = 1.0
    about.column = -1
    about.moved = not model.given
    if model.given:  # all features count, as they are
        about.active[:] = 1.0
        model.shape_inverse[:] = np.eye(d)
        model.inverse[:] = np.eye(d) / penalty
    return model


def admit(model: LearnedRidge, arm: int) -> None:
    """Start an arm that joins later from the prior."""
    model.estimate[arm] = model.reference
    model.inverse[arm] = model.shape_inverse / model.penalty
    model.scale[arm] = math.sqrt(model.noise_variance)


@routine(LearnedRidge)
def observe(model: LearnedRidge, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row: O(d²), and now and then the prior."""
    fresh = is_first_or_new(model, x)
    row = centring.row_of(model.centring, x, model.centring.row)
    v, estimate = model.gain, model.estimate[arm]
    s = 1.0 + multiply(model.inverse[arm], row, v)
    error = y - inner(estimate, x)
    excess = y - inner(model.reference, x)
    add_multiple(model.total[arm], 1.0, row)
    add_multiple(model.moment[arm], excess, row)
    model.squares[arm] += excess * excess
    place = model.waiting[arm]
    copy(row, model.rows[arm, place])
    model.pulls[arm] += 1
    model.waiting[arm] = place + 1
    if place == BLOCK - 1:
        settle(model, arm)
    add_multiple(estimate, error / s, v)
    if model.centring.moved:
        away = -error / s * inner(model.centring.origin, v)
        add_multiple(estimate, away, model.centring.constant)
    add_outer(model.inverse[arm], v, -1.0 / s)
    model.growth[arm] *= s
    model.rewards += 1
    few = GROWTH * model.spread if model.noise_variance > 0.0 else ALIKE * y * y
    surprise = excess * excess > few * (1.0 + MARGIN)
    if model.rewards >= model.learn_at or surprise or fresh:
        learn_prior(model)
    elif is_no_constant(model, x):
        learn_level(model)
    elif is_stale(model, arm):
        settle(model, arm)
        refresh(model, arm)


@inline_kernel
def is_first_or_new(model: LearnedRidge, x: FloatArray) -> bool:
    """Whether the features tell something new; the sums are brought to the new origins."""
    if model.given:
        return False
    if model.rewards == 0:
        centring.begin(model.centring, x)
        return True
    if centring.is_new(model.centring, x):
        widen(model, x)
        return True
    return False


@inline_kernel
def is_no_constant(model: LearnedRidge, x: FloatArray) -> bool:
    """Whether x'w was 1 in all rows and is not in x: the level's part must not stay in the sums."""
    return bool(model.fits and abs(inner(model.direction, x) - 1.0) > centring.ROUNDING)


@kernel
def widen(model: LearnedRidge, x: FloatArray) -> None:
    """Let the features vary that vary in x."""
    column = model.centring.column
    centring.take_news(model.centring, x)
    rebase(model)
    if model.centring.column not in (column, -1):  # another column is the constant now
        for i in range(x.shape[0]):
            model.reference[i] = model.level * model.centring.constant[i]


# ------------------------------------------------------------------------ as policies ask for it


@kernel_for(posterior.observe, LearnedRidge)
@inline_kernel
def _observe(model: LearnedRidge, arm: int, x: FloatArray, y: float, noise_variance: float) -> None:
    observe(model, arm, x, y)


@kernel_for(posterior.prepare, LearnedRidge)
@inline_kernel
def _prepare(model: LearnedRidge, x: FloatArray) -> None:
    centring.prepare(model.centring, x)


@kernel_for(posterior.rounding, LearnedRidge)
@inline_kernel
def _rounding(model: LearnedRidge) -> float:
    if model.noise_variance == 0.0:  # all rewards are alike
        return ROUNDING * abs(model.level)
    return ROUNDING * math.sqrt(model.noise_variance)


@kernel_for(posterior.mean, LearnedRidge)
@inline_kernel
def _mean(model: LearnedRidge, arm: int, x: FloatArray) -> float:
    if model.centring.stands_in:
        return inner(model.estimate[arm], model.centring.context)
    return inner(model.estimate[arm], x)


@kernel_for(posterior.form, LearnedRidge)
@inline_kernel
def _form(model: LearnedRidge, matrix: FloatArray, x: FloatArray) -> float:
    if model.centring.moved:
        return max(quadratic(matrix, model.centring.row), 0.0)
    return max(quadratic(matrix, x), 0.0)


@kernel_for(posterior.variance, LearnedRidge)
@inline_kernel
def _variance(model: LearnedRidge, arm: int, x: FloatArray) -> float:
    return _form(model, model.inverse[arm], x)


@kernel_for(posterior.noise_scale, LearnedRidge)
@inline_kernel
def _noise_scale(model: LearnedRidge, sigma: float) -> float:
    return sigma if sigma >= 0.0 else math.sqrt(model.noise_variance)


@kernel_for(posterior.arm_scale, LearnedRidge)
@inline_kernel
def _arm_scale(model: LearnedRidge, arm: int) -> float:
    return float(model.scale[arm])


@kernel_for(posterior.scale_rows, LearnedRidge)
@inline_kernel
def _scale_rows(model: LearnedRidge, arm: int) -> float:
    return float(LOUDER_ROWS + model.pulls[arm])


@kernel_for(posterior.penalty, LearnedRidge)
@inline_kernel
def _penalty(model: LearnedRidge, given: float) -> float:
    return model.penalty


@kernel_for(posterior.length, LearnedRidge)
@inline_kernel
def _length(model: LearnedRidge, x: FloatArray) -> float:
    return math.sqrt(_form(model, model.shape_inverse, x))


@kernel_for(posterior.distance, LearnedRidge)
@kernel
def _distance(model: LearnedRidge) -> float:
    rise, about = model.change, model.centring
    squared = 0.0
    for arm in range(model.estimate.shape[0]):
        copy(model.estimate[arm], rise)
        add_multiple(rise, inner(about.origin, rise), about.constant)
        add_multiple(rise, -1.0, model.reference)
        squared += max(quadratic(model.shape, rise), 0.0)
    return math.sqrt(squared)
