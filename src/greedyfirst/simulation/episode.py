"""One policy on one problem instance: the loop around the policy's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greedyfirst.policies.policy import score, update
from greedyfirst.policies.selection import chosen_arm
from greedyfirst.validation import FloatArray, IntArray

SmallIntArray = NDArray[np.int16]


def play(
    policy: Any,
    state: Any,
    seed: int,
    contexts: FloatArray,
    rewards: FloatArray,
    regrets: FloatArray,
    eligible: FloatArray,
    grid: IntArray,
    curve: FloatArray,
    pulls: FloatArray,
    arms: SmallIntArray,
) -> float:
    """Play all rounds of one instance, or those before one in which no arm can be taken.

    ``contexts`` (horizon, n_features), ``rewards`` and ``regrets`` (horizon, n_arms). The regret
    summed up to round grid[g] goes to curve[g], that of all rounds is returned; ``pulls`` (n_arms,)
    counts how often each arm was played; ``arms`` (horizon,) or empty gets the arm of each round.
    """
    total = 0.0
    point = 0
    for t in range(contexts.shape[0]):
        step = t + 1
        context = contexts[t]
        due = score(policy, state, step, context, eligible)
        arm = chosen_arm(due, state.scores, eligible, seed, step)
        if arm < 0:
            return total
        total += regrets[t, arm]
        pulls[arm] += 1.0
        if t < arms.shape[0]:
            arms[t] = arm
        if point < grid.shape[0] and grid[point] == step:
            curve[point] = total
            point += 1
        update(policy, state, step, context, arm, rewards[t, arm])
    return total


def due_at(policy: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray) -> int:
    """What the policy says of this step: the arm that it must take, or -1 and scores."""
    return score(policy, state, step, context, eligible)
