"""Maximum likelihood on a log of any size: one pass over it for each step of Newton's method.

The estimates are those of all rows together, the agent's earlier ones included. In the state the
log is kept as the second-order expansion of its likelihood at the estimate, as a model of bounded
memory keeps rows that have left its window (:mod:`greedyfirst.models.row_blocks`).

An arm whose maximum likelihood estimate does not exist, or cannot be proved to, has the estimate
that its warm-up says; its rows are expanded at the ridge's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from greedyfirst.models.centred_likelihood import CentredLikelihood, learn_from_all
from greedyfirst.models.generalized_linear import RIDGE
from greedyfirst.models.likelihood import PENALTY, GeneralizedLinear
from greedyfirst.models.likelihood_sums import LikelihoodSums, own_sums
from greedyfirst.models.newton import HALVINGS, NEAR, ROUNDING, TOLERANCE
from greedyfirst.models.separation import CERTAIN, CONDITION
from greedyfirst.validation import BoolArray, FloatArray

# Steps after which an estimate that is not found is given up: data that a direction separates
# moves it by about one unit a step, for ever.
MOST_STEPS = 30

#: One pass over the log: its sums at these points, with squared scores or second derivatives.
Pass = Callable[[FloatArray, bool], LikelihoodSums]


def fit_log(model: GeneralizedLinear, warmup: int, rows: FloatArray, read_log: Pass) -> None:
    """Fit the arms that have ``rows`` (n_arms,) in the log, and keep the log's expansion.

    Counts, Gram matrices, squares and what Q is learned from have the log's rows in them already.
    All is done in the coordinates of the model's rows.
    """
    seen = rows > 0
    if isinstance(model, CentredLikelihood):
        learn_from_all(model, warmup, ~seen)
        read_log = partial(_read_rows, read_log, model.there)
    points_before = model.estimate @ model.back
    points = points_before.copy()
    total = partial(_total, model, read_log)
    regular = seen & _spans(model, total)
    found = regular & _maximise(partial(total, 0.0), points, regular)
    unproved = found & ~model.exists
    if unproved.any():
        found &= ~unproved | _proves_existence(total(0.0, points, True))
    left = seen & ~found
    points[left] = np.where(model.exists[left, None], points_before[left], 0.0)
    if left.any():
        _maximise(partial(total, PENALTY), points, left)
    log = read_log(points, False)
    for arm in np.flatnonzero(seen):
        _fold(model, int(arm), points[arm], log, int(rows[arm]))
    for weight, arms in ((0.0, found), (PENALTY, left)):
        own = own_sums(model, points, weight, squared=False)
        for arm in np.flatnonzero(arms):
            model.exists[arm] = found[arm]
            if found[arm] or warmup == RIDGE:
                model.estimate[arm] = points[arm] @ model.there
                model.inverse[arm] = np.linalg.inv(own.matrix[arm])


def _read_rows(
    read_log: Pass, there: FloatArray, points: FloatArray, squared: bool
) -> LikelihoodSums:
    """The log's sums in the coordinates of the model's rows, which ``there`` makes of contexts."""
    sums = read_log(points @ there, squared)
    gradient, matrix = sums.gradient @ there.T, there @ sums.matrix @ there.T
    return LikelihoodSums(value=sums.value, gradient=gradient, matrix=matrix)


def _spans(model: GeneralizedLinear, total: Callable[..., LikelihoodSums]) -> BoolArray:
    """Which arms' rows span everything."""
    if not isinstance(model, CentredLikelihood):
        ranks: BoolArray = model.linear.rank == model.estimate.shape[1]
        return ranks
    curvature = total(0.0, np.zeros_like(model.estimate), False).matrix
    return np.array([_inverse(each) is not None for each in curvature])


def _inverse(matrix: FloatArray) -> FloatArray | None:
    """The inverse, if it is more than rounding."""
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    if (np.diagonal(matrix) * np.diagonal(inverse)).max() >= CONDITION:
        return None
    return np.asarray(inverse, np.float64)


def _total(
    model: GeneralizedLinear, read_log: Pass, weight: float, points: FloatArray, squared: bool
) -> LikelihoodSums:
    """The sums of the model's rows and the log's."""
    sums = own_sums(model, points, weight, squared=squared)
    sums.add(read_log(points, squared))
    return sums


def _maximise(
    evaluate: Callable[[FloatArray, bool], LikelihoodSums], points: FloatArray, wanted: BoolArray
) -> BoolArray:
    """Newton's method for all ``wanted`` arms at once, in place; which of them came to an end."""
    done, active = np.zeros(len(points), bool), wanted.copy()
    if not active.any():
        return done
    here = evaluate(points, False)
    for _ in range(MOST_STEPS):
        steps, decrements = np.zeros_like(points), np.zeros(len(points))
        for arm in np.flatnonzero(active):
            try:
                steps[arm] = np.linalg.solve(here.matrix[arm], here.gradient[arm])
            except np.linalg.LinAlgError:
                active[arm] = False
                continue
            decrements[arm] = here.gradient[arm] @ steps[arm]
            size = points[arm] @ here.matrix[arm] @ points[arm]
            if not 0.0 <= decrements[arm] < np.inf:
                active[arm], steps[arm] = False, 0.0
            elif decrements[arm] <= TOLERANCE * (1.0 + ROUNDING * size):
                points[arm] += steps[arm]
                active[arm], done[arm], steps[arm] = False, True, 0.0
        if not active.any():
            break
        here = _advance(evaluate, points, steps, decrements, active, here)
    return done


def _advance(
    evaluate: Callable[[FloatArray, bool], LikelihoodSums],
    points: FloatArray,
    steps: FloatArray,
    decrements: FloatArray,
    active: BoolArray,
    here: LikelihoodSums,
) -> LikelihoodSums:
    """Go along the steps, or half of them, …, to where ℓ is higher: the sums there."""
    shares, start = np.ones(len(points)), points.copy()
    waiting = active.copy()
    for _ in range(HALVINGS):
        points[waiting] = start[waiting] + shares[waiting, None] * steps[waiting]
        there = evaluate(points, False)
        slopes = np.einsum("ai,ai->a", there.gradient, steps)
        risen = (slopes >= 0.0) | ((decrements <= NEAR) & (slopes >= -0.5 * decrements))
        risen |= there.value > here.value
        waiting &= ~risen
        if not waiting.any():
            return there
        shares[waiting] *= 0.5
    active &= ~waiting
    points[waiting] = start[waiting]
    return evaluate(points, False)


def _proves_existence(sums: LikelihoodSums) -> BoolArray:
    """g'M⁻¹g < 1: no direction separates the arm's rows."""
    proved = np.zeros(len(sums.value), bool)
    for arm, (gradient, matrix) in enumerate(zip(sums.gradient, sums.matrix, strict=True)):
        inverse = _inverse(matrix)
        proved[arm] = inverse is not None and gradient @ inverse @ gradient < CERTAIN
    return proved


def _fold(
    model: GeneralizedLinear, arm: int, point: FloatArray, log: LikelihoodSums, rows: int
) -> None:
    """Keep the log's rows of an arm as their expansion at a point."""
    model.folded[arm] += rows
    model.folded_gradient[arm] += log.gradient[arm] + log.matrix[arm] @ point
    model.folded_curvature[arm] += log.matrix[arm]
