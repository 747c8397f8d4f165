"""Records: data with names, which compiled code reads and writes by address.

A **record** is a class of named fields: arrays, single numbers, flags, and other records.

    class Mean(Record):
        count = integers("n_arms")      # (n_arms,) int64
        total = floats("n_arms", "d")   # (n_arms, d) float64
        steps = integer()               # one number: record.steps += 1

    buffer, mean = allocate(lambda memory: Mean(memory, n_arms=3, d=2))

All numbers of a record, and of the records inside it, lie in one buffer: to copy, reset or compare
a state is to do it to one array. Each shape is stated once, in the declaration.

Compiled code gets one pointer, to a row of *words*: each field's address, then the lengths that
the shapes name. Reading a field loads its address and makes a view there; nothing is copied and
nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numba import types
from numba.extending import overload, typeof_impl

from greedyfirst.compiling.record_access import Place, RecordType, copy_fields, declare

Built = TypeVar("Built")

#: Fields start at multiples of a cache line: loads of four numbers never straddle two.
LINE = 64
DTYPES = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}


class Field(NamedTuple):
    """A declared field: numbers of one type, a length by name or number for each axis."""

    dtype: str
    shape: tuple[str | int, ...] = ()
    #: Whether it is room to work in, of no meaning between two calls.
    scratch: bool = False


class Part(NamedTuple):
    """A declared field that is another record, given when the record is made."""

    #: Whether it belongs to another record, so that it is not a part of this one's state.
    shared: bool = False


def floats(*shape: str | int, scratch: bool = False) -> Any:
    """An array of float64; ``scratch`` if it is of no meaning between two calls."""
    return Field("float64", shape, scratch)


def integers(*shape: str | int, scratch: bool = False) -> Any:
    """An array of int64."""
    return Field("int64", shape, scratch)


def flags(*shape: str | int, scratch: bool = False) -> Any:
    """An array of booleans."""
    return Field("bool", shape, scratch)


def number(*, scratch: bool = False) -> Any:
    """One float64."""
    return Field("float64", (), scratch)


def integer(*, scratch: bool = False) -> Any:
    """One int64."""
    return Field("int64", (), scratch)


def flag(*, scratch: bool = False) -> Any:
    """One boolean."""
    return Field("bool", (), scratch)


def part(*, shared: bool = False) -> Any:
    """Another record; ``shared`` if it is a part of the state elsewhere."""
    return Part(shared)


class Memory:
    """Hands out zeroed arrays from one buffer, in order.

    ``rows`` is how many rewards a state must have room for, if it keeps them one by one.
    """

    def __init__(self, rows: int, buffer: np.ndarray | None = None) -> None:
        self.rows, self.buffer, self.used = rows, buffer, 0

    def take(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """The next bytes as an array; without a buffer they are only counted."""
        start = self.used
        length = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        self.used += length + -length % LINE
        if self.buffer is None:
            return np.zeros(shape, dtype)
        return self.buffer[start : start + length].view(dtype).reshape(shape)


def allocate(build: Callable[[Memory], Built], rows: int = 0) -> tuple[np.ndarray, Built]:
    """A zeroed buffer of as many bytes as ``build`` takes, and what it builds there."""
    count = Memory(rows)
    build(count)
    block = np.zeros(count.used + LINE, np.uint8)
    start = -block.ctypes.data % LINE
    buffer = block[start : start + count.used]
    return buffer, build(Memory(rows, buffer))


class Addressed:
    """What compiled code finds at one address: fields by name."""

    #: The address, for compiled functions; see :func:`argument`.
    address: int
    kind: RecordType
    #: Each field's array, number or record.
    values: dict[str, Any]
    #: See :mod:`greedyfirst.compiling.routines`.
    routines: ClassVar[list[Any]] = []

    def _settle(self, name: str, entries: list[tuple[str, Any, Field | Part]]) -> None:
        """Write the words of these fields, and make the type that says where each one is."""
        lengths: dict[str | int, int] = {}
        places, words = [], []
        for field, value, declared in entries:
            declare(field)
            if isinstance(declared, Part):
                places.append(Place(field, value.kind, None))
                words.append(value.address)
                continue
            for length, size in zip(declared.shape, value.shape, strict=True):
                lengths[length] = int(size)
            places.append(Place(field, DTYPES[declared.dtype], declared.shape))
            words.append(value.ctypes.data)
        order = [each for each in lengths if isinstance(each, str)]
        routines = tuple(each.name for each in self.routines)
        sizes = [lengths[each] for each in order]
        self.words = np.array([*words, *sizes, *(0 for _ in routines)], np.int64)
        self.address = int(self.words.ctypes.data)
        constant = isinstance(self, Options)
        self.kind = RecordType(name, tuple(places), tuple(order), routines, constant)

    def __reduce__(self) -> Any:
        raise TypeError("a record cannot be copied: copy the buffer that it was allocated in")


class Record(Addressed):
    """Named arrays, numbers and records in one memory: see the module's words."""

    declared: ClassVar[dict[str, Field | Part]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the declared fields; single numbers become properties."""
        own = {name: each for name, each in vars(cls).items() if isinstance(each, (Field, Part))}
        for name in own:
            if name == "words" or hasattr(Record, name) or name in Addressed.__annotations__:
                raise TypeError(f"{cls.__name__}.{name}: records have that name for something else")
        cls.declared = {**cls.declared, **own}
        cls.routines = []
        for name, each in own.items():
            if isinstance(each, Field) and not each.shape:
                setattr(cls, name, _single(name))
            else:
                delattr(cls, name)

    def __init__(self, memory: Memory, /, **given: Any) -> None:
        """Take the fields from ``memory``; lengths and inner records are given by name."""
        self.values = {}
        for name, each in self.declared.items():
            needed = (name,) if isinstance(each, Part) else each.shape
            for missing in (part for part in needed if isinstance(part, str) and part not in given):
                what = "is a record" if isinstance(each, Part) else f"has the length {missing!r}"
                said = f"{type(self).__name__}.{name} {what} that is not given, only"
                raise TypeError(f"{said} {', '.join(given) or 'the memory'}")
            if isinstance(each, Part):
                self.values[name] = given[name]
            else:
                shape = tuple(n if isinstance(n, int) else given[n] for n in each.shape)
                self.values[name] = memory.take(each.dtype, shape)
            if isinstance(each, Part) or each.shape:
                setattr(self, name, self.values[name])
        entries = [(name, self.values[name], each) for name, each in self.declared.items()]
        self._settle(record_name(type(self)), entries)

    def arrays(self, prefix: str = "", *, scratch: bool = True) -> Iterator[tuple[str, np.ndarray]]:
        """Every array of the record and of those inside it, with its path ("model.gram").

        Those that are declared as scratch too, unless ``scratch=False``.
        """
        for name, value in self.values.items():
            declared = self.declared[name]
            if isinstance(declared, Part):
                if isinstance(value, Record) and not declared.shared:
                    yield from value.arrays(f"{prefix}{name}.", scratch=scratch)
            elif scratch or not declared.scratch:
                yield prefix + name, value

    def places(self, buffer: np.ndarray) -> dict[str, list[Any]]:
        """Each array's type, first byte in ``buffer`` and shape, by its path: plain data."""
        start = buffer.ctypes.data
        return {
            path: [array.dtype.name, array.ctypes.data - start, *array.shape]
            for path, array in self.arrays()
        }


def arrays_in(buffer: np.ndarray, places: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    """The arrays of which :meth:`Record.places` told."""
    found = {}
    for path, (dtype, first, *shape) in places.items():
        length = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        found[path] = buffer[first : first + length].view(dtype).reshape(shape)
    return found


def record_name(record: type[Record]) -> str:
    """The name of a record in compiled code."""
    return f"{record.__module__}.{record.__qualname__}"


def _single(name: str) -> property:
    def get(self: Record) -> Any:
        return self.values[name].item()

    def put(self: Record, value: Any) -> None:
        self.values[name][()] = value

    return property(get, put)


class Options(Addressed):
    """Constants by name, for compiled code: numbers, flags, arrays, and other options.

    ``name`` selects the kernels that belong to them.
    """

    def __getattr__(self, name: str) -> Any:
        """Only asked for names that are no option."""
        raise AttributeError(f"{self.name} has no option {name!r}")

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        self.name, self.values = name, values
        self._arrays = []
        entries: list[tuple[str, Any, Field | Part]] = []
        for field, value in values.items():
            setattr(self, field, value)
            if isinstance(value, Addressed):
                entries.append((field, value, Part()))
                continue
            array = _constant(field, value)
            self._arrays.append(array)
            shape = tuple(f"{field} {axis}" for axis in range(array.ndim))
            entries.append((field, array, Field(array.dtype.name, shape)))
        self._settle(name, entries)


def _constant(name: str, value: Any) -> np.ndarray:
    """An option's value as an array of a type that compiled code knows."""
    given = np.asarray(value)
    known = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
    if given.dtype.kind not in known:
        raise TypeError(
            f"option {name} must be a number, a flag, an array of these or other options for "
            f"kernels to read, got {value!r}: see option_values()"
        )
    return np.array(given, dtype=known[given.dtype.kind], order="C")


def parts_of(record: Addressed) -> list[Addressed]:
    """The records inside a record."""
    return [each for each in record.values.values() if isinstance(each, Addressed)]


def copy_record(source: Record, target: Record) -> None:
    """Copy every field of a record, and of those inside it, to another of the same type."""
    for (_, old), (_, new) in zip(source.arrays(), target.arrays(), strict=True):
        new[...] = old


@overload(copy_record)
def _copy_record(source, target):  # type: ignore[no-untyped-def]
    return lambda source, target: copy_fields(source, target)


@typeof_impl.register(Addressed)
def _typeof(record, context):  # type: ignore[no-untyped-def]
    return record.kind
