"""The compiled loops behind an agent."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from greedyfirst.compilation import entry_kernel, inline_kernel
from greedyfirst.held import opened
from greedyfirst.policies.greedy_first import switch
from greedyfirst.policies.policy import update, weigh
from greedyfirst.policies.selection import select
from greedyfirst.validation import FloatArray

#: What the calls for one row return instead of an arm or 0 when a number is not finite; nothing is
#: changed then.
BAD_CONTEXT, BAD_REWARD = -1, -2

#: A context as a caller may give it: float64, with whatever strides, alignment and permissions.
GIVEN = types.Array(types.float64, 1, "A", readonly=True, aligned=False)


class Desk(NamedTuple):
    """What an agent's calls for one row work on."""

    policy: Any
    state: Any
    context: FloatArray  # (n_features,) the row at hand
    eligible: FloatArray  # (n_arms,) what may be chosen
    eligible_once: FloatArray  # (n_arms,) what may be chosen in one call that says so
    forced: FloatArray  # (1,) 1 if the last decision had to take its arm


def decide(desk: Any, step: int, given: FloatArray, once: int, seed: int) -> int:
    """The arm for one context at this step, or ``BAD_CONTEXT``."""
    policy, state, context, usual, single, forced = opened(desk)
    if not take(given, context):
        return BAD_CONTEXT
    eligible = single if once else usual
    arm = weigh(policy, state, step, context, eligible)
    forced[0] = 1.0
    if arm < 0:
        forced[0] = 0.0
        arm = select(state.outlook, eligible, seed, step)
    return arm


def learn(desk: Any, step: int, given: FloatArray, arm: int, reward: float) -> int:
    """Take in one reward; returns 0, ``BAD_CONTEXT`` or ``BAD_REWARD``."""
    policy, state, context, _, _, _ = opened(desk)
    if not take(given, context):
        return BAD_CONTEXT
    if not math.isfinite(reward):
        return BAD_REWARD
    update(policy, state, step, context, arm, reward)
    return 0


@inline_kernel
def take(given: FloatArray, context: FloatArray) -> bool:
    """Copy a context to where its numbers are neighbours; False if one is not finite."""
    for i in range(context.shape[0]):
        if not math.isfinite(given[i]):
            return False
        context[i] = given[i]
    return True


@entry_kernel
def contribute(
    estimate: FloatArray, context: FloatArray, parts: FloatArray, sums: FloatArray
) -> bool:
    """Coefficient times value into ``parts`` (n_arms, n_features), their sums into ``sums``.

    False if the context is not finite.
    """
    for i in range(context.shape[0]):
        if not math.isfinite(context[i]):
            return False
    for arm in range(estimate.shape[0]):
        total = 0.0
        for i in range(estimate.shape[1]):
            parts[arm, i] = estimate[arm, i] * context[i]
            total += parts[arm, i]
        sums[arm] = total
    return True


def decide_many(
    policy: Any,
    state: Any,
    first_step: int,
    contexts: FloatArray,
    eligible: FloatArray,
    seed: int,
    arms: np.ndarray,
) -> None:
    """Choose an arm for each row of ``contexts``, at steps ``first_step``, +1, …, into ``arms``."""
    for row in range(contexts.shape[0]):
        step = first_step + row
        arm = weigh(policy, state, step, contexts[row], eligible)
        if arm < 0:
            arm = select(state.outlook, eligible, seed, step)
        arms[row] = arm


def learn_many(
    policy: Any,
    state: Any,
    steps: np.ndarray,
    contexts: FloatArray,
    arms: np.ndarray,
    rewards: FloatArray,
) -> None:
    """Take in one reward after the other."""
    for row in range(contexts.shape[0]):
        update(policy, state, steps[row], contexts[row], arms[row], rewards[row])


def foresee(
    policy: Any,
    state: Any,
    step: int,
    context: FloatArray,
    eligible: FloatArray,
    due: np.ndarray,
) -> None:
    """The arm that ``step`` must take into ``due[0]``, or -1 and an outlook in the state."""
    due[0] = weigh(policy, state, step, context, eligible)


def start_fallback(policy: Any, state: Any, step: int) -> None:
    """Let Greedy-First's fallback decide after decision ``step``."""
    switch(policy, state, step)
