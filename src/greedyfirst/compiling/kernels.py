"""Kernels: functions that numba compiles, and how Python calls into them.

A **kernel** is a function of records, arrays and numbers that works in place: it makes no array,
and it is called by other kernels only. An **entry** is what Python calls: a loop around kernels,
cached on disk with all that it calls.

No fast-math: floating-point operations keep their written order, so that compiled and uncompiled
runs (``NUMBA_DISABLE_JIT=1``) take the same decisions.

Everything here is numba's public interface. What private parts of it buy, and how to go without
them (``GREEDYFIRST_PLAIN_NUMBA=1``), is in :mod:`greedyfirst.compiling.native_numba`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

from greedyfirst.compiling import cache, native_numba

Function = TypeVar("Function", bound=Callable[..., Any])

#: Held while numba is told, for all threads, where to keep what is compiled.
_CHOOSING_DIRECTORY = threading.RLock()

if numba.config.DISABLE_JIT:
    # The 64-bit hashing of random draws wraps around on purpose; uncompiled, NumPy would warn.
    np.seterr(over="ignore")

#: Options of all that is compiled: the GIL is released, and a division by zero gives an infinity.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", **native_numba.OPTIONS}
#: Options of a kernel: no wrappers for calls from Python or C. What is not said here a kernel
#: inherits from the kernel that calls it, inlining too.
KERNEL_OPTIONS: dict[str, Any] = {
    **OPTIONS,
    "forceinline": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    **native_numba.KERNEL_OPTIONS,
}
INLINE_OPTIONS: dict[str, Any] = {**KERNEL_OPTIONS, "forceinline": True}


def kernel(function: Function) -> Function:
    """Compile ``function``, which works in place: it makes no array and returns none."""
    return cast(Function, numba.njit(**KERNEL_OPTIONS)(function))


def inline_kernel(function: Function) -> Function:
    """A kernel whose machine code is copied into its callers: for what runs in every round."""
    return cast(Function, numba.njit(**INLINE_OPTIONS)(function))


def is_kernel(function: Any) -> bool:
    """Whether ``function`` was made by :func:`kernel` or :func:`inline_kernel`."""
    return hasattr(function, "py_func")


def plain_function(function: Any) -> Any:
    """The Python function that a kernel was made from."""
    return getattr(function, "py_func", function)


class Entry:
    """A function for calls from Python, compiled when it is first needed.

    It is kept on disk with all that it calls. ``reaches`` names modules of kernels that the
    function does not name itself: the cache must know of their code too; None keeps nothing.
    """

    def __init__(self, function: Callable[..., Any], reaches: Iterable[str] | None = ()) -> None:
        self.function, self.reaches = function, reaches

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's side of it."""
        own = self.function.__module__
        with kept_on_disk(None if self.reaches is None else {own, *self.reaches}) as kept:
            return numba.njit(**OPTIONS, no_cfunc_wrapper=True, **kept)(self.function)


@contextmanager
def kept_on_disk(modules: Iterable[str] | None) -> Iterator[dict[str, bool]]:
    """The options that keep what is compiled meanwhile, from these modules; None keeps nothing.

    Elsewhere than in our directory nothing may be kept: numba's own choice of place is not keyed
    by the source.
    """
    directory = None if modules is None else cache.directory_for(modules)
    if directory is None:
        yield {}
        return
    with _CHOOSING_DIRECTORY:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = directory
        try:
            yield {"cache": True}
        finally:
            numba.config.CACHE_DIR = before


def entry(function: Function) -> Function:
    """``function`` as an :class:`Entry`."""
    return function if numba.config.DISABLE_JIT else cast(Function, Entry(function))


def bound(function: Function, name: str, **functions: Any) -> Function:
    """``function`` with some of its global names standing for these functions.

    The way to compile one loop around each policy's kernels: a function passed as an argument
    would not be found in the disk cache again.
    """
    made = FunctionType(function.__code__, {**function.__globals__, **functions}, name)
    made.__qualname__ = name
    made.__module__ = function.__module__
    return cast(Function, made)
