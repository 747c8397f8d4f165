"""Columns of text: categories, or numbers and dates that must not become categories unsaid."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd

from greedyfirst.tables.columns import factorise, first_row, option
from greedyfirst.tables.text_numbers import (
    AMOUNT,
    DATE,
    GROUPED,
    NUMBER,
    OTHER,
    PERCENTAGE,
    kind_of,
)

_LOOKED_AT = 1000  # different texts; a column of categories has no more
_PLURALS = {AMOUNT: "amounts", PERCENTAGE: "percentages", GROUPED: "numbers with commas or spaces"}


def is_categorical(name: str, column: pd.Series) -> bool:
    """Whether a column holds categories; refuses text that seems to be numbers or dates."""
    if column.dtype.kind in "fiu":
        return False
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if isinstance(column.dtype, pd.CategoricalDtype) or kind == "boolean":
        return True
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return False
    if kind not in ("string", "mixed-integer", "mixed"):
        raise ValueError(
            f"column {name!r} holds {kind} values; expected numbers, text or true/false: "
            f"convert it or drop it with {option('drop', name)}"
        )
    _check_text(name, column)
    return True


def _check_text(name: str, column: pd.Series) -> None:
    """Refuse text most of which is numbers or dates: each of them would become a category."""
    codes, levels = factorise(name, column)  # each different text is looked at once
    if all(kind_of(level) == OTHER for level in levels[:_LOOKED_AT]):
        return
    kinds = np.array([kind_of(level) for level in levels])
    cells = np.bincount(codes[codes >= 0], minlength=len(levels))
    days, bad = (int(cells[kinds == kind].sum()) for kind in (DATE, OTHER))
    present = int(cells.sum())
    if 2 * days > present:
        raise ValueError(
            f"column {name!r} holds dates, as in {levels[int(np.argmax(kinds == DATE))]!r}; leave "
            f"it out with {option('drop', name)}, read it as days ({_numeric(name)}), or "
            f"declare it with {option('categorical', name)}"
        )
    if 2 * (bad + days) >= present:
        return
    if bad + days:
        _refuse_cell(name, codes, levels, (kinds == OTHER) | (kinds == DATE))
    _refuse_numbers(name, levels, kinds)


def _refuse_cell(name: str, codes: np.ndarray, levels: list[str], bad: np.ndarray) -> None:
    row = first_row((codes >= 0) & np.append(bad, False)[codes])
    text = levels[codes[row - 1]]
    raise ValueError(
        f"text in a numeric column: column {name!r}, data row {row} is {text[:80]!r}, expected a "
        f"number; correct it, make it missing (--na {shlex.quote(text[:80])}), or declare the "
        f"column with {option('categorical', name)}"
    )


def _refuse_numbers(name: str, levels: list[str], kinds: np.ndarray) -> None:
    written = kinds != NUMBER
    if written.any():
        first = int(np.argmax(written))
        raise ValueError(
            f"column {name!r} holds {_PLURALS[kinds[first]]}, as in {levels[first]!r}; read them "
            f"as numbers ({_numeric(name)}), or declare it with {option('categorical', name)}"
        )
    padded = next((level for level in levels if re.match(r"0\d", level)), None)
    like = "" if padded is None else f", with leading zeros as in {padded!r}"
    raise ValueError(
        f"column {name!r} holds numbers as text{like}; read them as numbers ({_numeric(name)}), or "
        f"declare it with {option('categorical', name)}"
    )


def _numeric(name: str) -> str:
    return f"--numeric {shlex.quote(name)}"
