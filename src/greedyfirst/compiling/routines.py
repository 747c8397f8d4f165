"""Routines: kernels that are compiled once, for all callers, and called by address.

Numba compiles all that a function calls into it, again for each caller. The models' updates and the
switch test are the bulk of the code of every policy: as routines they are compiled once for each
type of record.

    @routine(Mean)
    def observe(mean: Mean, arm: int, x: FloatArray, y: float) -> None: ...

A routine belongs to a record, its first argument; the others are numbers and vectors, and it
returns nothing. Where it is in this process is a word of the record, which is filled in when
compiled code is about to run. The arguments travel in a block of words. Their types come from the
annotations: ``int``, ``float``, ``bool`` and ``FloatArray``, a contiguous vector.

Without the private parts of numba (:mod:`greedyfirst.compiling.native_numba`) a routine is an
ordinary kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic, overload

from greedyfirst.compiling import native_numba
from greedyfirst.compiling.families import entry_modules
from greedyfirst.compiling.kernels import INLINE_OPTIONS, OPTIONS, bound, kept_on_disk, kernel
from greedyfirst.compiling.record_access import RecordType, array_at, load_word
from greedyfirst.compiling.records import Addressed, Record, parts_of, record_name

Function = TypeVar("Function", bound=Callable[..., None])

VECTOR = types.Array(types.float64, 1, "C")
_KINDS = {"int": types.int64, "float": types.float64, "bool": types.boolean, "FloatArray": VECTOR}


class Routine:
    """A kernel that belongs to a record."""

    def __init__(self, function: Callable[..., None], owner: type[Record]) -> None:
        self.name, self.module = function.__name__, function.__module__
        self.body = kernel(function)
        _, *others = inspect.signature(function).parameters.values()
        self.kinds = [_KINDS[str(each.annotation)] for each in others]
        self.place, self.owner = len(owner.routines), record_name(owner)
        self.addresses: dict[RecordType, int] = {}
        self.compiled: list[Any] = []  # kept alive: addresses are theirs
        owner.routines.append(self)

    def address(self, record: Record) -> int:
        """Where its machine code for records of this type is; compiled when it is first needed."""
        kind = record.kind
        if kind not in self.addresses:
            names = {"BODY": self.body, "ARGUMENTS": _arguments(kind, self.kinds)}
            options = {key: value for key, value in OPTIONS.items() if key != "nogil"}
            modules = entry_modules(record)
            function = bound(_call, f"{self.name}_{kind.name}", **names)
            with kept_on_disk(None if modules is None else {*modules, self.module}) as kept:
                made = numba.cfunc("void(int64)", nopython=True, **options, **kept)(function)
            self.compiled.append(made)
            self.addresses[kind] = int(made.address)
        return self.addresses[kind]


def routine(owner: type[Record]) -> Callable[[Function], Function]:
    """Make a kernel, whose first argument is an ``owner``, a routine."""

    def decorate(function: Function) -> Function:
        if not native_numba.CALLS_BY_ADDRESS:
            return kernel(function)
        return cast(Function, _callable(function, Routine(function, owner)))

    return decorate


def make_ready(record: Any) -> None:
    """Fill in where the routines of a record, and of those inside it, are."""
    if not native_numba.CALLS_BY_ADDRESS or not isinstance(record, Addressed):
        return
    for inner in parts_of(record):
        make_ready(inner)
    if isinstance(record, Record):
        for each in record.routines:
            record.words[record.kind.routine_word(each.place)] = each.address(record)


# ------------------------------------------------------------------------------- in compiled code


def _call(block):  # type: ignore[no-untyped-def]
    BODY(*ARGUMENTS(block))  # type: ignore[name-defined]  # noqa: F821


def _arguments(owner: RecordType, kinds: list[Any]) -> Any:
    """Takes a routine's arguments out of the block of words that they came in."""

    @intrinsic
    def arguments(typingctx, block):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(types.voidptr))
            words = (load_word(context, builder, pointer, word) for word in count())
            values = [builder.inttoptr(next(words), context.get_value_type(owner))]
            for kind in kinds:
                if kind is VECTOR:
                    address, length = next(words), next(words)
                    values.append(array_at(context, builder, kind, address, [length]))
                else:
                    values.append(native_numba.from_word(context, builder, kind, next(words)))
            return context.make_tuple(builder, signature.return_type, values)

        return types.Tuple([owner, *kinds])(block), generate

    return arguments


def _words(context: Any, builder: Any, value: Any, given: Any, kind: Any) -> list[Any]:
    """An argument as words: an address and a length, or a number."""
    if kind is VECTOR:
        array = context.make_array(given)(context, builder, value)
        address = builder.ptrtoint(array.data, context.get_value_type(types.int64))
        return [address, builder.extract_value(array.shape, 0)]
    number = context.cast(builder, value, given, kind)
    return [native_numba.to_word(context, builder, kind, number)]


def _callable(function: Any, made: Routine) -> Any:
    """What kernels call: it finds the address in the record and hands the arguments over."""
    signature = inspect.signature(function)
    names = ", ".join(signature.parameters)

    @intrinsic
    def invoke(typingctx, arguments):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            record, *values = (
                builder.extract_value(args[0], place) for place in range(len(arguments))
            )
            words = [builder.ptrtoint(record, context.get_value_type(types.int64))]
            for value, given, kind in zip(values, list(arguments)[1:], made.kinds, strict=True):
                words += _words(context, builder, value, given, kind)
            place = arguments[0].routine_word(made.place)
            address = load_word(context, builder, record, place)
            native_numba.call_with_words(builder, address, words)
            return context.get_dummy_value()

        return types.void(arguments), generate

    def stub(*arguments: Any) -> None:
        raise TypeError(f"{made.name} is for compiled callers only")

    stub.__name__, stub.__doc__, stub.__module__ = made.name, function.__doc__, made.module
    forward = eval(f"lambda {names}: invoke(({names},))", {"invoke": invoke})

    def select(*kinds: Any) -> Any:
        mine = isinstance(kinds[0], RecordType) and kinds[0].record == made.owner
        return forward if mine else None

    select.__signature__ = signature  # type: ignore[attr-defined]
    overload(stub, strict=False, jit_options=INLINE_OPTIONS)(select)
    return stub
