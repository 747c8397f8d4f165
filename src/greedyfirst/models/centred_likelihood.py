r"""Maximum likelihood whose ridge is about the features' means: rule 2 of such models.

Until an arm's maximum likelihood estimate exists, its estimate maximises
:math:`\ell(\beta) - \beta^\top Q\beta/(2\cdot 2.5^2)`, where

.. math:: Q = \bar x\bar x^\top + V - \frac{Vww^\top V}{w^\top Vw}

is that of linear rewards (:mod:`greedyfirst.models.learned_prior`): :math:`\bar x` the mean and V
the diagonal of the variances of all arms' features, w the constant among them, x'w = 1. A prior
of standard deviation 2.5 for the linear predictor at the mean context, and for each feature's
effect per standard deviation: no unit matters, and beside an intercept, or dummies, no shift of a
feature. Without a constant Q is the diagonal of the mean squares. Q is learned again whenever the
rewards have grown by ``GROWTH``, and when a feature varies for the first time. A feature that has
had one value so far has no effect.

Rows are contexts less the features' origins (:mod:`greedyfirst.models.centring`), so that Newton's
method and the proof that the maximum exists lose no digits where features are far from 0. Estimates
are for contexts; inverses, directions and folded rows are for rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for, kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, flag, floats, integer, number, part
from greedyfirst.compiling.routines import routine
from greedyfirst.models import centring, least_squares, posterior
from greedyfirst.models.centring import Centring
from greedyfirst.models.generalized_linear import (
    LINEAR_WARMUP,
    RIDGE,
    adopt,
    follow,
    init_first_rule,
    observe,
    penalise_arm,
    spans,
    wait,
)
from greedyfirst.models.learned_prior import (
    GROWTH,
    NO_VARIANCE,
    find_constant,
    learn_shape,
)
from greedyfirst.models.likelihood import (
    PENALTY,
    GeneralizedLinear,
    evaluate,
    keep_estimate,
    penalise,
    penalised,
    predict_block,
    take_estimate,
)
from greedyfirst.models.linear_part import FIRST_RULE
from greedyfirst.models.newton import zero
from greedyfirst.models.row_blocks import blocks_for, store
from greedyfirst.models.separation import conditioned
from greedyfirst.numerics.matrices import add_outer, invert, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import BoolArray, FloatArray

#: Linear predictors that differ by less are equal: Newton's method ends well below.
ROUNDING = 1e-8


class FeaturePrior(Record):
    """What all arms' rows say of the features: Q, and what it is learned from."""

    #: The constant and the origins.
    centring: Centring = part()
    #: All rows seen, those at which Q was learned, and at which it is learned again.
    rewards: int = integer()
    learned_at: int = integer()
    learn_at: int = integer()
    #: 1 for features that have had no value but 0 and one more, as dummies have; and that value.
    dummy: FloatArray = floats("d")
    dummy_value: FloatArray = floats("d")
    #: Whether dummies are the constant, w, and the mean context but for the other features.
    categories: bool = flag()
    direction: FloatArray = floats("d")
    average: FloatArray = floats("d")
    #: Σx and Σxx' of all rows.
    total: FloatArray = floats("d")
    pooled: FloatArray = floats("d", "d")
    #: Q, Q⁻¹, the roots of Q's diagonal, and log det Q in these units.
    shape: FloatArray = floats("d", "d")
    shape_inverse: FloatArray = floats("d", "d")
    units: FloatArray = floats("d")
    log_shape: float = number()
    # Scratch.
    means: FloatArray = floats("d")
    variances: FloatArray = floats("d")
    gain: FloatArray = floats("d")
    change: FloatArray = floats("d")
    matrix: FloatArray = floats("d", "d")
    other_matrix: FloatArray = floats("d", "d")

    @property
    def there(self) -> FloatArray:
        """The matrix (d, d) that makes rows of contexts."""
        return self.centring.there


class CentredLikelihood(GeneralizedLinear):
    """Rows and estimates of all arms under a link, with a ridge about the features' means."""

    prior: FeaturePrior = part()

    @property
    def there(self) -> FloatArray:
        """The matrix (d, d) that makes rows of contexts."""
        return self.prior.there

    @property
    def back(self) -> FloatArray:
        """The matrix (d, d) that makes contexts of rows."""
        return self.prior.centring.back

    @property
    def precisions(self) -> FloatArray:
        """The curvature of each arm's likelihood (n_arms + 1, d, d), of rows; the last is Q's."""
        prior = PENALTY * self.prior.shape
        known = zip(self.inverse, self.pulls, strict=True)
        usable = (each if n and each.any() else None for each, n in known)
        arms = (prior if each is None else np.linalg.inv(each) for each in usable)
        return np.stack([*arms, prior])


def init(
    memory: Memory, n_arms: int, d: int, link: Any, window_rows: int, rule: int
) -> GeneralizedLinear:
    """The state before the first row; ``window_rows`` per arm are kept, 0 for all."""
    if rule == FIRST_RULE:
        return init_first_rule(memory, n_arms, d, link, window_rows)
    window, pool = blocks_for(window_rows, memory.rows, n_arms)
    linear = least_squares.init(memory, n_arms, d)
    prior = FeaturePrior(memory, centring=Centring(memory, d=d), d=d)
    model = CentredLikelihood(
        memory, link=link, linear=linear, prior=prior, n_arms=n_arms, d=d, pool=pool
    )
    model.window = window
    prior.shape[:] = np.eye(d)
    prior.units[:] = 1.0
    prior.dummy[:] = 1.0
    prior.centring.column = -1
    prior.centring.moved = True
    return model


@kernel_for(observe, CentredLikelihood)
@inline_kernel
def _observe(model: CentredLikelihood, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    observe_centred(model, warmup, arm, x, y)


@routine(CentredLikelihood)
def observe_centred(
    model: CentredLikelihood, warmup: int, arm: int, x: FloatArray, y: float
) -> None:
    """Take in one row and find the new estimate: O(nd²) for n rows kept, now and then O(Knd²)."""
    about = model.prior.centring
    least_squares.observe(model.linear, LINEAR_WARMUP, arm, x, y)
    news = take_news(model, x)
    store(model, arm, centring.row_of(about, x, about.row), y)
    if take_features(model, x) or news:
        learn(model, warmup, arm, news)
    row = centring.row_of(about, x, about.row)
    if model.exists[arm]:
        follow(model, arm, row, y)
    else:
        wait(model, warmup, arm, row, y)


@kernel
def take_news(model: CentredLikelihood, x: FloatArray) -> bool:
    """Let the features vary that vary in x; whether any does that has not."""
    about = model.prior.centring
    if model.prior.rewards == 0:
        centring.begin(about, x)
        return True
    if not centring.is_new(about, x):
        return False
    centring.take_news(about, x)
    move_rows(model)
    return True


@kernel
def take_features(model: CentredLikelihood, x: FloatArray) -> bool:
    """Add a context to what Q is learned from; whether that is due."""
    prior = model.prior
    row = centring.row_of(prior.centring, x, prior.centring.row)
    add_multiple(prior.total, 1.0, row)
    add_outer(prior.pooled, row, 1.0)
    for j in range(x.shape[0]):
        if prior.dummy_value[j] == 0.0:
            prior.dummy_value[j] = x[j]
        elif x[j] != 0.0 and x[j] != prior.dummy_value[j]:
            prior.dummy[j] = 0.0
    prior.rewards += 1
    return bool(prior.rewards >= prior.learn_at)


# ------------------------------------------------------------------------------------------ Q


def take_all_features(model: CentredLikelihood, contexts: FloatArray) -> None:
    """Add contexts (n, d) to what Q is learned from, which it is not yet; for an entry."""
    for row in range(contexts.shape[0]):
        news = take_news(model, contexts[row])
        if take_features(model, contexts[row]) or news:
            learn_features(model)


def add_features(model: CentredLikelihood, rows: int, total: FloatArray, gram: FloatArray) -> None:
    """Add the sums of many contexts, none of which has a feature vary anew."""
    prior = model.prior
    prior.rewards += rows
    prior.total += prior.there @ total
    prior.pooled += prior.there @ gram @ prior.there.T


def learn_from_all(model: CentredLikelihood, warmup: int, others: BoolArray) -> None:
    """Learn origins and Q from all rows seen, and the estimates of the arms in ``others``."""
    run(entry_for(_learn_from_all, model), model, warmup, others)


def _learn_from_all(model: CentredLikelihood, warmup: int, others: BoolArray) -> None:
    learn_features(model)
    for arm in range(others.shape[0]):
        if others[arm]:
            refit(model, warmup, arm)


@kernel
def learn(model: CentredLikelihood, warmup: int, newest: int, news: bool) -> None:
    """Learn Q, and the estimates that rest on it; ``newest`` is the arm that has a new row."""
    moved = learn_features(model) or news
    for arm in range(model.estimate.shape[0]):
        if model.exists[arm]:
            if moved:
                adopt(model, arm)
        elif arm != newest:
            refit(model, warmup, arm)


@kernel
def refit(model: CentredLikelihood, warmup: int, arm: int) -> None:
    """Compute an arm's estimate again."""
    if model.exists[arm]:
        adopt(model, arm)
    elif warmup == RIDGE and model.linear.pulls[arm] > 0:
        penalise_arm(model, arm)


@kernel
def learn_features(model: CentredLikelihood) -> bool:
    """Learn origins and Q; whether rows have become other numbers."""
    prior = model.prior
    prior.learned_at = prior.rewards
    prior.learn_at = prior.rewards + 1 + int(GROWTH * prior.rewards)
    summarise(prior)
    # While rows are few a feature that is none may fit 1 by chance: dummies go first.
    known = find_constant(prior, prior.dummy)
    prior.categories = known and prior.centring.column < 0
    if not known:
        known = find_constant(prior, prior.centring.active)
    moved = centring.plan_origins(prior.centring, prior.means, prior.variances)
    if moved:
        move_rows(model)
        summarise(prior)
    learn_shape(prior, known)
    for i in range(prior.means.shape[0]):
        constant = prior.direction[i] != 0.0
        prior.average[i] = prior.means[i] if constant else 0.0
        prior.categories = prior.categories and not (constant and prior.dummy[i] == 0.0)
    return moved


@kernel
def summarise(prior: FeaturePrior) -> None:
    """The rows' means and variances."""
    for i in range(prior.means.shape[0]):
        prior.means[i] = prior.total[i] / prior.rewards
        square = prior.pooled[i, i] / prior.rewards
        variance = square - prior.means[i] * prior.means[i]
        fixed = centring.is_fixed(prior.centring, i)
        prior.variances[i] = 0.0 if fixed else max(variance, NO_VARIANCE * square)


@kernel
def move_rows(model: CentredLikelihood) -> None:
    """Take all rows to the new origins: each moves by ``shift``, since x'w was 1 in it."""
    prior, shift, w = model.prior, model.prior.centring.shift, model.prior.centring.before
    along, levels = prior.gain, model.predictors
    if not inner(shift, shift) > 0.0:
        return
    move_matrix(prior.pooled, shift, w, along)
    add_multiple(prior.total, inner(prior.total, w), shift)
    for arm in range(model.estimate.shape[0]):
        model.separated[arm] = False
        move_matrix(model.folded_curvature[arm], shift, w, along)
        slopes = model.folded_gradient[arm]
        add_multiple(slopes, inner(slopes, w), shift)
        block = model.first_block[arm]
        for _ in range(model.n_blocks[arm]):
            features = model.features[block]
            predict_block(features, w, levels)
            for i in range(shift.shape[0]):
                add_multiple(features[i], shift[i], levels)
            block = model.next_block[block]


@kernel
def move_matrix(matrix: FloatArray, shift: FloatArray, w: FloatArray, along: FloatArray) -> None:
    """Σc·xx' of rows that move by ``shift``·x'w."""
    for i in range(shift.shape[0]):
        along[i] = inner(matrix[i], w)
    count = inner(along, w)
    for i in range(shift.shape[0]):
        add_multiple(matrix[i], shift[i], along)
        add_multiple(matrix[i], along[i] + count * shift[i], shift)


# ----------------------------------------------------------- what estimates ask of their model


@kernel_for(take_estimate, CentredLikelihood)
@kernel
def _take_estimate(model: CentredLikelihood, arm: int, out: FloatArray) -> None:
    about = model.prior.centring
    copy(model.estimate[arm], out)
    add_multiple(out, inner(about.origin, out), about.constant)


@kernel_for(keep_estimate, CentredLikelihood)
@kernel
def _keep_estimate(model: CentredLikelihood, arm: int, point: FloatArray) -> None:
    about, estimate = model.prior.centring, model.estimate[arm]
    for i in range(point.shape[0]):
        estimate[i] = about.active[i] * point[i]
    add_multiple(estimate, -inner(about.origin, estimate), about.constant)


@kernel_for(penalise, CentredLikelihood)
@kernel
def _penalise(model: CentredLikelihood, arm: int, point: FloatArray, weight: float) -> None:
    shape = model.prior.shape
    for i in range(point.shape[0]):
        model.gradient[i] -= weight * inner(shape[i], point)
        add_multiple(model.hessian[i], weight, shape[i])


@kernel_for(penalised, CentredLikelihood)
@kernel
def _penalised(
    model: CentredLikelihood, arm: int, point: FloatArray, weight: float, value: float
) -> float:
    return value - 0.5 * weight * quadratic(model.prior.shape, point)


@kernel_for(spans, CentredLikelihood)
@kernel
def _spans(model: CentredLikelihood, arm: int) -> bool:
    """By the curvature at β = 0, as far from singular as the proof of existence needs."""
    zero(model.point)
    evaluate(model, arm, model.point, 0.0)
    regular = invert(model.hessian, model.squared, model.trial)
    return bool(regular and conditioned(model.hessian, model.squared))


# ------------------------------------------------------------------------ as policies ask for it


@kernel_for(posterior.prepare, CentredLikelihood)
@inline_kernel
def _prepare(model: CentredLikelihood, x: FloatArray) -> None:
    prior = model.prior
    centring.prepare(prior.centring, x)
    if prior.categories or prior.centring.stands_in:
        meet_category(prior, x)


@kernel
def meet_category(prior: FeaturePrior, x: FloatArray) -> None:
    """Let a context of a category that is new stand for the average of the known ones."""
    about = prior.centring
    column, missing = about.column, 1.0
    if column < 0:
        missing -= inner(prior.direction, x)
        if abs(missing) <= centring.ROUNDING:
            return
    elif x[column] != 0.0 or not has_new_dummy(about, x):
        return
    copy(x, about.context)
    add_multiple(about.context, missing, prior.average)
    about.stands_in = True
    if about.moved:
        centring.place(about, about.context, about.row)


@kernel
def has_new_dummy(about: Centring, x: FloatArray) -> bool:
    """Whether a feature is not 0 that has always been."""
    for j in range(x.shape[0]):
        if about.active[j] == 0.0 and about.first[j] == 0.0 and x[j] != 0.0:
            return True
    return False


@kernel_for(posterior.rounding, CentredLikelihood)
@inline_kernel
def _rounding(model: CentredLikelihood) -> float:
    return ROUNDING


@kernel_for(posterior.mean, CentredLikelihood)
@inline_kernel
def _mean(model: CentredLikelihood, arm: int, x: FloatArray) -> float:
    about = model.prior.centring
    return inner(model.estimate[arm], about.context if about.stands_in else x)


@kernel_for(posterior.form, CentredLikelihood)
@inline_kernel
def _form(model: CentredLikelihood, matrix: FloatArray, x: FloatArray) -> float:
    about = model.prior.centring
    row = about.context if about.stands_in else x
    return max(quadratic(matrix, about.row if about.moved else row), 0.0)


@kernel_for(posterior.arm_scale, CentredLikelihood)
@inline_kernel
def _arm_scale(model: CentredLikelihood, arm: int) -> float:
    return 1.0


@kernel_for(posterior.scale_rows, CentredLikelihood)
@inline_kernel
def _scale_rows(model: CentredLikelihood, arm: int) -> float:
    return np.inf


@kernel_for(posterior.variance, CentredLikelihood)
@inline_kernel
def _variance(model: CentredLikelihood, arm: int, x: FloatArray) -> float:
    """By the likelihood's curvature; of an arm without rows by the ridge's prior alone."""
    if model.linear.pulls[arm] > 0:
        return _form(model, model.inverse[arm], x)
    return _form(model, model.prior.shape_inverse, x) / PENALTY


@kernel_for(posterior.noise_scale, CentredLikelihood)
@inline_kernel
def _noise_scale(model: CentredLikelihood, sigma: float) -> float:
    return 1.0
