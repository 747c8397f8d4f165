"""From a policy's scores of the arms to the arm that is chosen, and with what probability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry, inline_kernel, kernel
from greedyfirst.compiling.records import Record, floats, number
from greedyfirst.models import posterior
from greedyfirst.numerics.randomness import normal, stream, uniform
from greedyfirst.policies.gaussian_race import chances_of_highest
from greedyfirst.validation import FloatArray


class Scores(Record):
    """How a policy scores the arms for one decision.

    The eligible arm with the highest draw is chosen: its score, plus a normal draw of its spread.
    """

    #: An arm's score; -∞ rules it out.
    value: FloatArray = floats("n_arms")
    #: The standard deviation of the normal draw that is added; 0 for none.
    spread: FloatArray = floats("n_arms")
    #: The probability with which any arm is taken instead, each with the same chance.
    random_share: float = number()
    #: Draws that are this near are equal: what is between them is rounding.
    rounding: float = number()


@inline_kernel
def predict(model: Any, context: FloatArray, scores: Scores) -> None:
    """Scores by the arms' estimates."""
    posterior.prepare(model, context)
    scores.rounding = posterior.rounding(model)
    value = scores.value
    for arm in range(value.shape[0]):
        value[arm] = posterior.mean(model, arm, context)


@inline_kernel
def select(scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    """The eligible arm with the highest draw; among n equal ones each with probability 1/n.

    Draws are those of the stream (seed, step), which is made only where one is needed.
    """
    value, spread, share = scores.value, scores.spread, scores.random_share
    if share > 0.0 and uniform(stream(seed, step), 2 * eligible.shape[0]) < share:
        return any_arm(value, eligible, stream(seed, step))
    chosen, ties, highest = -1, 0, -math.inf
    for arm in range(eligible.shape[0]):
        if eligible[arm] == 0.0:
            continue
        draw = value[arm]
        if spread[arm] > 0.0:
            draw += spread[arm] * normal(stream(seed, step), arm)
        if chosen < 0 or draw > highest + scores.rounding:
            chosen, ties, highest = arm, 1, draw
        elif draw >= highest - scores.rounding:
            ties += 1
            if uniform(stream(seed, step), arm) * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def any_arm(value: FloatArray, eligible: FloatArray, rng: np.uint64) -> int:
    """Each eligible arm that is not ruled out with the same probability."""
    n_arms = eligible.shape[0]
    n_open = 0
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and value[arm] > -math.inf:
            n_open += 1
    place = int(uniform(rng, 2 * n_arms + 1) * n_open)
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and value[arm] > -math.inf:
            if place == 0:
                return arm
            place -= 1
    return -1


@entry
def _select(scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    return select(scores, eligible, seed, step)


def select_in_python(scores: Scores, eligible: FloatArray, seed: int, step: int) -> int:
    """:func:`select`, for callers that are not compiled."""
    return run(_select, scores, eligible, seed, step)


def selection_probabilities(scores: Scores, eligible: FloatArray) -> FloatArray:
    """The probabilities with which :func:`select` takes each arm: exact, draws by quadrature."""
    open_arms = (eligible != 0.0) & (scores.value > -math.inf)
    share = scores.random_share
    best = chances_of_highest(scores.value, scores.spread, open_arms, scores.rounding)
    result: FloatArray = (1.0 - share) * best + share * open_arms / open_arms.sum()
    return result
