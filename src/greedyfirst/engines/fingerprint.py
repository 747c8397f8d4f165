"""A hash of data and of the code that it brings: equal ones stand for equal results.

Data count by their values: numbers, text, arrays, containers, and other objects by what pickle
would keep of them. Functions and classes of this package and of installed ones count by name:
their versions are known elsewhere (:mod:`greedyfirst.engines.software`). A user's own count by
their code, as it is in memory, with the defaults, closures and global names that they use.
"""

from __future__ import annotations

import hashlib
import struct
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from greedyfirst.compiling.kernels import is_kernel, plain_function
from greedyfirst.validation import wrong

_PACKAGE = Path(__file__).parents[1]
#: What a class gets by being made, and says nothing about what it does.
_INCIDENTAL = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "_abc_impl"),
    "__slotnames__",  # noted by pickle
    # A dataclass has its defaults in its generated functions too.
    *("__dataclass_fields__", "__dataclass_params__"),
    # Kernels have another name where a module was loaded again, as Dask does with one it is sent.
    *("kernel_name", "lasting"),
}


def fingerprint(name: str, value: Any) -> str:
    """The hash, as text; ``name`` begins the error if some part of ``value`` cannot be hashed."""
    hashing = _Hashing(name)
    hashing.add(value)
    return hashing.digest.hexdigest()


class _Hashing:
    """Visits everything that a value consists of, in a fixed order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.digest = hashlib.sha256()
        #: Functions and classes are hashed once, by the order in which they are met; kept alive,
        #: so that no other gets the same id.
        self.met: dict[int, tuple[int, Any]] = {}

    def add(self, value: Any) -> None:
        """Take in a value and its parts."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._note(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._note("array", value.dtype.str, str(value.shape))
            self.digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (tuple, list)):
            self._all(type(value).__name__, value)
        elif isinstance(value, (dict, MappingProxyType)):
            self._all("dict", [part for item in value.items() for part in item])
        elif isinstance(value, (set, frozenset)):
            self._all("set", sorted(fingerprint(self.name, item) for item in value))
        elif isinstance(value, ModuleType):
            self._note("module", value.__name__)
        elif is_kernel(value):
            self.add(plain_function(value))
        elif isinstance(value, cached_property):
            self._all("property", [value.func])
        elif isinstance(value, (FunctionType, type)):
            self._code(value)
        elif isinstance(value, MethodType):
            self._all("method", [value.__func__, value.__self__])
        elif hasattr(value, "__wrapped__"):  # by decorators; static and class methods too
            self._all(type(value).__name__, [value.__wrapped__])
        elif isinstance(value, property):
            self._all("property", [value.fget, value.fset])
        else:
            self._object(value)

    def _note(self, *words: str) -> None:
        for word in words:
            data = word.encode("utf-8", "surrogatepass")
            self.digest.update(struct.pack("<q", len(data)) + data)

    def _all(self, kind: str, parts: Iterable[Any]) -> None:
        found = list(parts)
        self._note(kind, str(len(found)))
        for part in found:
            self.add(part)

    def _code(self, value: Any) -> None:
        """A function or a class: by name if it is installed, else by what it does."""
        known = self.met.get(id(value))
        if known is not None:
            self._note("met", str(known[0]))
            return
        self.met[id(value)] = (len(self.met), value)
        self._note("code", value.__qualname__)
        if is_installed(value):
            self._note(value.__module__)
        elif isinstance(value, type):
            own = {k: v for k, v in vars(value).items() if k not in _INCIDENTAL}
            self._all("class", [*value.__bases__, *(own[k] for k in sorted(own)), sorted(own)])
        else:
            self._function(value)

    def _function(self, function: FunctionType) -> None:
        self._instructions(function.__code__)
        self._all("defaults", [function.__defaults__, function.__kwdefaults__])
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        self._all("closure", cells)
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self._note(name)
                self.add(function.__globals__[name])

    def _instructions(self, code: CodeType) -> None:
        self._note(code.co_code.hex(), *code.co_names, *code.co_varnames)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._instructions(constant)
            else:
                self.add(constant)

    def _object(self, value: Any) -> None:
        if isinstance(value, MemberDescriptorType) or (
            isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType)
        ):
            self._note("builtin", str(getattr(value, "__module__", "")), value.__qualname__)
            return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            expected = "left out: what the result follows from has parts that cannot be compared"
            raise wrong(self.name, value, expected) from None
        if isinstance(reduced, str):
            self._note("named", type(value).__qualname__, reduced)
            return
        parts = [
            list(part) if place in (3, 4) and part else part for place, part in enumerate(reduced)
        ]
        self._all("object", parts)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a name that is not bound yet
        return False


def _names(code: CodeType) -> set[str]:
    """Names that the code, and what is defined in it, may take from its globals."""
    nested = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*nested)


def is_installed(value: Any) -> bool:
    """Whether code is of this package, the standard library, or an installed one."""
    module = sys.modules.get(value.__module__)
    path = getattr(module, "__file__", None)
    if module is None or value.__module__ == "__main__":
        return False
    return path is None or any(Path(path).is_relative_to(place) for place in _homes())


@cache
def _homes() -> tuple[Path, ...]:
    places = sysconfig.get_paths()
    return (
        _PACKAGE,
        *(Path(places[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")),
    )
