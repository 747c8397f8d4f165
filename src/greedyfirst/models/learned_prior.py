r"""The prior of ridge regressions, learned from all arms' rewards.

Every arm's coefficients are taken for a draw from one prior, :math:`\beta_i \sim N(b,
(\sigma^2/\kappa)D^{-1})`, rewards for :math:`x^\top\beta_i + N(0, \sigma^2)`:

.. math:: P = (G + \kappa D)^{-1}, \quad \hat\beta_i = b + P\sum x(y - x^\top b), \quad
          \operatorname{Var}(x^\top\beta_i) = \sigma^2 x^\top Px .

What the prior is comes from the data, so that no unit and no zero of rewards matters:

- D are the features' mean squares;
- b is what all arms have in common: the multiple of the constant that fits all rewards best, the
  constant as nearly as a linear function of the context can be one. With an intercept, or dummies,
  :math:`x^\top b` is the mean reward; an arm without rows is worth as much;
- κ is the one of ``PENALTIES`` that makes the rewards seen likeliest (the
  evidence of a normal prior), and σ² then the likeliest variance of the noise. While rewards are
  few, all κ are nearly as likely: a lognormal guess around ``GUESS``·d decides.

"""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, flag, floats, integer, integers, number
from greedyfirst.models.least_squares import BLOCK, settle, whole_gram
from greedyfirst.numerics.matrices import cholesky, invert
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


class LearnedRidge(Record):
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


@kernel
def learn_prior(model: LearnedRidge) -> None:
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
def learn_scales(model: LearnedRidge) -> None:
    """D: the features' mean squares, 1 for those that have only been 0."""
    model.blank = 0
    for i in range(model.mean_squares.shape[0]):
        square = model.pooled[i, i] / model.rewards
        model.mean_squares[i] = square if square > 0.0 else 1.0
        model.units[i] = math.sqrt(model.mean_squares[i])
        if square == 0.0:
            model.blank += 1


@kernel
def move_reference(model: LearnedRidge) -> None:
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
def learn_variances(model: LearnedRidge) -> None:
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
def climb(model: LearnedRidge) -> float:
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
def evidence(model: LearnedRidge, step: int) -> tuple[float, float]:
    """What κ at this step leaves of the rewards' squares, and how likely it makes the rewards.

    The latter as a logarithm, up to a constant, with σ² the likeliest one.
    """
    unexplained, log_determinant = fit(model, model.mean_squares.shape[0] * PENALTIES[step])
    doubt = math.log(PENALTIES[step] / GUESS) / DOUBT
    likely = -0.5 * (model.rewards * math.log(unexplained) + log_determinant + doubt * doubt)
    return unexplained, likely


@kernel
def fit(model: LearnedRidge, penalty: float) -> tuple[float, float]:
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
def refresh(model: LearnedRidge, arm: int) -> None:
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
