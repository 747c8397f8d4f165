"""A task or a call as bytes for other processes, and what must be the same there.

What a script defines (``__main__``) travels with its code, by cloudpickle. What a module defines is
imported by the worker, whose copy may be older: so its fingerprint travels along. A policy's
kernels are compiled and kept on disk under its module's name, so a policy must come from a module.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import FunctionType
from typing import Any, NamedTuple

import cloudpickle

from greedyfirst.compiling.families import Family
from greedyfirst.engines.engine import Task
from greedyfirst.engines.fingerprint import fingerprint, is_installed
from greedyfirst.engines.software import software


class Imported(NamedTuple):
    """A class or function of a user's module."""

    module: str
    name: str
    fingerprint: str

    def is_same_here(self) -> bool:
        """Whether this process has it with the same code."""
        try:
            here = attrgetter(self.name)(import_module(self.module))
        except (ImportError, AttributeError):
            return False
        return fingerprint(self.name, here) == self.fingerprint


class Sent(NamedTuple):
    """A task or a call on its way, and what must be the same where it arrives."""

    work: bytes
    imported: tuple[Imported, ...]
    software: dict[str, str]


def packed(work: Task | Callable[[], object]) -> bytes:
    """A :class:`Sent` as bytes; ValueError if a part of it cannot travel."""
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    try:
        pickler.dump(work)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"what runs on a cluster must be picklable: {error}") from error
    return pickle.dumps(Sent(stream.getvalue(), tuple(pickler.imported.values()), software()))


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Notes the user's own classes and functions that workers will import."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.imported: dict[int, Imported] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Called by pickle for each object."""
        if isinstance(obj, (type, FunctionType)) and not is_installed(obj):
            by_value = obj.__module__ == "__main__" or "<locals>" in obj.__qualname__
            if by_value and isinstance(obj, type) and issubclass(obj, Family):
                raise ValueError(
                    f"{obj.__qualname__} must be defined in a module that the workers can import, "
                    f"not in a script, at a prompt or in a function, got {obj!r}; "
                    "client.upload_file() sends them a module"
                )
            if not by_value and id(obj) not in self.imported:
                seen = fingerprint(obj.__qualname__, obj)
                self.imported[id(obj)] = Imported(obj.__module__, obj.__qualname__, seen)
        return super().reducer_override(obj)
