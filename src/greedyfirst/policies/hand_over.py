"""What Greedy-First's fallback is told at a switch: nothing, all samples, or the initial ones.

All samples are handed over as a whole model where the two phases have the same kind, else as at
most d rows per arm that stand for all others: they teach the fallback's estimators, and its clock
starts at its own first decision. The initial samples, those of the greedy phase's pulls in turns,
become the fallback's own first steps, and its clock goes on from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from greedyfirst.compilation import INLINE_OPTIONS, inline_kernel, rare_kernel
from greedyfirst.linalg import copy
from greedyfirst.memory import Memory
from greedyfirst.models import generalized_linear, least_squares, summary
from greedyfirst.models.generalized_linear import GeneralizedLinear
from greedyfirst.models.least_squares import COUNT, UNASKED, LeastSquares
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.diversity_watch import OFFSET
from greedyfirst.policies.initial_pulls import FOUNDERS
from greedyfirst.policies.policy import FOREIGN, SUMMARY
from greedyfirst.validation import FloatArray, wrong
from greedyfirst.vector_loops import inner

CARRY_OVER = (False, True, "initial")
NOTHING, ALL, INITIAL = range(3)
# Of an initial sample: its arm's number plus one, 0 while its reward has not come; its reward.
ARM, REWARD = range(2)


class InitialSamples(NamedTuple):
    """The greedy phase's initial samples, by step; no room where they are not handed over."""

    contexts: FloatArray  # (n, d)
    outcomes: FloatArray  # (n, 2)


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
    return InitialSamples(memory.take(n, n_features), memory.take(n, 2))


@inline_kernel
def initial_steps(policy: Any, state: Any) -> int:
    """How many steps of the greedy phase are handed over as the fallback's own."""
    if policy.carry_over != INITIAL:
        return 0
    return int(policy.greedy.initial_pulls * state.greedy.initial[0, FOUNDERS])


@inline_kernel
def own_step(policy: Any, state: Any, step: int) -> int:
    """The fallback's number of decision ``step``, ``FOREIGN`` if that was greedy's alone."""
    offset, handed = int(state.watch.numbers[OFFSET]), initial_steps(policy, state)
    if offset == 0 or step > offset + handed:
        return step - offset
    return step if FOREIGN < step <= handed else FOREIGN


@inline_kernel
def keep(policy: Any, state: Any, step: int, context: FloatArray, arm: int, reward: float) -> None:
    """Keep an initial sample, to be handed over."""
    if FOREIGN < step <= initial_steps(policy, state):
        copy(context, state.initial.contexts[step - 1])
        state.initial.outcomes[step - 1, ARM] = arm + 1.0
        state.initial.outcomes[step - 1, REWARD] = reward


@rare_kernel
def hand_over(policy: Any, state: Any) -> None:
    """Tell the fallback, which has learned nothing yet, what the policy says."""
    stop_asking(state.greedy.model)
    if policy.carry_over == ALL:
        hand_over_all(policy, state)
    for place in range(state.initial.contexts.shape[0]):
        arm, reward = (
            int(state.initial.outcomes[place, ARM]) - 1,
            state.initial.outcomes[place, REWARD],
        )
        if arm >= 0:
            context = state.initial.contexts[place]
            kernels.update(policy.fallback, state.fallback, place + 1, context, arm, reward)


def stop_asking(model: Any) -> None:
    """Least squares go on taking in rows, but their estimates may rest until greedy is back."""
    if isinstance(model, LeastSquares):
        model.numbers[:, UNASKED] = 1.0


@overload(stop_asking, strict=False, jit_options=INLINE_OPTIONS)
def _stop_asking(model):  # type: ignore[no-untyped-def]
    if model.instance_class is not LeastSquares:
        return lambda model: None

    def compiled(model):  # type: ignore[no-untyped-def]
        for arm in range(model.numbers.shape[0]):
            model.numbers[arm, UNASKED] = 1.0

    return compiled


def hand_over_all(policy: Any, state: Any) -> None:
    """Teach the fallback the greedy phase's samples, as a whole model or as few rows."""
    source, target = state.greedy.model, state.fallback.model
    if isinstance(source, GeneralizedLinear) and isinstance(target, GeneralizedLinear):
        generalized_linear.take_over(source, target)
    else:
        hand_over_summary(policy, state, getattr(source, "linear", source))


@rare_kernel
def hand_over_summary(policy: Any, state: Any, model: LeastSquares) -> None:
    """Teach the fallback at most d rows per arm."""
    rows, rewards = model.scratch_matrices[0], model.scratch[least_squares.GAIN]
    for arm in range(state.allowed.shape[0]):
        summary.summarise_by(state.summarise_routine, model, arm)
        pulls = state.fallback.model.numbers[arm]
        pulls[COUNT] += model.numbers[arm, COUNT]
        for k in range(rows.shape[0]):
            if inner(rows[k], rows[k]) > 0.0:
                pulls[COUNT] -= 1.0
                kernels.update(policy.fallback, state.fallback, SUMMARY, rows[k], arm, rewards[k])


@overload(hand_over_all, strict=False, jit_options=INLINE_OPTIONS)
def _hand_over_all(policy, state):  # type: ignore[no-untyped-def]
    source, target = (
        dict(zip(phase.fields, phase.types, strict=True))["model"] for phase in state.types[:2]
    )
    if source.instance_class is GeneralizedLinear and target.instance_class is GeneralizedLinear:
        return lambda policy, state: generalized_linear.take_over(
            state.greedy.model, state.fallback.model
        )
    if source.instance_class is GeneralizedLinear:
        return lambda policy, state: hand_over_summary(policy, state, state.greedy.model.linear)
    return lambda policy, state: hand_over_summary(policy, state, state.greedy.model)
