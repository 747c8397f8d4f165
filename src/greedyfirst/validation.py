"""Argument checks: each error names the argument, its value and what was expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
#: What float() would take, but nobody means as a number.
_NO_NUMBERS = (bool, np.bool_, str, bytes)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def wrong(name: str, value: Any, expected: str) -> ValueError:
    """The error for argument ``name`` that is ``value`` and should have been ``expected``."""
    return ValueError(f"{name} must be {expected}, got {_shown(value)}")


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """``value`` as a finite float inside the given bounds."""
    try:
        result = math.nan if isinstance(value, _NO_NUMBERS) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if (
        math.isfinite(result)
        and (above is None or result > above)
        and (at_least is None or result >= at_least)
        and (below is None or result < below)
        and (at_most is None or result <= at_most)
    ):
        return result
    words = {"above": above, "at least": at_least, "below": below, "at most": at_most}
    bounds = [f"{word} {bound:g}" for word, bound in words.items() if bound is not None]
    raise wrong(name, value, " ".join(["a finite number", " and ".join(bounds)]).strip())


def amount(name: str, value: Any) -> float:
    """``value`` as a finite float; True and False are 1 and 0."""
    return float(value) if isinstance(value, (bool, np.bool_)) else number(name, value)


def number_in_text(name: str, text: str) -> float:
    """The finite number that a cell of a file holds."""
    try:
        return number(name, float(text))
    except ValueError:
        raise wrong(name, text, "a finite number") from None


def whole_number(
    name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> int:
    """``value`` as an int inside the given bounds; 3.0 is refused, numpy integers are taken."""
    bounds = [
        f"{word} {bound}"
        for word, bound in (("at least", at_least), ("at most", at_most))
        if bound is not None
    ]
    expected = " ".join(["a whole number", " and ".join(bounds)]).strip()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise wrong(name, value, expected)
    result = int(value)
    if (at_least is not None and result < at_least) or (at_most is not None and result > at_most):
        raise wrong(name, value, expected)
    return result


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """``value``, one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise wrong(name, value, "one of " + ", ".join(repr(option) for option in options))
    return value


def flag(name: str, value: Any) -> bool:
    """``value`` as a bool; 0 and 1 are refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong(name, value, "True or False")
    return bool(value)


def array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
    """``value`` as a contiguous float64 array of finite numbers; ``None``: any length."""
    try:
        result = np.asarray(value)
    except ValueError:
        raise wrong(name, value, _of_shape(shape)) from None
    if result.dtype.kind not in "fiu":
        raise wrong(name, value, _of_shape(shape))
    fits = result.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, result.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must be {_of_shape(shape)}, got shape {result.shape}")
    result = np.ascontiguousarray(result, dtype=np.float64)
    finite = np.isfinite(result)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        got = f"{name}[{', '.join(str(i) for i in where)}] = {result[where]}"
        raise ValueError(f"{name} must be {_of_shape(shape)}, got {got}")
    return result


def amounts(name: str, value: Any, shape: tuple[int | None, ...]) -> FloatArray:
    """As :func:`array`, but True and False are 1 and 0, and Python objects may be numbers."""
    try:
        given = np.asarray(value)
    except ValueError:
        return array(name, value, shape)
    if given.dtype.kind == "b":
        return array(name, given.astype(np.float64), shape)
    if given.dtype.kind != "O" or given.ndim != len(shape):
        return array(name, value, shape)
    found = np.empty(given.shape)
    for place, item in np.ndenumerate(given):
        found[place] = amount(f"{name}[{', '.join(map(str, place))}]", item)
    return array(name, found, shape)


def _of_shape(shape: tuple[int | None, ...]) -> str:
    lengths = ", ".join("n" if n is None else str(n) for n in shape)
    return f"an array of finite numbers of shape ({lengths}{',' * (len(shape) == 1)})"


def listed(value: Any) -> list[Any] | None:
    """The items of a list, Series, Index, Categorical or array of one dimension, else None.

    None for text, which is one item, and for sets and mappings, whose order means nothing.
    """
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(value)
    if not hasattr(value, "__array__"):
        return None
    items = np.asarray(value, dtype=object)
    return list(items) if items.ndim == 1 else None


def names(name: str, value: Any, length: int | None = None) -> tuple[str, ...]:
    """``value`` as ``length`` different, non-empty names; ``None``: at least one."""
    count = "at least one name, all different" if length is None else f"{length} different names"
    items = listed(value)
    if (
        not items
        or not all(isinstance(item, str) and item for item in items)
        or len(items) != (len(items) if length is None else length)
        or len(set(items)) != len(items)
    ):
        raise wrong(name, value, f"{count} (non-empty text)")
    return tuple(str(item) for item in items)
