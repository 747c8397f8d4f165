"""Which generators of random numbers a function reaches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from inspect import getclosurevars
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import plain_function
from greedyfirst.numerics import randomness

_MODULES = (random, np.random, randomness)
_LIBRARIES = ("numba", "numpy", "scipy")
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)


def draws_of(function: Any) -> list[str]:
    """The names by which a function, or one that it calls, reaches a generator."""
    return sorted(set(_draws(plain_function(function), set())))


def _draws(function: Callable[..., Any], seen: set[Any]) -> Iterator[str]:
    if not isinstance(function, FunctionType) or function in seen:
        return
    if function.__module__.partition(".")[0] in _LIBRARIES:
        return
    seen.add(function)
    used = getclosurevars(function)
    for name, value in {**used.globals, **used.nonlocals}.items():
        plain = plain_function(value)
        if plain is np and "random" in used.unbound:
            yield f"{name}.random"
        elif _is_generator(plain):
            yield name
        elif isinstance(plain, ModuleType):
            own = (getattr(plain, attribute, None) for attribute in used.unbound)
            for inner in map(plain_function, own):
                if getattr(inner, "__module__", None) == plain.__name__:
                    yield from _draws(inner, seen)
        else:
            yield from _draws(plain, seen)


def _is_generator(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value in _MODULES
    if isinstance(value, _GENERATORS) or isinstance(getattr(value, "__self__", 0), _GENERATORS):
        return True
    return getattr(value, "__module__", None) == randomness.__name__
