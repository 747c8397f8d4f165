"""Families of kernels: the type of the first argument selects which one is called.

A class that joins a family by being defined (a policy, a link, a switch test, an answer to an
alarm) has its kernels as static methods. Its options, as kernels take them, carry its name; a
*generic* function finds the class by that name: in compiled code when types are inferred, in
Python when it is called.

    @generic
    def area(shape, scale): ...

    class Square(Family):
        @staticmethod
        @kernel
        def area(shape, scale):
            return scale * shape.side * shape.side

    area(options_of(Square, {"side": 2.0}), 3.0)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.extending import overload

from greedyfirst.compiling import native_numba
from greedyfirst.compiling.kernels import (
    INLINE_OPTIONS,
    Entry,
    inline_kernel,
    is_kernel,
    plain_function,
)
from greedyfirst.compiling.record_access import RecordType
from greedyfirst.compiling.records import Addressed, Options, Record, parts_of, record_name

Function = TypeVar("Function", bound=Callable[..., Any])

_MEMBERS: dict[str, type[Family]] = {}
#: Of functions by record, the kernels by the records' names.
_BY_RECORD: dict[Any, dict[str, Any]] = {}


class Family:
    """What joins a family of kernels by being defined."""

    #: The name of the class's options in compiled code. One that is defined again, as in a
    #: notebook, gets another: numba would go on with the machine code of the first.
    kernel_name: ClassVar[str]
    #: Whether compiled code of the class may be kept on disk: not if the same name and source can
    #: stand for other code, as with classes made inside functions.
    lasting: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        """Enter the table of members."""
        name = own = f"{cls.__module__}.{cls.__qualname__}"
        again = 1
        while name in _MEMBERS:
            again += 1
            name = f"{own}~{again}"
        cls.kernel_name, cls.lasting = name, again == 1 and "<locals>" not in name
        _MEMBERS[name] = cls


def options_of(member: type[Family], values: dict[str, Any] | None = None) -> Options:
    """Options, as kernels take them, that select the kernels of a member."""
    return Options(member.kernel_name, values or {})


def member_of(options: Options) -> Any:
    """The member whose kernels these options select."""
    return _MEMBERS[options.name]


def generic(function: Function) -> Function:
    """A function whose work is done by the member's kernel of the same name."""
    name = function.__name__

    @wraps(function)
    def call(*arguments: Any) -> Any:
        member = _MEMBERS[arguments[0].name]
        try:
            return getattr(member, name)(*arguments)
        except KeyError as error:
            called = native_numba.called_kernel(error)
            if called is None:
                raise
            own = f"{member.__name__}.{name}"
            if is_kernel(getattr(member, name)):
                told = f"{own} is a kernel, but other functions of {member.__name__} are not"
                raise TypeError(f"{told}: write @kernel above all of them, or above none") from None
            told = f"{own} calls the kernel {called}, which kernels alone can"
            raise TypeError(f"{told}: write @kernel above {own}") from None

    def select(*kinds: Any) -> Any:
        found = _kernel(kinds[0], name)
        return None if found is None else plain_function(found)

    return _overloaded(function, call, select)


def generic_formula(function: Function) -> Function:
    """As :func:`generic`, for plain functions of numbers that do not take the options."""
    name = function.__name__

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return getattr(_MEMBERS[arguments[0].name], name)(*arguments[1:])

    def select(*kinds: Any) -> Any:
        found = _kernel(kinds[0], name)
        return None if found is None else _with_options(found)

    return _overloaded(function, call, select)


def by_record(function: Function) -> Function:
    """A function whose work is done by the kernel for its first argument's type of record.

    @by_record
    def size(model): ...

    @kernel_for(size, LeastSquares)
    @kernel
    def _size(model):
        return model.estimate.shape[0]
    """
    kernels: dict[str, Any] = {}

    @wraps(function)
    def call(record: Any, *arguments: Any) -> Any:
        return kernels[record.kind.record](record, *arguments)

    def select(*kinds: Any) -> Any:
        found = kernels.get(kinds[0].record) if isinstance(kinds[0], RecordType) else None
        return None if found is None else plain_function(found)

    made = _overloaded(function, call, select)
    _BY_RECORD[made] = kernels
    return made


def kernel_for(function: Any, record: type[Record]) -> Callable[[Function], Function]:
    """Let a kernel do the work of ``function``, one :func:`by_record`, for a type of record."""

    def register(kernel: Function) -> Function:
        _BY_RECORD[function][record_name(record)] = kernel
        return kernel

    return register


def _overloaded(function: Function, call: Any, select: Any) -> Function:
    select.__signature__ = inspect.signature(function)
    overload(call, strict=False, jit_options=INLINE_OPTIONS)(select)
    return cast(Function, call)


def _kernel(kind: Any, name: str) -> Any:
    """A member's kernel by the type of its options, or None."""
    if isinstance(kind, RecordType) and kind.record in _MEMBERS:
        return getattr(_MEMBERS[kind.record], name, None)
    return None


@cache
def _with_options(formula: Any) -> Any:
    """``formula`` with a first argument, the options, that it does not look at."""
    compiled = inline_kernel(formula)
    if formula.__code__.co_argcount == 1:
        return lambda options, z: compiled(z)
    return lambda options, z, y: compiled(z, y)


# ------------------------------------------------------------------------------- calls from Python


def members_in(*records: Any) -> frozenset[type[Family]]:
    """The members whose kernels the options in these records select."""
    return frozenset(_members(records))


def _members(records: Any) -> Iterator[type[Family]]:
    for record in records:
        if isinstance(record, Options) and record.name in _MEMBERS:
            yield _MEMBERS[record.name]
        if isinstance(record, Addressed):
            yield from _members(parts_of(record))


def entry_for(function: Function, *records: Any) -> Function:
    """``function`` as an entry for these records: the cache knows the members' code."""
    if numba.config.DISABLE_JIT:
        return function
    return cast(Function, _entry(function, members_in(*records)))


@cache
def _entry(function: Any, members: frozenset[type[Family]]) -> Entry:
    return Entry(function, _modules(members))


def entry_modules(*records: Any) -> frozenset[str] | None:
    """The modules of the members' kernels; None if their code may not be kept on disk."""
    return _modules(members_in(*records))


def _modules(members: frozenset[type[Family]]) -> frozenset[str] | None:
    if not all(member.lasting for member in members):
        return None
    lines = [each for member in members for each in member.__mro__]
    return frozenset(each.__module__ for each in lines if issubclass(each, Family))


def has_kernels(member: type[Family], *names: str) -> bool:
    """Whether a member's functions of these names are kernels, so that loops can be compiled."""
    return numba.config.DISABLE_JIT or all(is_kernel(getattr(member, name)) for name in names)
