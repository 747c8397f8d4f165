"""From how a policy weighs the arms to the arm that is chosen, and with what probability.

A policy's ``weigh`` leaves an *outlook* (3, n_arms) in its state: each arm's score, the spread of
the normal draw that is added to it (0 for none), and the chance that any arm is taken at random
instead (in ``outlook[CHANCE, 0]``). A score of -∞ rules an arm out.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.compilation import inline_kernel, kernel
from greedyfirst.policies.gaussian_race import chances_of_highest
from greedyfirst.randomness import normal, stream, uniform
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import inner

SCORE, SPREAD, CHANCE = range(3)


@inline_kernel
def predict(vectors: FloatArray, which: int, context: FloatArray, outlook: FloatArray) -> None:
    """Scores vectors[arm, which]·context."""
    for arm in range(vectors.shape[0]):
        outlook[SCORE, arm] = inner(vectors[arm, which], context)


@inline_kernel
def select(outlook: FloatArray, eligible: FloatArray, seed: int, step: int) -> int:
    """The eligible arm with the highest draw; among n equal ones each with probability 1/n.

    Draws are those of the stream (seed, step), which is made only where one is needed.
    """
    chance = outlook[CHANCE, 0]
    if chance > 0.0 and uniform(stream(seed, step), 2 * eligible.shape[0]) < chance:
        return any_arm(outlook, eligible, stream(seed, step))
    chosen, ties, highest = -1, 0, -math.inf
    for arm in range(eligible.shape[0]):
        if eligible[arm] == 0.0:
            continue
        draw = outlook[SCORE, arm]
        if outlook[SPREAD, arm] > 0.0:
            draw += outlook[SPREAD, arm] * normal(stream(seed, step), arm)
        if chosen < 0 or draw > highest:
            chosen, ties, highest = arm, 1, draw
        elif draw == highest:
            ties += 1
            if uniform(stream(seed, step), arm) * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def any_arm(outlook: FloatArray, eligible: FloatArray, rng: np.uint64) -> int:
    """Each eligible arm that is not ruled out with the same probability."""
    n_arms = eligible.shape[0]
    n_open = 0
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and outlook[SCORE, arm] > -math.inf:
            n_open += 1
    place = int(uniform(rng, 2 * n_arms + 1) * n_open)
    for arm in range(n_arms):
        if eligible[arm] != 0.0 and outlook[SCORE, arm] > -math.inf:
            if place == 0:
                return arm
            place -= 1
    return -1


def selection_probabilities(outlook: FloatArray, eligible: FloatArray) -> FloatArray:
    """The probabilities with which :func:`select` takes each arm: exact, draws by quadrature."""
    open_arms = (eligible != 0.0) & (outlook[SCORE] > -math.inf)
    chance = float(outlook[CHANCE, 0])
    best = chances_of_highest(outlook[SCORE], outlook[SPREAD], open_arms)
    result: FloatArray = (1.0 - chance) * best + chance * open_arms / open_arms.sum()
    return result
