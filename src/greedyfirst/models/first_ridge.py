r"""The ridge whose prior is learned as rule 1 has it: for records that were made with that rule.

Every arm's coefficients are taken for a draw from :math:`N(b, (\sigma^2/\kappa)D^{-1})`, D the
features' mean squares, so that a feature far from 0 is nearly collinear with an intercept and its
slope is shrunk away. :mod:`greedyfirst.models.learned_ridge` is what took its place. Agents and
logs that do not say which rule they have go on with this one, bit for bit.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.compiling.families import kernel_for
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, flag, floats, integer, integers, number
from greedyfirst.compiling.routines import routine
from greedyfirst.models import posterior
from greedyfirst.models.least_squares import BLOCK, is_stale, settle, whole_gram
from greedyfirst.numerics.matrices import add_outer, cholesky, invert, multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray, IntArray

#: The prior is learned again when the rewards have grown by this share.
GROWTH = 0.3
#: κ/d that are tried.
PENALTIES = tuple(10.0 ** (step / 2 - 3) for step in range(10))
# The guess at κ/d, its natural logarithm's standard deviation, and the nearest of those tried.
GUESS, DOUBT, FIRST_STEP = 0.02, 1.5, 3
# Added to the pooled Gram matrix, and refined away again: collinear features make it singular.
LOOSENING, REFINEMENTS = 1e-7, 4
# Rewards whose squares about the reference are below this share of their own are all alike.
ALIKE = 1e-14
# The constant is no function of the contexts when it has less than this share of its square.
NO_CONSTANT = 1e-9


class FirstRidge(Record):
    """Sufficient statistics and estimates of all arms, and their prior."""

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
    #: P, and the estimate.
    covariance: FloatArray = floats("n_arms", "d", "d")
    estimate: FloatArray = floats("n_arms", "d")
    #: The prior: b, D, κ by its step and by itself, σ²; whether κ was given.
    reference: FloatArray = floats("d")
    mean_squares: FloatArray = floats("d")
    #: The features' units: the roots of D.
    units: FloatArray = floats("d")
    step: int = integer()
    penalty: float = number()
    noise_variance: float = number()
    given: bool = flag()
    #: Features that have been 0 in every row.
    blank: int = integer()
    #: All rows seen, those at which the prior was learned, and at which it is learned again.
    rewards: int = integer()
    learned_at: int = integer()
    learn_at: int = integer()
    #: The sum of all G when the prior was learned.
    pooled: FloatArray = floats("d", "d")
    # Scratch.
    gain: FloatArray = floats("d")
    direction: FloatArray = floats("d")
    change: FloatArray = floats("d")
    matrix: FloatArray = floats("d", "d")
    other_matrix: FloatArray = floats("d", "d")

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d), the waiting rows included."""
        return whole_gram(self)

    @property
    def context_moment(self) -> FloatArray:
        """Σx(y - x'b) (n_arms, d)."""
        return self.moment


@kernel
def learn_prior(model: FirstRidge) -> None:
    """Learn the prior from all rows, and every arm's estimate under it: O(Kd³)."""
    n_arms, d = model.estimate.shape
    pooled = model.pooled
    for arm in range(n_arms):
        settle(model, arm)
    for i in range(d):
        for j in range(d):
            pooled[i, j] = 0.0
        for arm in range(n_arms):
            add_multiple(pooled[i], 1.0, model.settled_gram[arm, i])
    model.learned_at = model.rewards
    model.learn_at = model.rewards + 1 + int(GROWTH * model.rewards)
    if not model.given:
        learn_scales(model)
        move_reference(model)
    learn_variances(model)
    for arm in range(n_arms):
        refresh(model, arm)


@kernel
def learn_scales(model: FirstRidge) -> None:
    """D: the features' mean squares, 1 for those that have only been 0."""
    model.blank = 0
    for i in range(model.mean_squares.shape[0]):
        square = model.pooled[i, i] / model.rewards
        model.mean_squares[i] = square if square > 0.0 else 1.0
        model.units[i] = math.sqrt(model.mean_squares[i])
        if square == 0.0:
            model.blank += 1


@kernel
def move_reference(model: FirstRidge) -> None:
    """b = cw: w is the least squares fit of the constant 1, c that of the rewards by x'w."""
    n_arms, d = model.estimate.shape
    pooled, complete, inverse = model.pooled, model.matrix, model.other_matrix
    w, sums, change = model.direction, model.gain, model.change
    for i in range(d):
        copy(pooled[i], complete[i])
        complete[i, i] += LOOSENING * model.rewards * model.mean_squares[i]
    if not invert(complete, inverse, sums):
        return
    for i in range(d):
        w[i] = 0.0
        sums[i] = 0.0
    for arm in range(n_arms):
        add_multiple(sums, 1.0, model.total[arm])
    for _ in range(1 + REFINEMENTS):
        for i in range(d):
            change[i] = sums[i] - inner(pooled[i], w)
        for i in range(d):
            w[i] += inner(inverse[i], change)
    # Rewards times x'w, and the squares of x'w.
    product = square = 0.0
    for i in range(d):
        along = inner(pooled[i], w)
        square += w[i] * along
        product += model.reference[i] * along
    for arm in range(n_arms):
        product += inner(model.moment[arm], w)
    level = product / square if square > NO_CONSTANT * model.rewards else 0.0
    for i in range(d):
        change[i] = level * w[i] - model.reference[i]
        model.reference[i] = level * w[i]
    for arm in range(n_arms):
        for i in range(d):
            sums[i] = inner(model.settled_gram[arm, i], change)
        moved = inner(sums, change) - 2.0 * inner(model.moment[arm], change)
        model.squares[arm] = max(model.squares[arm] + moved, 0.0)
        add_multiple(model.moment[arm], -1.0, sums)


@kernel
def learn_variances(model: FirstRidge) -> None:
    """κ and σ² from the evidence; σ² = 0 while all rewards are alike."""
    d = model.mean_squares.shape[0]
    own = squares = 0.0
    for i in range(d):
        own += model.reference[i] * inner(model.pooled[i], model.reference)
    for arm in range(model.squares.shape[0]):
        squares += model.squares[arm]
        own += 2.0 * inner(model.moment[arm], model.reference)
    if squares <= ALIKE * (own + squares):
        model.noise_variance = 0.0
        return
    if model.given:
        unexplained, _ = fit(model, model.penalty)
    else:
        unexplained = climb(model)
        model.penalty = d * PENALTIES[model.step]
    model.noise_variance = unexplained / model.rewards


@kernel
def climb(model: FirstRidge) -> float:
    """Move κ, a step at a time, as long as that makes the rewards likelier; what it leaves."""
    unexplained, here = evidence(model, model.step)
    for way in (1, -1):
        moved = False
        while 0 <= model.step + way < len(PENALTIES):
            left, beside = evidence(model, model.step + way)
            if not beside > here:
                break
            model.step += way
            unexplained, here = left, beside
            moved = True
        if moved:
            break
    return unexplained


@kernel
def evidence(model: FirstRidge, step: int) -> tuple[float, float]:
    """What κ at this step leaves of the rewards' squares, and how likely it makes the rewards.

    The latter as a logarithm, up to a constant, with σ² the likeliest one.
    """
    unexplained, log_determinant = fit(model, model.mean_squares.shape[0] * PENALTIES[step])
    doubt = math.log(PENALTIES[step] / GUESS) / DOUBT
    likely = -0.5 * (model.rewards * math.log(unexplained) + log_determinant + doubt * doubt)
    return unexplained, likely


@kernel
def fit(model: FirstRidge, penalty: float) -> tuple[float, float]:
    """What is left of the rewards' squares under this κ, and Σ log det(I + G/κ) over the arms.

    G is taken in the features' own units, D^-½GD^-½, so that these do not matter.
    """
    n_arms, d = model.estimate.shape
    matrix, factor, solution = model.matrix, model.other_matrix, model.gain
    squares = explained = log_determinant = 0.0
    for arm in range(n_arms):
        squares += model.squares[arm]
        if model.pulls[arm] == 0:
            continue
        gram, moment = model.settled_gram[arm], model.moment[arm]
        for i in range(d):
            for j in range(i):
                matrix[i, j] = gram[i, j] / (model.units[i] * model.units[j])
            matrix[i, i] = gram[i, i] / model.mean_squares[i] + penalty
        if not cholesky(matrix, factor):
            continue
        for i in range(d):
            along = inner(factor[i, :i], solution[:i])
            solution[i] = (moment[i] / model.units[i] - along) / factor[i, i]
            explained += solution[i] * solution[i]
            log_determinant += 2.0 * math.log(factor[i, i]) - math.log(penalty)
    return max(squares - explained, ALIKE * squares), log_determinant


@kernel
def refresh(model: FirstRidge, arm: int) -> None:
    """Compute P and the estimate afresh; kept as they are where rounding leaves no inverse."""
    matrix, result = model.matrix, model.other_matrix
    d = matrix.shape[0]
    model.refreshed_at[arm] = model.pulls[arm]
    model.growth[arm] = 1.0
    for i in range(d):
        copy(model.settled_gram[arm, i], matrix[i])
        matrix[i, i] += model.penalty * model.mean_squares[i]
    if not invert(matrix, result, model.gain):
        return
    for i in range(d):
        copy(result[i], model.covariance[arm, i])
    # Rewards that are all alike tell no arms apart: rounding must not either.
    alike = model.noise_variance == 0.0 and not model.given
    for i in range(d):
        rise = 0.0 if alike else inner(model.covariance[arm, i], model.moment[arm])
        model.estimate[arm, i] = model.reference[i] + rise


def init(memory: Memory, n_arms: int, d: int, penalty: float) -> FirstRidge:
    """The state before the first row; a ``penalty`` of 0 is learned."""
    model = FirstRidge(memory, n_arms=n_arms, d=d)
    model.growth[:] = 1.0
    model.given = penalty > 0.0
    model.blank = d
    model.step = FIRST_STEP
    model.penalty = penalty if penalty > 0.0 else d * PENALTIES[FIRST_STEP]
    model.mean_squares[:] = model.units[:] = 1.0
    for i in range(d):
        model.covariance[:, i, i] = 1.0 / model.penalty
    return model


def admit(model: FirstRidge, arm: int) -> None:
    """Start an arm that joins later from the prior."""
    model.estimate[arm] = model.reference
    np.fill_diagonal(model.covariance[arm], 1.0 / (model.penalty * model.mean_squares))


@routine(FirstRidge)
def observe(model: FirstRidge, arm: int, x: FloatArray, y: float) -> None:
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
def shows_more(model: FirstRidge, x: FloatArray) -> bool:
    """Whether a feature is not 0 here that was 0 in every row when the prior was learned."""
    more = 0
    for i in range(x.shape[0]):
        if x[i] != 0.0 and model.pooled[i, i] == 0.0:
            more += 1
    return more > 0 and not model.given


# ------------------------------------------------------------------------ as policies ask for it


@kernel_for(posterior.observe, FirstRidge)
@inline_kernel
def _observe(model: FirstRidge, arm: int, x: FloatArray, y: float, noise_variance: float) -> None:
    observe(model, arm, x, y)


@kernel_for(posterior.prepare, FirstRidge)
@inline_kernel
def _prepare(model: FirstRidge, x: FloatArray) -> None:
    pass


@kernel_for(posterior.rounding, FirstRidge)
@inline_kernel
def _rounding(model: FirstRidge) -> float:
    return 0.0


@kernel_for(posterior.mean, FirstRidge)
@inline_kernel
def _mean(model: FirstRidge, arm: int, x: FloatArray) -> float:
    return inner(model.estimate[arm], x)


@kernel_for(posterior.form, FirstRidge)
@inline_kernel
def _form(model: FirstRidge, matrix: FloatArray, x: FloatArray) -> float:
    return max(quadratic(matrix, x), 0.0)


@kernel_for(posterior.arm_scale, FirstRidge)
@inline_kernel
def _arm_scale(model: FirstRidge, arm: int) -> float:
    return math.sqrt(model.noise_variance)


@kernel_for(posterior.scale_rows, FirstRidge)
@inline_kernel
def _scale_rows(model: FirstRidge, arm: int) -> float:
    return math.inf


@kernel_for(posterior.variance, FirstRidge)
@inline_kernel
def _variance(model: FirstRidge, arm: int, x: FloatArray) -> float:
    return max(quadratic(model.covariance[arm], x), 0.0)


@kernel_for(posterior.noise_scale, FirstRidge)
@inline_kernel
def _noise_scale(model: FirstRidge, sigma: float) -> float:
    return sigma if sigma >= 0.0 else math.sqrt(model.noise_variance)


@kernel_for(posterior.penalty, FirstRidge)
@inline_kernel
def _penalty(model: FirstRidge, given: float) -> float:
    return model.penalty


@kernel_for(posterior.length, FirstRidge)
@inline_kernel
def _length(model: FirstRidge, x: FloatArray) -> float:
    squared = 0.0
    for i in range(x.shape[0]):
        squared += x[i] * x[i] / model.mean_squares[i]
    return math.sqrt(squared)


@kernel_for(posterior.distance, FirstRidge)
@inline_kernel
def _distance(model: FirstRidge) -> float:
    squared = 0.0
    for arm in range(model.estimate.shape[0]):
        for i in range(model.reference.shape[0]):
            rise = model.estimate[arm, i] - model.reference[i]
            squared += model.mean_squares[i] * rise * rise
    return math.sqrt(squared)
