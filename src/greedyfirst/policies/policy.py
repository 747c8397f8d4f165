"""What a policy is, and how its kernels are found.

A **policy** is an immutable record of hyperparameters: a frozen, keyword-only dataclass. Its
compiled form is a *record*: a named tuple of numbers and arrays with the same field names, made by
:meth:`Policy.record` for a given number of arms and features. The record's type selects the
policy's kernels, when compiled as well as when not. A policy's file defines:

``init(policy, n_arms, n_features, memory) -> state``
    the state before the first decision: a named tuple of arrays in a memory (not compiled);
``choose(policy, state, step, context, eligible, rng) -> arm``
    decide; ``eligible`` is 1 for arms that may be chosen; changes nothing but scratch arrays;
``update(policy, state, step, context, arm, reward)``
    learn, in place; ``step`` is the decision's, ``FOREIGN`` for a row that the policy did not
    decide, ``SUMMARY`` for one that stands for many others (same Gram matrix and moments).

Every state has a ``model`` with the arms' ``count``, ``gram`` and ``estimate``.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, cast

import numpy as np
from numba import types
from numba.extending import overload

from greedyfirst.compilation import INLINE_OPTIONS, Function, bind
from greedyfirst.memory import Memory
from greedyfirst.validation import FloatArray

#: Samples behind an estimated probability: its standard error is at most 0.005.
PROBABILITY_SAMPLES = 10_000

FOREIGN, SUMMARY = 0, -1

#: The policies' table: which file holds the kernels of which record. Filled by the package.
KERNELS: dict[type, ModuleType] = {}
_COMPILED: dict[tuple[str, type], Any] = {}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Hyperparameters; no state and no randomness."""

    Record: ClassVar[type]
    #: Whether :meth:`probabilities` is exact; otherwise it is estimated by simulation.
    exact_probabilities: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Make the record type: the policy's fields, in a place where numba's cache finds it."""
        name = f"{cls.__name__}Record"
        fields = [key for key, kind in cls.__annotations__.items() if "ClassVar" not in str(kind)]
        cls.Record = namedtuple(name, fields, module=cls.__module__)  # type: ignore[misc]
        setattr(sys.modules[cls.__module__], name, cls.Record)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The policy as compiled kernels take it, with defaults that depend on the problem set."""
        raise NotImplementedError

    def probabilities(
        self, record: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray
    ) -> FloatArray:
        """The probability of each arm at this step, estimated from seeded draws."""
        counts = np.zeros(len(eligible))
        for draw in range(PROBABILITY_SAMPLES):
            counts[choose(record, state, step, context, eligible, np.uint64(draw))] += 1
        return counts / PROBABILITY_SAMPLES


def compiled_for(function: Function, policy: type[Policy]) -> Function:
    """``function``, which calls ``choose`` and ``update``, compiled around a policy's kernels."""
    key = (function.__name__, policy)
    if key not in _COMPILED:
        module = KERNELS[policy.Record]
        _COMPILED[key] = bind(
            function,
            f"{function.__name__}_{policy.__name__}",
            choose=module.choose,
            update=module.update,
        )
    return cast(Function, _COMPILED[key])


def _python_kernel(name: str, policy: Any) -> Any:
    return getattr(KERNELS[type(policy)], name)


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> Any:
    """The policy's state before the first decision, in ``memory``."""
    return _python_kernel("init", policy)(policy, n_arms, n_features, memory)


def choose(
    policy: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray, rng: np.uint64
) -> int:
    """The arm for this context at decision ``step`` (1, 2, …)."""
    arm: int = _python_kernel("choose", policy)(policy, state, step, context, eligible, rng)
    return arm


def update(
    policy: Any, state: Any, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """Learn from the reward of decision ``step``, or of a foreign or summary row."""
    _python_kernel("update", policy)(policy, state, step, context, arm, reward)


def _compiled_kernel(name: str, policy: Any) -> Any:
    """The policy file's function, for numba to compile into the caller."""
    if isinstance(policy, types.BaseNamedTuple) and policy.instance_class in KERNELS:
        return getattr(KERNELS[policy.instance_class], name).py_func
    return None


@overload(choose, strict=False, jit_options=INLINE_OPTIONS)
def _choose(policy, state, step, context, eligible, rng):  # type: ignore[no-untyped-def]
    return _compiled_kernel("choose", policy)


@overload(update, strict=False, jit_options=INLINE_OPTIONS)
def _update(policy, state, step, context, arm, reward):  # type: ignore[no-untyped-def]
    return _compiled_kernel("update", policy)
