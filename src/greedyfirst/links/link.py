"""What an inverse link function is, and how compiled code finds its formulas.

A **link** is a class with the formulas of one generalised linear model: a reward Y at context x has
expectation μ(x'β). It joins everything by being defined: its name is then an option of the policies
and problems. Its formulas are plain functions of floats, compiled into the loops that use them; a
*tag*, an empty record of the link's own type, selects them there.
"""

from __future__ import annotations

import hashlib
import sys
from collections import namedtuple
from functools import cache
from types import FunctionType
from typing import Any, ClassVar

import numba
import numpy as np
from numba import types
from numba.extending import overload

from greedyfirst.compilation import INLINE_OPTIONS, Routine, array_at
from greedyfirst.validation import FloatArray, choice, wrong

#: The links by name, filled by their definitions.
LINKS: dict[str, type[Link]] = {}
_BY_TAG: dict[type, type[Link]] = {}
_ROUTINES: dict[tuple[type[Link], str], Routine] = {}
# How far formulas are followed into the functions that they call.
DEPTH = 5
FORMULAS = ("mean", "slope", "log_likelihood", "score", "curvature", "extreme")


class Link:
    """Formulas of one generalised linear model; z is the linear predictor x'β, y a reward.

    A new one is a subclass with a ``name`` and all that is named here. Formulas may call
    :mod:`math` and one another by the class-free names of their module; they must be finite, or
    infinite with the right sign, for every finite z.
    """

    name: ClassVar[str]
    #: What a reward must be, in words.
    rewards: ClassVar[str]
    Tag: ClassVar[type]

    def __init_subclass__(cls) -> None:
        """Make the tag, in a place where numba's cache finds it, and enter the table."""
        tag = f"{cls.__name__}Tag"
        cls.Tag = namedtuple(tag, ["tag"], module=__name__)  # type: ignore[misc]
        globals()[tag] = cls.Tag
        LINKS[cls.name] = cls
        _BY_TAG[cls.Tag] = cls

    @staticmethod
    def mean(z: float) -> float:
        """The expected reward μ(z): increasing."""
        raise NotImplementedError

    @staticmethod
    def slope(z: float) -> float:
        """μ′(z), above 0 and with one peak at most."""
        raise NotImplementedError

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """The log-likelihood of y, up to terms without z: concave in z."""
        raise NotImplementedError

    @staticmethod
    def score(z: float, y: float) -> float:
        """The derivative of the log-likelihood by z."""
        raise NotImplementedError

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """Minus the second derivative of the log-likelihood by z, above 0."""
        raise NotImplementedError

    @staticmethod
    def extreme(y: float) -> float:
        """1 or -1 if the likelihood of y rises, or falls, in z without end; else 0."""
        raise NotImplementedError

    @staticmethod
    def accepts(rewards: FloatArray) -> np.ndarray:
        """Which rewards are possible."""
        raise NotImplementedError

    @staticmethod
    def draw(rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """Rewards with these expectations, all in one row drawn from the same random numbers."""
        raise NotImplementedError

    @classmethod
    def digest(cls) -> str:
        """A short hash of the formulas and their modules: compiled code is cached under it."""
        parts = [_fingerprint(getattr(cls, name), depth=0) for name in FORMULAS]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _fingerprint(value: Any, depth: int) -> Any:
    """What decides a formula's results: its code, and the values and functions that it names."""
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType):
        return repr(value)
    if depth == DEPTH:
        return function.__qualname__
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    named = {name: cell.cell_contents for name, cell in cells.items()} | {
        name: function.__globals__[name] for name in code.co_names if name in function.__globals__
    }
    inside = [(name, _fingerprint(each, depth + 1)) for name, each in sorted(named.items())]
    return function.__module__, code.co_code, code.co_consts, code.co_names, inside


def find_link(name: str, value: Any) -> type[Link]:
    """The link that the argument ``name`` asks for."""
    return LINKS[choice(name, value, tuple(LINKS))]


def check_rewards(name: str, link: type[Link], rewards: FloatArray | float) -> None:
    """Refuse rewards that are impossible under a link."""
    values = np.asarray(rewards, dtype=np.float64)
    good = link.accepts(values)
    if not np.all(good):
        first = tuple(int(place) for place in np.argwhere(~np.atleast_1d(good))[0])
        place = f"[{', '.join(map(str, first))}]" if values.ndim else ""
        value = float(np.atleast_1d(values)[first])
        raise wrong(f"{name}{place}", value, f"{link.rewards} (link {link.name!r})")


def _formula(name: str, kind: Any) -> Any:
    """A link's formula, for numba to compile into the caller."""
    if isinstance(kind, types.BaseNamedTuple) and kind.instance_class in _BY_TAG:
        formula = getattr(_BY_TAG[kind.instance_class], name)
        return _with_tag(formula)
    return None


@cache
def _with_tag(formula: Any) -> Any:
    """``formula`` with a first argument, the tag, that it does not look at."""
    compiled = numba.njit(**INLINE_OPTIONS)(formula)
    if formula.__code__.co_argcount == 1:
        return lambda tag, z: compiled(z)
    return lambda tag, z, y: compiled(z, y)


def mean(tag: Any, z: float) -> float:
    """μ(z) under the tag's link."""
    return _BY_TAG[type(tag)].mean(z)


def log_likelihood(tag: Any, z: float, y: float) -> float:
    """The log-likelihood under the tag's link."""
    return _BY_TAG[type(tag)].log_likelihood(z, y)


def score(tag: Any, z: float, y: float) -> float:
    """The score under the tag's link."""
    return _BY_TAG[type(tag)].score(z, y)


def curvature(tag: Any, z: float, y: float) -> float:
    """The curvature under the tag's link."""
    return _BY_TAG[type(tag)].curvature(z, y)


def extreme(tag: Any, y: float) -> float:
    """Whether y is extreme under the tag's link."""
    return _BY_TAG[type(tag)].extreme(y)


@overload(mean, strict=False, jit_options=INLINE_OPTIONS)
def _mean(tag, z):  # type: ignore[no-untyped-def]
    return _formula("mean", tag)


@overload(log_likelihood, strict=False, jit_options=INLINE_OPTIONS)
def _log_likelihood(tag, z, y):  # type: ignore[no-untyped-def]
    return _formula("log_likelihood", tag)


@overload(score, strict=False, jit_options=INLINE_OPTIONS)
def _score(tag, z, y):  # type: ignore[no-untyped-def]
    return _formula("score", tag)


@overload(curvature, strict=False, jit_options=INLINE_OPTIONS)
def _curvature(tag, z, y):  # type: ignore[no-untyped-def]
    return _formula("curvature", tag)


@overload(extreme, strict=False, jit_options=INLINE_OPTIONS)
def _extreme(tag, y):  # type: ignore[no-untyped-def]
    return _formula("extreme", tag)


def routine_for(link: type[Link], signature: str, function: Any) -> Routine:
    """``function``, in which ``TAG`` stands for a link's tag, as a routine for that link."""
    key = (link, function.__name__)
    if key not in _ROUTINES:
        name = f"{function.__name__}_{link.name}_{link.digest()}"
        # The cache is read with the modules of what was compiled, which must be found again.
        cached = link.__module__ in sys.modules
        _ROUTINES[key] = Routine(signature, cached=cached)(_bound(link, function, name))
    return _ROUTINES[key]


def _bound(link: type[Link], function: Any, name: str) -> Any:
    bound = FunctionType(function.__code__, {**function.__globals__, "TAG": link.Tag}, name)
    bound.__qualname__ = name
    return bound


def _means(z, n):  # type: ignore[no-untyped-def]
    row = array_at(z, (n,))
    for i in range(n):
        row[i] = mean(TAG(0), row[i])  # type: ignore[name-defined]  # noqa: F821


def means_routine(link: type[Link]) -> Routine:
    """A routine that replaces n linear predictors at an address by their expectations."""
    return routine_for(link, "void(int64, int64)", _means)


def means(link: type[Link], z: FloatArray) -> FloatArray:
    """The expectations μ(z), for callers that are not compiled."""
    result = np.array(z, dtype=np.float64, order="C")
    routine = means_routine(link)
    if routine.address:
        routine.compiled.ctypes(result.ctypes.data, result.size)
    else:
        flat = result.reshape(-1)
        flat[:] = [link.mean(float(each)) for each in flat]
    return result
