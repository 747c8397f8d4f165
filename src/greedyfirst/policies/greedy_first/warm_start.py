"""What Greedy-First's fallback is told at a switch: nothing, all samples, or the initial ones.

All samples are handed over as a whole model where the two phases have the same kind, else as at
most d rows per arm that stand for all others: they teach the fallback's estimators, and its clock
starts at its own first decision. The initial samples, those of the greedy phase's pulls in turns,
become the fallback's own first steps, and its clock goes on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from greedyfirst.compiling.kernels import INLINE_OPTIONS, inline_kernel, kernel
from greedyfirst.compiling.record_access import field_type
from greedyfirst.compiling.records import (
    Memory,
    Record,
    copy_record,
    floats,
    integers,
)
from greedyfirst.models.likelihood import GeneralizedLinear
from greedyfirst.models.linear_part import add_pulls, pause
from greedyfirst.models.summary import summarise
from greedyfirst.numerics.vectors import copy, inner
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.greedy_first.watch import Watch
from greedyfirst.policies.policy import FOREIGN, SUMMARY
from greedyfirst.validation import FloatArray, IntArray, wrong

CARRY_OVER = (False, True, "initial")
NOTHING, ALL, INITIAL = range(3)


class InitialSamples(Record):
    """The greedy phase's initial samples, by step; no room where they are not handed over."""

    contexts: FloatArray = floats("samples", "d")
    #: The arm's number plus one, 0 while its reward has not come.
    arms: IntArray = integers("samples")
    rewards: FloatArray = floats("samples")


def carry_over_code(value: Any) -> int:
    """The place of ``value`` in CARRY_OVER; 0 and 1 are refused."""
    if isinstance(value, (bool, np.bool_)):
        return ALL if value else NOTHING
    if isinstance(value, str) and value == CARRY_OVER[INITIAL]:
        return INITIAL
    raise wrong("carry_over", value, "True, False or 'initial'")


def init(memory: Memory, policy: Any, n_arms: int, n_features: int) -> InitialSamples:
    """The initial samples before the first."""
    n = n_arms * policy.greedy.initial_pulls if policy.carry_over == INITIAL else 0
    return InitialSamples(memory, samples=n, d=n_features)


@inline_kernel
def initial_steps(policy: Any, state: Any) -> int:
    """How many steps of the greedy phase are handed over as the fallback's own."""
    if policy.carry_over != INITIAL:
        return 0
    return int(policy.greedy.initial_pulls * state.greedy.initial.founders)


@inline_kernel
def own_step(policy: Any, state: Any, step: int) -> int:
    """The fallback's number of decision ``step``, ``FOREIGN`` if that was greedy's alone."""
    watch: Watch = state.watch
    offset, handed = watch.offset, initial_steps(policy, state)
    if offset == 0 or step > offset + handed:
        return step - offset
    return step if FOREIGN < step <= handed else FOREIGN


@inline_kernel
def keep(policy: Any, state: Any, step: int, context: FloatArray, arm: int, reward: float) -> None:
    """Keep an initial sample, to be handed over."""
    if FOREIGN < step <= initial_steps(policy, state):
        copy(context, state.samples.contexts[step - 1])
        state.samples.arms[step - 1] = arm + 1
        state.samples.rewards[step - 1] = reward


@kernel
def hand_over(policy: Any, state: Any) -> None:
    """Tell the fallback, which has learned nothing yet, what the policy says."""
    samples = state.samples
    pause(state.greedy.model)
    if policy.carry_over == ALL:
        hand_over_all(policy, state)
    for place in range(samples.arms.shape[0]):
        arm = samples.arms[place] - 1
        if arm >= 0:
            context, reward = samples.contexts[place], samples.rewards[place]
            kernels.update(policy.fallback, state.fallback, place + 1, context, arm, reward)


def hand_over_all(policy: Any, state: Any) -> None:
    """Teach the fallback the greedy phase's samples, as a whole model or as few rows."""
    source, target = state.greedy.model, getattr(state.fallback, "model", None)
    if isinstance(source, GeneralizedLinear) and isinstance(target, GeneralizedLinear):
        copy_record(source, target)
    else:
        hand_over_summary(policy, state)


@overload(hand_over_all, strict=False, jit_options=INLINE_OPTIONS)
def _hand_over_all(policy, state):  # type: ignore[no-untyped-def]
    source, target = (
        field_type(field_type(state, phase), "model") for phase in ("greedy", "fallback")
    )
    if source == target and field_type(source, "linear") is not None:
        return lambda policy, state: copy_record(state.greedy.model, state.fallback.model)
    return lambda policy, state: hand_over_summary(policy, state)


@kernel
def hand_over_summary(policy: Any, state: Any) -> None:
    """Teach the fallback at most d rows per arm."""
    summary = state.summary
    rows, rewards, pulls = summary.rows, summary.rewards, summary.samples.pulls
    for arm in range(pulls.shape[0]):
        summarise(summary, arm)
        add_pulls(state.fallback, arm, pulls[arm])
        for k in range(rows.shape[0]):
            if inner(rows[k], rows[k]) > 0.0:
                add_pulls(state.fallback, arm, -1)
                kernels.update(policy.fallback, state.fallback, SUMMARY, rows[k], arm, rewards[k])
