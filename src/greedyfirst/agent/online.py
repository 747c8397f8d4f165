"""The compiled loops behind an agent: one row or many, the same code."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.policies.policy import update, weigh
from greedyfirst.policies.selection import select
from greedyfirst.validation import FloatArray


def decide(
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


def learn(
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
