"""The arm with the highest score, ties broken uniformly at random."""

from __future__ import annotations

import numpy as np

from greedyfirst.compilation import inline_kernel
from greedyfirst.linalg import inner
from greedyfirst.randomness import uniform
from greedyfirst.validation import FloatArray


@inline_kernel
def predict(vectors: FloatArray, which: int, context: FloatArray, scores: FloatArray) -> None:
    """scores[arm] = vectors[arm, which]·context."""
    for arm in range(vectors.shape[0]):
        scores[arm] = inner(vectors[arm, which], context)


@inline_kernel
def best(scores: FloatArray, eligible: FloatArray, rng: np.uint64) -> int:
    """The eligible arm with the highest score; among n equal ones each with probability 1/n."""
    chosen, ties, highest = -1, 0, -np.inf
    for arm in range(scores.shape[0]):
        if eligible[arm] == 0.0:
            continue
        if chosen < 0 or scores[arm] > highest:
            chosen, ties, highest = arm, 1, scores[arm]
        elif scores[arm] == highest:
            ties += 1
            if uniform(rng, arm) * ties < 1.0:
                chosen = arm
    return chosen


@inline_kernel
def any_arm(eligible: FloatArray, rng: np.uint64) -> int:
    """Each eligible arm with the same probability."""
    n_eligible = 0
    for arm in range(eligible.shape[0]):
        if eligible[arm] != 0.0:
            n_eligible += 1
    place = int(uniform(rng, eligible.shape[0]) * n_eligible)
    for arm in range(eligible.shape[0]):
        if eligible[arm] != 0.0:
            if place == 0:
                return arm
            place -= 1
    return -1


def share_of_best(scores: FloatArray, eligible: FloatArray) -> FloatArray:
    """The probabilities with which :func:`best` chooses."""
    masked = np.where(eligible != 0.0, scores, -np.inf)
    winners = (masked == masked.max()).astype(np.float64)
    return winners / winners.sum()


def certain(arm: int, n_arms: int) -> FloatArray:
    """Probability 1 for one arm."""
    result = np.zeros(n_arms)
    result[arm] = 1.0
    return result
