"""Records in compiled code: a pointer to words, and how fields are read and written there.

The words of a record are the addresses of its fields, in their order, the lengths that the shapes
name, and the addresses of its routines. Everything here is numba's public interface for extensions.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numba
from numba import types
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    overload_attribute,
    register_model,
    unbox,
)

from greedyfirst.compiling import native_numba


class Place(NamedTuple):
    """Where a field is: its word, by order; ``shape`` is None for an inner record."""

    name: str
    kind: Any
    shape: tuple[str | int, ...] | None


class RecordType(types.Type):  # type: ignore[misc]
    """The type of a record in compiled code: a pointer to its words.

    Two records have the same type if they have the same name and fields. ``constant`` records are
    never written to.
    """

    def __init__(
        self,
        record: str,
        places: tuple[Place, ...],
        lengths: tuple[str, ...],
        routines: tuple[str, ...] = (),
        constant: bool = False,
    ) -> None:
        self.record, self.places, self.lengths, self.constant = record, places, lengths, constant
        told = [(each.name, str(each.kind), each.shape) for each in places]
        digest = hashlib.sha256(repr((record, told, lengths, routines)).encode()).hexdigest()[:10]
        super().__init__(name=f"{record.rpartition('.')[2]}_{digest}")

    def place(self, name: str) -> tuple[int, Place] | None:
        """A field's word and what is there."""
        for word, place in enumerate(self.places):
            if place.name == name:
                return word, place
        return None

    def length_word(self, name: str) -> int:
        """Where a length that shapes name is."""
        return len(self.places) + self.lengths.index(name)

    def routine_word(self, place: int) -> int:
        """Where the address of one of the record's routines is."""
        return len(self.places) + len(self.lengths) + place


register_model(RecordType)(models.OpaqueModel)


@unbox(RecordType)
def _unbox(kind, address, c):  # type: ignore[no-untyped-def]
    return NativeValue(c.pyapi.long_as_voidptr(address))


def field_type(record: Any, name: str) -> Any:
    """The type of a record's field, or None if there is no such field."""
    found = record.place(name) if isinstance(record, RecordType) else None
    if found is None:
        return None
    _, place = found
    return types.Array(place.kind, len(place.shape), "C") if place.shape else place.kind


def load_word(context: Any, builder: Any, record: Any, place: int) -> Any:
    """Load a word; words never change while a function runs, which lets LLVM load them once."""
    words = builder.bitcast(record, context.get_value_type(types.CPointer(types.int64)))
    word = builder.load(builder.gep(words, [context.get_constant(types.intp, place)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _length(context: Any, builder: Any, kind: RecordType, record: Any, length: str | int) -> Any:
    if isinstance(length, int):
        return context.get_constant(types.intp, length)
    return load_word(context, builder, record, kind.length_word(length))


def _item_size(context: Any, kind: Any) -> Any:
    return context.get_constant(types.intp, 1 if kind is types.boolean else kind.bitwidth // 8)


def _number(context: Any, builder: Any, record: Any, word: int, kind: Any) -> Any:
    """The pointer to a single number."""
    address = load_word(context, builder, record, word)
    return builder.inttoptr(address, context.get_data_type(kind).as_pointer())


def _read(context: Any, builder: Any, kind: Any, record: Any, name: str) -> Any:
    """The code that reads a field: a record, a number, or a view of an array."""
    word, place = kind.place(name)
    if place.shape is None:
        address = load_word(context, builder, record, word)
        return builder.inttoptr(address, context.get_value_type(place.kind))
    if not place.shape:
        pointer = _number(context, builder, record, word, place.kind)
        return context.unpack_value(builder, place.kind, pointer)
    lengths = [_length(context, builder, kind, record, length) for length in place.shape]
    array = types.Array(place.kind, len(lengths), "C")
    return array_at(context, builder, array, load_word(context, builder, record, word), lengths)


def array_at(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    """The code that makes a contiguous array at an address; it does not own the memory."""
    array = context.make_array(kind)(context, builder)
    size = _item_size(context, kind.dtype)
    strides = [size]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    context.populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=lengths,
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


@lower_setattr_generic(RecordType)
def _write(context, builder, signature, args, name):  # type: ignore[no-untyped-def]
    """The code that writes a single number."""
    kind, given = signature.args
    word, place = kind.place(name)
    if place.shape != ():
        said = f"field {name!r} is an array or a record: it is changed in place, never set"
        raise numba.errors.NumbaTypeError(said)
    value = context.cast(builder, args[1], given, place.kind)
    context.pack_value(
        builder, place.kind, value, _number(context, builder, args[0], word, place.kind)
    )


_TYPED = native_numba.type_fields(RecordType, field_type)
if _TYPED:
    lower_getattr_generic(RecordType)(_read)


@cache
def declare(name: str) -> None:
    """Tell numba of a field's name, by its public interface where that is all that is used."""
    if _TYPED:
        return

    @intrinsic
    def read(typingctx, record):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _read(context, builder, record, args[0], name)

        return field_type(record, name)(record), generate

    @overload_attribute(RecordType, name)
    def get(record):  # type: ignore[no-untyped-def]
        return None if record.place(name) is None else lambda record: read(record)


@intrinsic
def copy_fields(typingctx, source, target):  # type: ignore[no-untyped-def]
    """Copy all fields of a record to another of the same type, byte by byte."""

    def copy(context: Any, builder: Any, kind: RecordType, old: Any, new: Any) -> None:
        pointer = context.get_value_type(types.voidptr)
        for word, place in enumerate(kind.places):
            ends = [
                builder.inttoptr(load_word(context, builder, each, word), pointer)
                for each in (old, new)
            ]
            if place.shape is None:
                if not place.kind.constant:
                    copy(context, builder, place.kind, *ends)
                continue
            size = _item_size(context, place.kind)
            for length in place.shape:
                size = builder.mul(size, _length(context, builder, kind, old, length))
            kinds = [pointer, pointer, size.type]
            move = builder.module.declare_intrinsic("llvm.memcpy", kinds)
            steady = context.get_constant(types.boolean, False)
            builder.call(move, [*reversed(ends), size, steady])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        copy(context, builder, source, *args)
        return context.get_dummy_value()

    if source != target:
        raise numba.errors.TypingError("records of two types cannot be copied")
    return types.void(source, target), generate
