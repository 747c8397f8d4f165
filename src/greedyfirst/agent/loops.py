"""What an agent runs: one decision, one reward, or many of them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import types

from greedyfirst.agent.noise_sums import WINDOW, NoiseSums
from greedyfirst.compiling.calls import compiled
from greedyfirst.compiling.kernels import entry, inline_kernel
from greedyfirst.compiling.records import Record, flag, floats, part
from greedyfirst.numerics.vectors import copy
from greedyfirst.policies.policy import score, update
from greedyfirst.policies.selection import select
from greedyfirst.validation import FloatArray, IntArray

#: What the calls for one row return instead of an arm or 0 when a number is not finite; nothing is
#: changed then.
BAD_CONTEXT, BAD_REWARD = -1, -2
#: What :func:`learn` returns when an arm's window of rows, of which noise is learned, is full.
FULL = 1

#: How :func:`decide` is asked.
USUAL, ONCE, ONLY_SCORE = range(3)

#: A context as a caller may give it: float64, with whatever strides, alignment and permissions.
GIVEN = types.Array(types.float64, 1, "A", readonly=True, aligned=False)


class Workspace(Record):
    """What an agent's calls for one row work on."""

    policy: Any = part()
    state: Any = part()
    #: The row at hand.
    context: FloatArray = floats("d")
    #: 1 for arms that may be chosen: always, and in one call that says so.
    eligible: FloatArray = floats("n_arms")
    eligible_once: FloatArray = floats("n_arms")
    #: Whether the last decision had to take its arm.
    forced: bool = flag()
    #: What the rewards tell of their noise.
    noise: NoiseSums = part()


def decide(work: Workspace, step: int, given: FloatArray, how: int, seed: int) -> int:
    """The arm for one context at this step, or ``BAD_CONTEXT``.

    ``how`` is ``USUAL``, ``ONCE`` for the arms that are eligible in this call, or ``ONLY_SCORE``
    for the arm that must be taken, or -1 and scores in the state.
    """
    if not take(given, work.context):
        return BAD_CONTEXT
    eligible = work.eligible_once if how == ONCE else work.eligible
    arm = score(work.policy, work.state, step, work.context, eligible)
    if how == ONLY_SCORE:
        return arm
    work.forced = arm >= 0
    if arm < 0:
        arm = select(work.state.scores, eligible, seed, step)
    return arm


def learn(work: Workspace, step: int, given: FloatArray, arm: int, reward: float) -> int:
    """Take in one reward; returns 0, ``BAD_CONTEXT``, ``BAD_REWARD`` or ``FULL``."""
    if not take(given, work.context):
        return BAD_CONTEXT
    if not math.isfinite(reward):
        return BAD_REWARD
    update(work.policy, work.state, step, work.context, arm, reward)
    return FULL if wait(work.noise, work.context, arm, reward) else 0


@inline_kernel
def wait(noise: NoiseSums, context: FloatArray, arm: int, reward: float) -> bool:
    """Keep a row until its arm's window is full; whether it is."""
    if not noise.kept:
        return False
    place = noise.waiting[arm]
    copy(context, noise.rows[arm, place])
    noise.rewards[arm, place] = reward
    noise.waiting[arm] = place + 1
    return bool(place + 1 == WINDOW)


@inline_kernel
def take(given: FloatArray, context: FloatArray) -> bool:
    """Copy a context to where its numbers are neighbours; False if one is not finite."""
    for i in range(context.shape[0]):
        if not math.isfinite(given[i]):
            return False
        context[i] = given[i]
    return True


@entry
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


@cache
def contribution_loop() -> Any:
    """:func:`contribute`, compiled for calls from Python."""
    table, row = np.zeros((0, 0)), np.zeros(0)
    return compiled(contribute, table, GIVEN, table, row)


def decide_many(
    work: Workspace, first_step: int, contexts: FloatArray, seed: int, arms: IntArray
) -> None:
    """Choose an arm for each row of ``contexts``, at steps ``first_step``, +1, …, into ``arms``."""
    for row in range(contexts.shape[0]):
        step = first_step + row
        arm = score(work.policy, work.state, step, contexts[row], work.eligible)
        if arm < 0:
            arm = select(work.state.scores, work.eligible, seed, step)
        arms[row] = arm


def learn_many(
    work: Workspace,
    first: int,
    steps: IntArray,
    contexts: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
) -> int:
    """Take in one reward after the other from ``first`` on, until an arm's window is full.

    Returns which row comes next.
    """
    for row in range(first, contexts.shape[0]):
        update(work.policy, work.state, steps[row], contexts[row], arms[row], rewards[row])
        if wait(work.noise, contexts[row], arms[row], rewards[row]):
            return row + 1
    return len(contexts)
