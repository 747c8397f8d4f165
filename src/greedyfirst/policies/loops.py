"""Loops around a policy: compiled where its kernels are kernels, else as plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

from greedyfirst.compiling.families import Function, entry_for, member_of
from greedyfirst.compiling.kernels import bound, is_kernel, plain_function
from greedyfirst.compiling.records import Memory, Options, Record, allocate
from greedyfirst.policies.policy import Policy, init
from greedyfirst.policies.selection import Scores, chosen_arm, chosen_in_python
from greedyfirst.validation import wrong


def new_state(options: Options, n_arms: int, n_features: int, rows: int) -> tuple[Any, Any]:
    """A buffer, and in it the state before the first decision, with room for ``rows`` rewards."""
    buffer, state = allocate(partial(_checked_init, options, n_arms, n_features), rows)
    return buffer, state


def _checked_init(options: Options, n_arms: int, n_features: int, memory: Memory) -> Any:
    """The policy's ``init``, which must return a state with scores."""
    state = init(options, n_arms, n_features, memory)
    if not isinstance(state, Record) or not isinstance(getattr(state, "scores", None), Scores):
        expected = "a Record with scores, a part of the type Scores"
        raise wrong(f"the state that {member_of(options).__name__}.init returns", state, expected)
    return state


def loop_for(function: Function, policy: Policy, *records: Any) -> Function:
    """``function``, which calls ``score``, ``chosen_arm`` and ``update``, for these records."""
    if policy.is_compiled():
        return entry_for(function, *records)
    names = function.__globals__
    in_python = {
        name: chosen_in_python if names[name] is chosen_arm else plain_function(names[name])
        for name in function.__code__.co_names
        if name in names and is_kernel(names[name])
    }
    return bound(function, f"{function.__name__}_in_python", **in_python)
