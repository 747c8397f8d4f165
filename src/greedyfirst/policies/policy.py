"""What a policy is, and how its kernels are found.

A **policy** is an immutable record of hyperparameters: a frozen, keyword-only dataclass. Its
compiled form is a *record*: a named tuple of numbers and arrays with the same field names, made by
:meth:`Policy.record` for a given number of arms and features. The record's type selects the
policy's kernels, when compiled as well as when not. A policy's file defines:

``init(policy, n_arms, n_features, memory) -> state``
    the state before the first decision: a named tuple of arrays in a memory (not compiled);
``weigh(policy, state, step, context, eligible) -> arm``
    the arm that this decision must take, or -1 and an outlook to select from (``state.outlook``,
    see :mod:`greedyfirst.policies.selection`); ``eligible`` is 1 for arms that may be chosen;
    changes nothing but scratch arrays;
``update(policy, state, step, context, arm, reward)``
    learn, in place; ``step`` is the decision's, ``FOREIGN`` for a row that the policy did not
    decide, ``SUMMARY`` for one that stands for many others (same Gram matrix and moments).

Every state has an ``outlook``, and a ``model`` with the arms' ``pulls``, ``gram`` and ``estimate``.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, cast

from numba import types
from numba.extending import overload

from greedyfirst.compilation import INLINE_OPTIONS, Function, bind
from greedyfirst.links import Identity, Link
from greedyfirst.memory import Memory
from greedyfirst.validation import FloatArray

FOREIGN, SUMMARY = 0, -1

#: The policies' table: which file holds the kernels of which record. Filled by the package.
KERNELS: dict[type, ModuleType] = {}
_COMPILED: dict[tuple[str, type], Any] = {}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Hyperparameters; no state and no randomness."""

    Record: ClassVar[type]

    def __init_subclass__(cls) -> None:
        """Make the record type: the policy's fields, in a place where numba's cache finds it."""
        name = f"{cls.__name__}Record"
        fields = [key for key, kind in cls.__annotations__.items() if "ClassVar" not in str(kind)]
        cls.Record = namedtuple(name, fields, module=cls.__module__)  # type: ignore[misc]
        setattr(sys.modules[cls.__module__], name, cls.Record)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The policy as compiled kernels take it, with defaults that depend on the problem set."""
        raise NotImplementedError

    def reward_link(self) -> type[Link]:
        """The link under which it learns: it says which rewards are possible."""
        return Identity

    def needs_truth(self) -> bool:
        """Whether it must be told the true parameters of each instance."""
        return False

    def informed(self, parameters: FloatArray) -> Policy:
        """The policy for an instance with these true parameters (n_arms, n_features)."""
        return self


def compiled_for(function: Function, policy: type[Policy]) -> Function:
    """``function``, which calls ``weigh`` and ``update``, compiled around a policy's kernels."""
    key = (function.__name__, policy)
    if key not in _COMPILED:
        module = KERNELS[policy.Record]
        _COMPILED[key] = bind(
            function,
            f"{function.__name__}_{policy.__name__}",
            weigh=module.weigh,
            update=module.update,
        )
    return cast(Function, _COMPILED[key])


def _python_kernel(name: str, policy: Any) -> Any:
    return getattr(KERNELS[type(policy)], name)


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> Any:
    """The policy's state before the first decision, in ``memory``."""
    return _python_kernel("init", policy)(policy, n_arms, n_features, memory)


def weigh(policy: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray) -> int:
    """The arm that decision ``step`` (1, 2, …) must take, or -1 and an outlook in the state."""
    arm: int = _python_kernel("weigh", policy)(policy, state, step, context, eligible)
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


@overload(weigh, strict=False, jit_options=INLINE_OPTIONS)
def _weigh(policy, state, step, context, eligible):  # type: ignore[no-untyped-def]
    return _compiled_kernel("weigh", policy)


@overload(update, strict=False, jit_options=INLINE_OPTIONS)
def _update(policy, state, step, context, arm, reward):  # type: ignore[no-untyped-def]
    return _compiled_kernel("update", policy)
