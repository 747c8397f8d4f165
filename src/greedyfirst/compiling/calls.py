"""Calls from Python into compiled code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar, cast

import numba

from greedyfirst.compiling import cache
from greedyfirst.compiling.failures import one_sentence
from greedyfirst.compiling.kernels import Entry, Function
from greedyfirst.compiling.records import Addressed
from greedyfirst.compiling.routines import make_ready

Result = TypeVar("Result")

#: Seconds of compiling after which a person is told.
TOLD_AFTER = 2.0
_has_told = threading.Event()


@contextmanager
def _told() -> Iterator[None]:
    """Tell a person what is happening and how long it takes, once, if it takes a while."""
    timer = threading.Timer(TOLD_AFTER, _tell)
    timer.daemon = True
    if not _has_told.is_set() and _is_watched(sys.stderr):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_watched(stream: TextIO | None) -> bool:
    """Whether a person sees what is written there: a terminal, or a notebook's cell."""
    return stream is not None and (stream.isatty() or "ipykernel" in sys.modules)


def _tell() -> None:
    if not _has_told.is_set():
        _has_told.set()
        place = cache.kernel_home()
        kept = "which cannot be kept on disk here" if place is None else f"kept in {place}"
        text = f"greedyfirst: compiling for this machine, about half a minute; {kept} ..."
        print(text, file=sys.stderr, flush=True)


def compiled(function: Function, *arguments: Any) -> Function:
    """An entry compiled for these arguments' types, without the look-up of types at each call.

    The look-up costs microseconds, the call itself a fraction of one. The result must be called
    with arguments of exactly the same types, and with records as
    :func:`argument` gives them. A type may be given instead of an
    argument.
    """
    if not isinstance(function, Entry):
        return function
    try:
        with _told():
            return cast(Function, _compiled(function, arguments))
    except numba.errors.NumbaError as error:
        raise one_sentence(error, function.function) from None
    except Exception as error:  # numba has some that are none of its own kind
        raise one_sentence(error, function.function) from error


def _compiled(function: Entry, arguments: tuple[Any, ...]) -> Any:
    for each in arguments:
        make_ready(each)
    dispatcher = function.dispatcher
    signature = tuple(
        argument if isinstance(argument, numba.types.Type) else numba.typeof(argument)
        for argument in arguments
    )
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    return dispatcher.overloads[signature].entry_point


def argument(value: Any) -> Any:
    """A value as an argument of :func:`compiled` functions.

    A record becomes its address, but for where nothing is compiled.
    """
    if isinstance(value, Addressed) and not numba.config.DISABLE_JIT:
        return value.address
    return value


def run(entry: Callable[..., Result], *arguments: Any) -> Result:
    """Call an entry: for calls that are rare, since types are looked up each time."""
    function = compiled(entry, *arguments)
    return function(*map(argument, arguments)) if function is not entry else entry(*arguments)
