"""From a policy's scores of the arms to the arm that is chosen, and with what probability."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numba
import numpy as np
from numba import types
from numba.extending import overload

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import INLINE_OPTIONS, entry, inline_kernel, kernel
from greedyfirst.compiling.records import Record, flag, floats, number
from greedyfirst.models import posterior
from greedyfirst.numerics.randomness import normal, stream, uniform
from greedyfirst.policies.gaussian_race import chances_of_highest
from greedyfirst.validation import FloatArray

#: What ``score`` returns with scores instead of an arm; and a selection that cannot be made.
NO_ARM = -1
#: How far from 1 the sum of stated probabilities may be: rounding, and nothing else.
SUM_TOLERANCE = 1e-9
_MUST_RETURN = f"score must return an arm's number, or {NO_ARM} and scores"


class Scores(Record):
    """How a policy scores the arms for one decision.

    The eligible arm with the highest draw is chosen: its score, plus a normal draw of its spread.
    A policy that knows the probabilities themselves states them instead.
    """

    #: An arm's score; -∞ rules it out.
    value: FloatArray = floats("n_arms", scratch=True)
    #: The standard deviation of the normal draw that is added; 0 for none.
    spread: FloatArray = floats("n_arms", scratch=True)
    #: The probability with which any arm is taken instead, each with the same chance.
    random_share: float = number(scratch=True)
    #: Draws that are this near are equal: what is between them is rounding.
    rounding: float = number(scratch=True)
    #: Whether ``value`` has the arms' probabilities, which sum to 1 over the eligible arms.
    stated: bool = flag(scratch=True)


@inline_kernel
def predict(model: Any, context: FloatArray, scores: Scores) -> None:
    """Scores by the arms' estimates."""
    posterior.prepare(model, context)
    scores.rounding = posterior.rounding(model)
    value = scores.value
    for arm in range(value.shape[0]):
        value[arm] = posterior.mean(model, arm, context)


def arm_number(due: Any) -> int:
    """What ``score`` returned, if it is a whole number."""
    if isinstance(due, (bool, np.bool_)) or not isinstance(due, (int, np.integer)):
        raise TypeError(f"{_MUST_RETURN}, got {due!r}")
    return int(due)


@overload(arm_number, jit_options=INLINE_OPTIONS)
def _arm_number(due):  # type: ignore[no-untyped-def]
    if not isinstance(due, types.Integer):
        nothing = isinstance(due, (types.NoneType, types.Optional))
        got = "returns nothing, on one way through it at least" if nothing else f"returns {due}"
        raise numba.errors.NumbaTypeError(f"{_MUST_RETURN}, but {got}")
    return lambda due: due


@inline_kernel
def chosen_arm(due: int, scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    """The arm that ``score`` returned or that is selected by the scores; ``NO_ARM`` if neither can.

    That arm is eligible. Why there is none, :func:`refusal` says.
    """
    arm = arm_number(due)
    if arm == NO_ARM:
        return select(scores, eligible, seed, step)
    if 0 <= arm < eligible.shape[0] and eligible[arm] != 0.0:
        return arm
    return NO_ARM


@inline_kernel
def select(scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    """The eligible arm with the highest draw; among n equal ones each with probability 1/n.

    Draws are those of the stream (seed, step), which is made only where one is needed. Scores that
    are not numbers select nothing.
    """
    value, spread, share = scores.value, scores.spread, scores.random_share
    if not share <= 0.0:
        if not share <= 1.0:
            return NO_ARM
        if uniform(stream(seed, step), 2 * eligible.shape[0]) < share:
            return any_arm(value, eligible, stream(seed, step))
    if scores.stated:
        return stated_arm(value, eligible, stream(seed, step))
    chosen, ties, highest = NO_ARM, 0, -math.inf
    for arm in range(eligible.shape[0]):
        if eligible[arm] == 0.0:
            continue
        draw = value[arm]
        if not spread[arm] <= 0.0:
            draw += spread[arm] * normal(stream(seed, step), arm)
        if chosen < 0 or draw > highest + scores.rounding:
            chosen, ties, highest = arm, 1, draw
        elif draw >= highest - scores.rounding:
            ties += 1
            if uniform(stream(seed, step), arm) * ties < 1.0:
                chosen = arm
        elif not draw < highest - scores.rounding:  # one of them is no number
            return NO_ARM
    return chosen if highest >= -math.inf and value[chosen] > -math.inf else NO_ARM


@kernel
def any_arm(value: FloatArray, eligible: FloatArray, rng: np.uint64) -> int:
    """Each eligible arm that is not ruled out with the same probability."""
    n_arms = eligible.shape[0]
    n_open = 0
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and not value[arm] <= -math.inf:
            if math.isnan(value[arm]):
                return NO_ARM
            n_open += 1
    place = int(uniform(rng, 2 * n_arms + 1) * n_open)
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and value[arm] > -math.inf:
            if place == 0:
                return arm
            place -= 1
    return NO_ARM


@kernel
def stated_arm(chances: FloatArray, eligible: FloatArray, rng: np.uint64) -> int:
    """Each eligible arm with its own probability; ``NO_ARM`` if these are no distribution."""
    n_arms = eligible.shape[0]
    total = 0.0
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and chances[arm] != -math.inf:
            if not chances[arm] >= 0.0:
                return NO_ARM
            total += chances[arm]
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return NO_ARM
    left = uniform(rng, 2 * n_arms + 2) * total
    chosen = NO_ARM
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and chances[arm] > 0.0:
            chosen = arm
            left -= chances[arm]
            if left < 0.0:
                break
    return chosen


@entry
def _chosen_arm(due: int, scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    return chosen_arm(due, scores, eligible, seed, step)


def chosen_in_python(due: Any, scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    """:func:`chosen_arm`, for callers that are not compiled."""
    return run(_chosen_arm, arm_number(due), scores, eligible, seed, step)


def selection_probabilities(scores: Scores, eligible: FloatArray) -> FloatArray:
    """The probabilities with which :func:`select` takes each arm: exact, draws by quadrature."""
    open_arms = (eligible != 0.0) & (scores.value > -math.inf)
    share = scores.random_share
    if scores.stated:
        best = np.where(open_arms, scores.value, 0.0)
        best /= best.sum()
    else:
        best = chances_of_highest(scores.value, scores.spread, open_arms, scores.rounding)
    result: FloatArray = (1.0 - share) * best + share * open_arms / open_arms.sum()
    return result


def probabilities(due: int, scores: Scores, eligible: FloatArray) -> FloatArray:
    """The exact probability with which :func:`chosen_arm` is each arm (n_arms,)."""
    if due == NO_ARM:
        return selection_probabilities(scores, eligible)
    result: FloatArray = (np.arange(len(eligible)) == due).astype(np.float64)
    return result


def refusal(due: int, scores: Scores, eligible: FloatArray) -> str | None:
    """Why no arm can be taken, in words; None where one can."""
    arms = ", ".join(map(str, np.flatnonzero(eligible)))
    if due != NO_ARM:
        if not 0 <= due < len(eligible):
            expected = f"one of the arms 0 to {len(eligible) - 1}, or {NO_ARM} and scores"
            return f"score returned arm {due}: expected {expected}"
        if eligible[due] == 0.0:
            return f"score returned arm {due}, which is not eligible: expected one of {arms}"
        return None
    if not 0.0 <= scores.random_share <= 1.0:
        return f"random_share is {scores.random_share:g}: expected a probability"
    if not abs(scores.rounding) < math.inf:
        return f"rounding is {scores.rounding:g}: expected a finite number"
    for arm in np.flatnonzero(eligible):
        value, spread = float(scores.value[arm]), float(scores.spread[arm])
        if math.isnan(value) or math.isnan(spread):
            name = "probability" if scores.stated else "spread" if math.isnan(spread) else "score"
            return f"the {name} of arm {arm} is nan: expected a number"
        if scores.stated and value < 0.0 and value != -math.inf:
            return f"the probability of arm {arm} is {value:g}: expected at least 0"
    taken = scores.value[(eligible != 0.0) & (scores.value > -math.inf)]
    if scores.stated and not abs(taken.sum() - 1.0) <= SUM_TOLERANCE:
        return f"the probabilities of the eligible arms {arms} sum to {taken.sum():.12g}, not to 1"
    if not len(taken):
        return f"the scores of the eligible arms {arms} are all -inf: expected one that is higher"
    return None


def refuse(policy: Any, due: int, scores: Scores, eligible: FloatArray, step: int) -> NoReturn:
    """Say why a decision that :func:`chosen_arm` did not make cannot be made."""
    reason = refusal(due, scores, eligible) or "no score is the highest"
    raise ValueError(f"policy {policy!r}, step {step}: {reason}")
