"""Columns of frames: names that exist, categories as text, missing cells.

In errors, data rows are counted from 1.
"""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from greedyfirst.validation import wrong

CodeArray = NDArray[np.int64]
LONGEST_LEVEL = 1000  # characters: longer text is no name of a category
_EXACT = 2.0**53  # above it a float no longer tells whole numbers apart


def check_frame(frame: Any) -> None:
    """Refuse what is not a frame with rows and with different names (text) of its columns."""
    if not isinstance(frame, pd.DataFrame):
        raise wrong("frame", frame, "a pandas DataFrame")
    for name in frame.columns:
        if not isinstance(name, str) or not name:
            raise wrong("each column's name", name, "non-empty text")
    if not frame.columns.is_unique:
        twice = str(frame.columns[frame.columns.duplicated()][0])
        raise ValueError(f"column {twice!r} occurs more than once in the frame; rename one of them")


def check_known(argument: str, name: Any, known: Iterable[str]) -> None:
    """Refuse a ``name`` that is not among the columns ``known``, with the names closest to it."""
    options = list(known)
    if not isinstance(name, str) or name not in options:
        raise wrong(argument, name, "the name of a column" + close_names(name, options))


def close_names(name: Any, known: Sequence[str]) -> str:
    """The names most like ``name``, to end a sentence with; the first few if none is like it."""
    by_lower = {option.lower(): option for option in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=3)
    if close:
        return " (close: " + ", ".join(repr(by_lower[lower]) for lower in close) + ")"
    shown = ", ".join(repr(option) for option in known[:5])
    return f" ({shown}{', ...' if len(known) > 5 else ''})"


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or NA."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def level_of(value: Any) -> str | None:
    """A category as text: 1 and 1.0 are "1", True is "true"; None for what cannot be a category."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        exact = float(value)
        return str(int(exact)) if exact.is_integer() and abs(exact) < _EXACT else repr(exact)
    return None


def sort_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """By number if all are numbers, else as text."""
    texts = sorted(set(levels))
    try:
        return tuple(sorted(texts, key=float))
    except ValueError:
        return tuple(texts)


def factorise(name: str, column: pd.Series) -> tuple[CodeArray, list[str]]:
    """Codes (n,) of the column's cells, -1 where missing, and the level of each code.

    Two codes may have one level: 1 and "1" in a column of Python objects.
    """
    try:
        codes, uniques = pd.factorize(column)
    except TypeError:
        codes, uniques = np.arange(len(column)), list(column)
    levels = []
    for code, value in enumerate(uniques):
        level = level_of(value)
        if level is None:
            row = int(np.argmax(codes == code)) + 1
            expected = "text, numbers or true/false"
            raise wrong(f"column {name!r}, data row {row}", value, expected)
        if len(level) > LONGEST_LEVEL:
            row = int(np.argmax(codes == code)) + 1
            raise ValueError(
                f"column {name!r}, data row {row} has {len(level)} characters, expected at most "
                f"{LONGEST_LEVEL} in a category: shorten the cell or leave the column out"
            )
        levels.append(level)
    return codes.astype(np.int64, copy=False), levels


def first_row(where: Any) -> int:
    """The data row, counted from 1, of the first True."""
    return int(np.argmax(np.asarray(where, dtype=bool))) + 1


def positions(levels: Sequence[str], order: Sequence[str]) -> CodeArray:
    """The place of each of ``levels`` in ``order``."""
    place = {level: i for i, level in enumerate(order)}
    return np.array([place[level] for level in levels], dtype=np.int64)


def counted_rows(count: int) -> str:
    """1 row, 2 rows and so on."""
    return "1 row" if count == 1 else f"{count} rows"


def option(name: str, column: str) -> str:
    """How to name a column in an option, from Python and on the command line."""
    return f"{name}=[{column!r}] (--{name} {shlex.quote(column)})"
