"""Columns of numbers that may not be measurements: codes for missing, identifiers, dates."""

from __future__ import annotations

import re
import shlex

import numpy as np

from greedyfirst.tables.columns import counted_rows
from greedyfirst.tables.findings import note
from greedyfirst.validation import FloatArray

#: What programs and people write for a missing number.
MISSING_CODES = (
    -9.0,
    *(sign * nines for nines in (99.0, 999.0, 9999.0, 99999.0) for sign in (-1, 1)),
)
_IDENTIFIER = re.compile(
    r"(?:.*[ _.-])?(?:id|key|nr|no|index|row|uuid)(?:[ _.-]?number)?|.*[a-z]I[dD]|ID"
)
_FEWEST_ROWS = 20  # a few rows are different by chance


def note_odd_numbers(name: str, values: FloatArray) -> None:
    """Say what a column of numbers (without missing ones) seems to be besides numbers.

    It is used as it is: ages may be 99, and numbers of visits may rise by one.
    """
    note_code(name, values)
    low, high = float(values.min()), float(values.max())
    if len(values) < _FEWEST_ROWS or not low.is_integer() or not high.is_integer():
        return
    if low >= 19000101 and high <= 21001231 and _are_days(values):
        note(
            f"Column {name!r} holds dates written as numbers, as in {low:.0f}; it is used as a "
            f"number, in which months have 100 days (--drop {shlex.quote(name)} leaves it out)."
        )
    elif _numbers_rows(values, low, high) or (
        _IDENTIFIER.fullmatch(name.strip()) and len(np.unique(values)) == len(values)
    ):
        note(
            f"Column {name!r} has another whole number in every row, as an identifier has; it is "
            f"used as a number (--drop {shlex.quote(name)} leaves it out)."
        )


def note_code(name: str, values: FloatArray) -> None:
    """Say if a column of numbers has one that may stand for missing; it is used as it is."""
    for code in (float(values.min()), float(values.max())):
        if code not in MISSING_CODES:
            continue
        others = values[values != code]
        if not len(others):
            return
        low, high = others.min(), others.max()
        apart = min(abs(code - low), abs(code - high)) > high - low
        if apart or (code < 0 <= low):
            count = len(values) - len(others)
            note(
                f"Column {name!r} is {code:.0f} in {counted_rows(count)} and between {low:g} and "
                f"{high:g} otherwise; it is used as a number (--na {code:.0f} makes it missing)."
            )
            return


def _numbers_rows(values: FloatArray, low: float, high: float) -> bool:
    """Whether the values are the numbers low, low + 1, …, high, in any order."""
    if high - low != len(values) - 1:
        return False
    places = (values - low).astype(np.int64)
    whole = bool((places == values - low).all())
    return whole and bool((np.bincount(places, minlength=len(values)) == 1).all())


def _are_days(values: FloatArray) -> bool:
    """Whether all numbers are dates of the form 20201231."""
    whole = values.astype(np.int64)
    month, day = whole // 100 % 100, whole % 100
    fits = (whole == values) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(fits.all())
