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

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

from greedyfirst.compiling import cache, native_numba
from greedyfirst.compiling.failures import one_sentence

Function = TypeVar("Function", bound=Callable[..., Any])

#: Held while numba is told, for all threads, where to keep what one entry compiles to.
_CHOOSING_DIRECTORY = threading.Lock()
#: Seconds of compiling after which a terminal is told.
TOLD_AFTER = 2.0

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
        options = {**OPTIONS, "no_cfunc_wrapper": True}
        directory = None
        if self.reaches is not None:
            directory = cache.directory_for({self.function.__module__, *self.reaches})
        if directory is None:  # numba's own choice of place would not be keyed by the source
            return numba.njit(**options)(self.function)
        with _CHOOSING_DIRECTORY:
            before = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = directory
            try:
                return numba.njit(**options, cache=True)(self.function)
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


@contextmanager
def _told() -> Iterator[None]:
    """Say on a terminal what is happening, if it takes a while."""
    text = "compiling kernels, once for this version of the code: up to a minute ..."
    timer = threading.Timer(TOLD_AFTER, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def compiled(function: Function, *arguments: Any) -> Function:
    """An entry compiled for these arguments' types, without the look-up of types at each call.

    The look-up costs microseconds, the call itself a fraction of one. The result must be called
    with arguments of exactly the same types, and with records as
    :func:`~greedyfirst.compiling.records.argument` gives them. A type may be given instead of an
    argument.
    """
    if not isinstance(function, Entry):
        return function
    dispatcher = function.dispatcher
    signature = tuple(
        argument if isinstance(argument, numba.types.Type) else numba.typeof(argument)
        for argument in arguments
    )
    if signature not in dispatcher.overloads:
        try:
            with _told():
                dispatcher.compile(signature)
        except numba.errors.NumbaError as error:
            raise one_sentence(error, function.function) from None
        except Exception as error:  # numba has some that are none of its own kind
            raise one_sentence(error, function.function) from error
    return cast(Function, dispatcher.overloads[signature].entry_point)
