"""Loops around a policy: compiled where its kernels are kernels, else as plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

from greedyfirst.compiling.families import Function, entry_for
from greedyfirst.compiling.kernels import bound, is_kernel, plain_function
from greedyfirst.compiling.records import Options, allocate
from greedyfirst.policies.policy import Policy, init
from greedyfirst.policies.selection import select, select_in_python


def new_state(options: Options, n_arms: int, n_features: int, rows: int) -> tuple[Any, Any]:
    """A buffer, and in it the state before the first decision, with room for ``rows`` rewards."""
    return allocate(partial(init, options, n_arms, n_features), rows)


def loop_for(function: Function, policy: Policy, *records: Any) -> Function:
    """``function``, which calls ``score``, ``select`` and ``update``, for this policy's records."""
    if policy.is_compiled():
        return entry_for(function, *records)
    names = function.__globals__
    in_python = {
        name: select_in_python if names[name] is select else plain_function(names[name])
        for name in function.__code__.co_names
        if name in names and is_kernel(names[name])
    }
    return bound(function, f"{function.__name__}_in_python", **in_python)
