r"""The prior of ridge regressions, learned from all arms' rewards.

Every arm's coefficients are taken for a draw from one prior, :math:`\beta_i \sim N(b,
(\sigma^2/\kappa)Q^{-1})`, rewards for :math:`x^\top\beta_i + N(0, \sigma^2)`:

.. math:: P_i = (G_i + \kappa Q)^{-1}, \quad \hat\beta_i = b + P_i\sum x(y - x^\top b), \quad
          \operatorname{Var}(x^\top\beta_i) = \sigma^2 x^\top P_ix .

What the prior is comes from the data, so that no unit and no zero of rewards or features matters:

- Q is about the features' *means* where a linear function of the contexts is 1, x'w = 1: with
  :math:`\bar x` the mean and V the diagonal of the features' variances,

  .. math:: Q = \bar x\bar x^\top + V - \frac{Vww^\top V}{w^\top Vw},

  the last term 0 beside an intercept. A shift of a feature then moves only the constant's
  coefficient: an arm's level at the mean context, and its slopes, have the same prior as before.
  Without a constant Q is the diagonal of the features' mean squares. Features that have had one
  value so far have no part in any arm's estimate (:mod:`greedyfirst.models.centring`).
- b is what all arms have in common: the multiple of the constant that fits all rewards best, the
  constant as nearly as a linear function of the context can be one. With an intercept, or dummies,
  :math:`x^\top b` is the mean reward; an arm without rows is worth as much.
- κ is the one of ``PENALTIES`` that makes the rewards seen likeliest (the evidence of a normal
  prior), and σ² then the likeliest variance of the noise. While rewards are few, all κ are nearly
  as likely: a lognormal guess around ``GUESS``·d decides.
- The noise of an arm has a scale of its own, drawn towards σ by ``LOUDER_ROWS`` where it is louder,
  by ``QUIETER_ROWS`` where it is quieter: an arm whose rewards have all been alike is not therefore
  certain. For the scale alone the arm's level has a prior worth 1/d of a row: how far its first
  rewards are from those of all arms may be noise too, so that one bad reward condemns no arm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, flag, floats, integer, integers, number, part
from greedyfirst.models import centring
from greedyfirst.models.centring import Centring
from greedyfirst.models.least_squares import BLOCK, settle, whole_gram
from greedyfirst.numerics.matrices import cholesky, invert
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray, IntArray

#: The prior is learned again when the rewards, or their squares, have grown by this share.
GROWTH = 0.3
#: κ/d that are tried.
PENALTIES = tuple(10.0 ** (step / 2 - 3) for step in range(10))
# The guess at κ/d, its natural logarithm's standard deviation, and the nearest of those tried.
GUESS, DOUBT, FIRST_STEP = 0.02, 1.5, 3
#: Rows by which an arm's noise is drawn towards that of all arms: few where it is louder, many
#: where it is quieter, since an arm whose rewards have all been alike may yet have rare large ones.
LOUDER_ROWS, QUIETER_ROWS = 5.0, 200.0
# Added to the pooled Gram matrix, and refined away again: collinear features make it singular.
# Features far from 0 must not stand for the constant: theirs grow by this factor.
LOOSENING, REFINEMENTS, AWAY = 1e-7, 4, 1e6
# Rewards whose squares about the reference are below this share of their own are all alike.
ALIKE = 1e-14
# The constant is no function of the contexts when it has less than this share of its square, and
# is one when no more than this is left.
NO_CONSTANT = 1e-9
# Growth that is above its bound by a smaller share is rounding: 0/1 rewards often meet it exactly.
MARGIN = 1e-9
# A variance that is a smaller share of the mean square is rounding.
NO_VARIANCE = 1e-13


class LearnedRidge(Record):
    """Sufficient statistics and estimates of all arms, and their prior.

    Sums are of rows, contexts less the features' origins; estimates are for contexts.
    """

    #: Rows seen per arm; growth of det P⁻¹ since it was computed, and the rows seen then.
    pulls: IntArray = integers("n_arms")
    growth: FloatArray = floats("n_arms")
    refreshed_at: IntArray = integers("n_arms")
    #: Rows that are not yet in G, and how many there are; G but for them.
    rows: FloatArray = floats("n_arms", BLOCK, "d")
    waiting: IntArray = integers("n_arms")
    settled_gram: FloatArray = floats("n_arms", "d", "d")
    #: Σx; Σx(y - x'b) and Σ(y - x'b)².
    total: FloatArray = floats("n_arms", "d")
    moment: FloatArray = floats("n_arms", "d")
    squares: FloatArray = floats("n_arms")
    #: P of rows, and the estimate of contexts.
    inverse: FloatArray = floats("n_arms", "d", "d")
    estimate: FloatArray = floats("n_arms", "d")
    #: The constant and the origins.
    centring: Centring = part()
    #: The prior: b = level·w, Q, Q⁻¹, the roots of Q's diagonal, and log det Q in these units.
    reference: FloatArray = floats("d")
    level: float = number()
    direction: FloatArray = floats("d")  # w
    #: Whether x'w was 1 in every row when the prior was learned, w being no column of its own.
    fits: bool = flag()
    shape: FloatArray = floats("d", "d")
    shape_inverse: FloatArray = floats("d", "d")
    units: FloatArray = floats("d")
    log_shape: float = number()
    #: Σ(y - x'b)² of all rows when the prior was learned.
    spread: float = number()
    #: κ by its step and by itself, σ², the arms' own scales; whether κ was given.
    step: int = integer()
    penalty: float = number()
    noise_variance: float = number()
    scale: FloatArray = floats("n_arms")
    given: bool = flag()
    #: All rows seen, those at which the prior was learned, and at which it is learned again.
    rewards: int = integer()
    learned_at: int = integer()
    learn_at: int = integer()
    #: The sum of all G when the prior was learned.
    pooled: FloatArray = floats("d", "d")
    # Scratch.
    gain: FloatArray = floats("d")
    change: FloatArray = floats("d")
    means: FloatArray = floats("d")
    variances: FloatArray = floats("d")
    unexplained: FloatArray = floats("n_arms")
    matrix: FloatArray = floats("d", "d")
    other_matrix: FloatArray = floats("d", "d")

    @property
    def there(self) -> FloatArray:
        """The matrix (d, d) that makes rows of contexts."""
        return self.centring.there

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d) of the contexts, the waiting rows included."""
        back = self.centring.back
        gram: FloatArray = back @ whole_gram(self) @ back.T
        return gram

    @property
    def precisions(self) -> FloatArray:
        """P⁻¹ (n_arms + 1, d, d) of the rows; the last is the prior's."""
        prior = self.penalty * self.shape[None]
        precisions: FloatArray = np.concatenate([whole_gram(self) + prior, prior])
        return precisions

    @property
    def context_moment(self) -> FloatArray:
        """Σx(y - x'b) (n_arms, d) of the contexts."""
        moment: FloatArray = self.moment @ self.centring.back.T
        return moment

    @property
    def covariance(self) -> FloatArray:
        """P (n_arms, d, d) of the contexts."""
        covariance: FloatArray = self.there.T @ self.inverse @ self.there
        return covariance


@kernel
def learn_prior(model: LearnedRidge) -> None:
    """Learn the prior from all rows, and every arm's estimate under it: O(Kd³)."""
    for arm in range(model.pulls.shape[0]):
        settle(model, arm)
    model.learned_at = model.rewards
    model.learn_at = model.rewards + 1 + int(GROWTH * model.rewards)
    pool(model)
    if not model.given:
        known = find_constant(model, model.centring.active)
        model.fits = known and model.centring.column < 0
        if centring.plan_origins(model.centring, model.means, model.variances):
            rebase(model)
            pool(model)
        learn_shape(model, known)
        move_reference(model)
    learn_variances(model)
    for arm in range(model.pulls.shape[0]):
        refresh(model, arm)


@kernel
def learn_level(model: LearnedRidge) -> None:
    """Learn w, the level and every arm's estimate again, with the rest of the prior as it is."""
    for arm in range(model.pulls.shape[0]):
        settle(model, arm)
    pool(model)
    model.fits = find_constant(model, model.centring.active) and model.centring.column < 0
    move_reference(model)
    for arm in range(model.pulls.shape[0]):
        refresh(model, arm)


@kernel
def pool(model: LearnedRidge) -> None:
    """All arms' G, and the rows' means and variances."""
    n_arms, d = model.estimate.shape
    pooled = model.pooled
    for i in range(d):
        model.means[i] = 0.0
        for j in range(d):
            pooled[i, j] = 0.0
        for arm in range(n_arms):
            add_multiple(pooled[i], 1.0, model.settled_gram[arm, i])
            model.means[i] += model.total[arm, i]
        model.means[i] /= model.rewards
    for i in range(d):
        square = pooled[i, i] / model.rewards
        variance = square - model.means[i] * model.means[i]
        fixed = centring.is_fixed(model.centring, i)
        model.variances[i] = 0.0 if fixed else max(variance, NO_VARIANCE * square)


@kernel
def rebase(model: Any) -> None:
    """Take all sums to the new origins: each row moves by ``shift``, since x'w was 1 in it."""
    shift, w, along = model.centring.shift, model.centring.before, model.gain
    for arm in range(model.pulls.shape[0]):
        settle(model, arm)
        gram = model.settled_gram[arm]
        for i in range(shift.shape[0]):
            along[i] = inner(gram[i], w)
        count = inner(along, w)
        for i in range(shift.shape[0]):
            add_multiple(gram[i], shift[i], along)
            add_multiple(gram[i], along[i] + count * shift[i], shift)
        add_multiple(model.total[arm], inner(model.total[arm], w), shift)
        add_multiple(model.moment[arm], inner(model.moment[arm], w), shift)


@kernel
def find_constant(model: Any, among: FloatArray) -> bool:
    """w: the column that is the constant, else the least squares fit of 1 by the contexts.

    It is left in ``direction``. Whether it is 1 in every row. Features that are 0 in ``among`` have
    no part in the fit.
    """
    w, about = model.direction, model.centring
    copy(about.constant, w)
    if about.column >= 0:
        return True
    if centring.has_origin(about):
        return True
    pooled, complete, inverse = model.pooled, model.matrix, model.other_matrix
    sums, change = model.gain, model.change
    d = w.shape[0]
    for i in range(d):
        copy(pooled[i], complete[i])
        mean = model.means[i]
        far = mean * mean > centring.FAR**4 * model.variances[i] and model.variances[i] > 0.0
        complete[i, i] *= AWAY if far else 1.0 + LOOSENING
        if among[i] == 0.0 or not complete[i, i] > 0.0:
            complete[i, i] = 1.0
        for j in range(d):
            if i != j and among[i] * among[j] == 0.0:
                complete[i, j] = 0.0
        sums[i] = model.rewards * mean
        w[i] = 0.0
        about.constant[i] = 0.0
    if not invert(complete, inverse, change):
        return False
    for _ in range(1 + REFINEMENTS):
        for i in range(d):
            change[i] = sums[i] - inner(pooled[i], w) if among[i] > 0.0 else 0.0
        for i in range(d):
            w[i] += inner(inverse[i], change)
    left = float(model.rewards)
    for i in range(d):
        left += w[i] * (inner(pooled[i], w) - 2.0 * sums[i])
    known: bool = left <= NO_CONSTANT * model.rewards
    # Few rows are fitted by chance: origins wait.
    if known and model.rewards > 2 * d:
        drop_small(model)
        copy(w, about.constant)
    return known


@kernel
def drop_small(model: Any) -> None:
    """Coefficients of the constant that are rounding."""
    w = model.direction
    for i in range(w.shape[0]):
        if abs(w[i]) * math.sqrt(model.pooled[i, i] / model.rewards) < centring.ROUNDING:
            w[i] = 0.0


@kernel
def learn_shape(model: Any, known: bool) -> None:
    """Q, its inverse and units; features that have had one value so far are left out."""
    shape, means, variances = model.shape, model.means, model.variances
    w, weighted, active = model.direction, model.change, model.centring.active
    d = means.shape[0]
    spread = 0.0
    for i in range(d):
        weighted[i] = variances[i] * w[i]
        spread += weighted[i] * w[i]
    for i in range(d):
        for j in range(d):
            shape[i, j] = 0.0
            if known and active[i] * active[j] > 0.0:
                shape[i, j] = means[i] * means[j]
                if spread > 0.0:
                    shape[i, j] -= weighted[i] * weighted[j] / spread
        shape[i, i] += variances[i] if known else model.pooled[i, i] / model.rewards
        if active[i] == 0.0 or not shape[i, i] > 0.0:
            shape[i, i] = 1.0
        model.units[i] = math.sqrt(shape[i, i])
    if not known:  # Q is diagonal
        for i in range(d):
            for j in range(d):
                model.shape_inverse[i, j] = 0.0
            model.shape_inverse[i, i] = 1.0 / shape[i, i]
        leave_out(model, model.shape_inverse)
        model.log_shape = 0.0
        return
    if not invert(shape, model.shape_inverse, model.gain):
        for i in range(d):
            shape[i, i] *= 1.0 + LOOSENING
        invert(shape, model.shape_inverse, model.gain)
    leave_out(model, model.shape_inverse)
    for i in range(d):
        for j in range(d):
            model.matrix[i, j] = shape[i, j] / (model.units[i] * model.units[j])
    model.log_shape = 0.0
    if cholesky(model.matrix, model.other_matrix):
        for i in range(d):
            model.log_shape += 2.0 * math.log(model.other_matrix[i, i])


@kernel
def leave_out(model: Any, inverse: FloatArray) -> None:
    """No variance for features that have had one value so far."""
    active = model.centring.active
    for i in range(active.shape[0]):
        if active[i] == 0.0:
            for j in range(active.shape[0]):
                inverse[i, j] = inverse[j, i] = 0.0


@kernel
def move_reference(model: LearnedRidge) -> None:
    """b = level·w, the level that of the least squares fit of the rewards by x'w."""
    n_arms, d = model.estimate.shape
    w, sums, change = model.direction, model.gain, model.change
    # Rewards times x'w, and the squares of x'w.
    product = square = 0.0
    for i in range(d):
        along = inner(model.pooled[i], w)
        square += w[i] * along
        product += model.reference[i] * along
    for arm in range(n_arms):
        product += inner(model.moment[arm], w)
    model.level = product / square if square > NO_CONSTANT * model.rewards else 0.0
    for i in range(d):
        change[i] = model.level * w[i] - model.reference[i]
        model.reference[i] = model.level * w[i]
    for arm in range(n_arms):
        for i in range(d):
            sums[i] = inner(model.settled_gram[arm, i], change)
        moved = inner(sums, change) - 2.0 * inner(model.moment[arm], change)
        model.squares[arm] = max(model.squares[arm] + moved, 0.0)
        add_multiple(model.moment[arm], -1.0, sums)


@kernel
def learn_variances(model: LearnedRidge) -> None:
    """κ, σ² and the arms' scales from the evidence; 0 while all rewards are alike."""
    own = squares = 0.0
    for i in range(model.reference.shape[0]):
        own += model.reference[i] * inner(model.pooled[i], model.reference)
    for arm in range(model.squares.shape[0]):
        squares += model.squares[arm]
        own += 2.0 * inner(model.moment[arm], model.reference)
        model.scale[arm] = 0.0
    model.spread = squares
    if squares <= ALIKE * (own + squares):
        model.noise_variance = 0.0
        return
    if model.given:
        unexplained, _ = fit(model, model.penalty, 0.0)
    else:
        unexplained = climb(model)
        model.penalty = model.reference.shape[0] * PENALTIES[model.step]
    model.noise_variance = unexplained / model.rewards
    fit(model, model.penalty, 1.0 / model.reference.shape[0])
    for arm in range(model.squares.shape[0]):
        louder = model.unexplained[arm] > model.pulls[arm] * model.noise_variance
        rows = LOUDER_ROWS if louder else QUIETER_ROWS
        own = rows * model.noise_variance + model.unexplained[arm]
        model.scale[arm] = math.sqrt(own / (rows + model.pulls[arm]))


@kernel
def climb(model: LearnedRidge) -> float:
    """Move κ by steps while that makes the rewards likelier; what is left of their squares."""
    here, left = evidence(model, model.step)
    for way in (1, -1):
        moved = False
        while 0 <= model.step + way < len(PENALTIES):
            beside, left_beside = evidence(model, model.step + way)
            if not beside > here:
                break
            model.step += way
            here, left = beside, left_beside
            moved = True
        if moved:
            break
    return left


@kernel
def evidence(model: LearnedRidge, step: int) -> tuple[float, float]:
    """How likely κ at this step makes the rewards, and what is left of their squares.

    The former is a logarithm, up to a constant, with σ² the likeliest one.
    """
    unexplained, log_determinant = fit(model, model.units.shape[0] * PENALTIES[step], 0.0)
    doubt = math.log(PENALTIES[step] / GUESS) / DOUBT
    likelihood = model.rewards * math.log(unexplained) + log_determinant + doubt * doubt
    return -0.5 * likelihood, unexplained


@kernel
def fit(model: LearnedRidge, penalty: float, level: float) -> tuple[float, float]:
    """What is left of the rewards' squares under this κ, and Σ log det(I + Q⁻¹G/κ) over the arms.

    By arm the former is in ``unexplained``. In units in which Q has a unit diagonal. An arm's level
    at the mean context has a prior of ``level`` rows more.
    """
    n_arms, d = model.estimate.shape
    matrix, factor, solution = model.matrix, model.other_matrix, model.gain
    units, shape, means = model.units, model.shape, model.means
    squares = left = log_determinant = 0.0
    for arm in range(n_arms):
        squares += model.squares[arm]
        model.unexplained[arm] = model.squares[arm]
        if model.pulls[arm] == 0:
            continue
        gram, moment = model.settled_gram[arm], model.moment[arm]
        for i in range(d):
            for j in range(i + 1):
                matrix[i, j] = gram[i, j] + penalty * shape[i, j] + level * means[i] * means[j]
                matrix[i, j] /= units[i] * units[j]
        if not cholesky(matrix, factor):
            left += model.squares[arm]
            continue
        explained = 0.0
        log_determinant -= model.log_shape
        for i in range(d):
            along = inner(factor[i, :i], solution[:i])
            solution[i] = (moment[i] / units[i] - along) / factor[i, i]
            explained += solution[i] * solution[i]
            log_determinant += 2.0 * math.log(factor[i, i]) - math.log(penalty)
        model.unexplained[arm] = max(model.squares[arm] - explained, 0.0)
        left += model.squares[arm] - explained
    return max(left, ALIKE * squares), log_determinant


@kernel
def refresh(model: LearnedRidge, arm: int) -> None:
    """Compute P and the estimate afresh; kept as they are where rounding leaves no inverse."""
    matrix, result, rise = model.matrix, model.other_matrix, model.gain
    d = matrix.shape[0]
    model.refreshed_at[arm] = model.pulls[arm]
    model.growth[arm] = 1.0
    precision(model, arm, matrix)
    if not invert(matrix, result, rise):
        return
    leave_out(model, result)
    # Rewards that are all alike tell no arms apart: rounding must not either.
    alike = model.noise_variance == 0.0 and not model.given
    for i in range(d):
        copy(result[i], model.inverse[arm, i])
        rise[i] = 0.0 if alike else inner(result[i], model.moment[arm])
    copy(model.reference, model.estimate[arm])
    add_multiple(model.estimate[arm], 1.0, rise)
    add_multiple(model.estimate[arm], -inner(model.centring.origin, rise), model.centring.constant)


@kernel
def precision(model: LearnedRidge, arm: int, out: FloatArray) -> None:
    """out = G + κQ, without the rows that wait."""
    for i in range(out.shape[0]):
        copy(model.settled_gram[arm, i], out[i])
        add_multiple(out[i], model.penalty, model.shape[i])
