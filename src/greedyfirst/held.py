"""Values that compiled code finds at one address, however many arrays they hold.

Numba takes each array of an argument apart at every call from Python; for a state of many arrays
that costs more than a decision. A held value is taken apart once, into a block of 8-byte words: a
number is one word, an array its address and its lengths, a tuple the words of its items. Only the
block's address is passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.extending import (
    NativeValue,
    lower_builtin,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from greedyfirst.compilation import array_value

_WORD = ir.IntType(64)


class Held(int):
    """The address of a value's words; keeps them and the value alive."""

    value: Any
    words: np.ndarray

    def __new__(cls, value: Any) -> Self:
        """Take ``value`` apart: numbers of 8 bytes, contiguous arrays, and tuples of these."""
        words = np.array(list(_words(value)), np.int64)
        self = super().__new__(cls, words.ctypes.data)
        self.value, self.words = value, words
        return self

    def __reduce__(self) -> Any:
        """A copy holds a copy of the value, at an address of its own."""
        return Held, (self.value,)


def hold(value: Any) -> Any:
    """``value`` as an argument for a function that opens it, compiled by ``entry``."""
    return value if numba.config.DISABLE_JIT else Held(value)


def opened(held: Any) -> Any:
    """The value that was held; its arrays stay where they are."""
    return held


def _words(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("only contiguous arrays can be held")
        yield value.ctypes.data
        yield from value.shape
    else:
        yield int(np.array(value).view(np.int64))


class HeldType(types.CPointer):  # type: ignore[misc]
    """The type of ``Held`` in compiled code: the address of a value of type ``dtype``."""


register_model(HeldType)(models.PointerModel)


@typeof_impl.register(Held)
def _typeof(held, context):  # type: ignore[no-untyped-def]
    return HeldType(numba.typeof(held.value))


@unbox(HeldType)
def _unbox(kind, address, c):  # type: ignore[no-untyped-def]
    pointer = c.builder.bitcast(c.pyapi.long_as_voidptr(address), c.context.get_value_type(kind))
    return NativeValue(pointer)


@type_callable(opened)
def _type_opened(context):  # type: ignore[no-untyped-def]
    return lambda held: held.dtype if isinstance(held, HeldType) else None


@lower_builtin(opened, HeldType)
def _open(context, builder, signature, args):  # type: ignore[no-untyped-def]
    words = _loaded(builder, builder.bitcast(args[0], _WORD.as_pointer()))
    return _put_together(context, builder, signature.return_type, words)


def _loaded(builder: Any, address: Any) -> Iterator[Any]:
    while True:
        yield builder.load(address)
        address = builder.gep(address, [_WORD(1)])


def _put_together(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """The code that makes a value of this type from its words."""
    if isinstance(kind, types.BaseTuple):
        items = [_put_together(context, builder, item, words) for item in kind]
        return context.make_tuple(builder, kind, items)
    if isinstance(kind, types.Array):
        address = next(words)
        lengths = [next(words) for _ in range(kind.ndim)]
        return array_value(context, builder, kind, address, lengths)
    return builder.bitcast(next(words), context.get_value_type(kind))
