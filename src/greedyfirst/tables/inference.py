"""A schema from a frame, or every reason why not in one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from greedyfirst.tables.column_notes import note_odd_numbers
from greedyfirst.tables.columns import (
    check_frame,
    check_known,
    counted_rows,
    factorise,
    first_row,
    option,
    positions,
    sort_levels,
)
from greedyfirst.tables.findings import Faults, note
from greedyfirst.tables.schema import Categorical, Numeric, Schema
from greedyfirst.tables.text_columns import is_categorical
from greedyfirst.validation import BoolArray, FloatArray, choice, flag, wrong

IMPUTATIONS = ("mean", "median", "most-frequent")
MISSING_LEVEL = "(missing)"
MOST_LEVELS = 1000
_UNIT = 2.0**64  # more than the number of rows of any table


def infer_schema(
    frame: pd.DataFrame,
    *,
    label: str | None = None,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    intercept: bool = False,
    standardise: bool = False,
    impute: str | None = None,
) -> Schema:
    """The schema of a frame's columns: numbers are Numeric; text and true/false Categorical.

    Columns that are the same in every row, or empty, are left out. A :class:`TableNote` says so,
    and what else was assumed. All columns that cannot be used are named in one error.

    Parameters
    ----------
    frame : DataFrame
        One row per context.
    label : str or None
        The column of the right answers, which is no feature.
    drop : names
        Columns that are no features.
    categorical : names
        Columns of numbers that are categories.
    intercept : bool
        Whether the encoding begins with a column of ones.
    standardise : bool
        Give each numeric feature mean 0 and standard deviation 1 over the frame.
    impute : "mean", "median", "most-frequent" or None
        What a missing number becomes; a missing category becomes the most frequent one. None
        refuses missing numbers, and makes missing categories a category of their own.
        "most-frequent" refuses missing numbers where none occurs twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedyfirst.tables import infer_schema
    >>> frame = pd.DataFrame({"age": [30, 50], "sex": ["female", "male"], "dose": ["low", "high"]})
    >>> infer_schema(frame, label="dose").feature_names
    ('age', 'sex=female', 'sex=male')
    """
    check_frame(frame)
    if len(frame) == 0:
        raise ValueError("frame must have at least one row, got none")
    columns = [str(name) for name in frame.columns]
    if label is not None:
        check_known("label", label, columns)
    dropped = {*_names("drop", drop, columns), *([] if label is None else [label])}
    declared = _names("categorical", categorical, columns)
    standardise = flag("standardise", standardise)
    if impute is not None:
        choice("impute", impute, IMPUTATIONS)
    kept = [name for name in columns if name not in dropped]
    if not kept:
        raise ValueError(
            f"no column is left as a feature beside {', '.join(map(repr, sorted(dropped)))}; add "
            "columns, or drop fewer"
        )
    found = _Columns(impute, standardise)
    for name in kept:
        with found.faults:
            found.add(name, frame[name], categorical=name in declared)
    return found.schema(flag("intercept", intercept))


class _Columns:
    """What the columns of a frame are, found one by one."""

    def __init__(self, impute: str | None, standardise: bool) -> None:
        self.faults = Faults()
        self._impute = impute
        self._standardise = standardise
        self._features: list[Numeric | Categorical] = []
        self._fills: dict[str, float | str] = {}
        #: Columns that are left out, with their value; columns that lack numbers, with the rows.
        self._constant: dict[str, str] = {}
        self._holed: dict[str, BoolArray] = {}

    def add(self, name: str, column: pd.Series, *, categorical: bool) -> None:
        """Take one more column, or raise why not."""
        missing = column.isna().to_numpy()
        if missing.all():
            self._constant[name] = "empty"
        elif categorical or is_categorical(name, column):
            self._add_categories(name, column, missing)
        else:
            self._add_numbers(name, column, missing)

    def schema(self, intercept: bool) -> Schema:
        """The schema of all columns; raises all faults instead, if there are any."""
        if self._holed:
            with self.faults:
                raise _missing_numbers(self._holed)
        self.faults.raise_all()
        listed = ", ".join(f"{name!r} ({value})" for name, value in self._constant.items())
        if not self._features:
            raise ValueError(f"no column is left as a feature: {listed} never changes; add columns")
        if self._constant:
            note(f"Left out, since the same in every row: {listed}.")
        return Schema(features=self._features, intercept=intercept, impute=self._fills)

    def _add_categories(self, name: str, column: pd.Series, missing: BoolArray) -> None:
        feature, most_frequent = _categorical(name, column)
        own = bool(missing.any()) and self._impute is None
        if len(feature.levels) == 1 and not own:
            self._constant[name] = repr(feature.levels[0]) + " or missing" * bool(missing.any())
            return
        if own:
            levels = [level for level in feature.levels if level != MISSING_LEVEL]
            feature = Categorical(name, (*levels, MISSING_LEVEL))
            self._fills[name] = MISSING_LEVEL
            note(
                f"Missing values of {name!r} ({counted_rows(int(missing.sum()))}) are a category "
                "of their own (--impute most-frequent fills them)."
            )
        elif self._impute is not None:
            self._fills[name] = most_frequent
        self._features.append(feature)

    def _add_numbers(self, name: str, column: pd.Series, missing: BoolArray) -> None:
        values = Numeric(name).numbers(column)
        present = values[~missing] if missing.any() else values
        infinite = np.isinf(values)
        if infinite.any():
            row = first_row(infinite)
            where = f"column {name!r}, data row {row}"
            raise wrong(where, float(values[row - 1]), "a finite number")
        if present.min() == present.max():
            self._constant[name] = f"{present[0]:g}" + " or missing" * bool(missing.any())
            return
        note_odd_numbers(name, present)
        if missing.any() and self._impute is None:
            self._holed[name] = missing
            return
        feature, fill = _numeric(name, values, present, self._impute or "mean", self._standardise)
        if fill is not None and self._impute is not None:
            self._fills[name] = fill
        self._features.append(feature)


def _names(argument: str, value: Any, columns: list[str]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise wrong(argument, value, "a list of column names")
    names = list(value)
    for name in names:
        check_known(argument, name, columns)
    return names


def _missing_numbers(holed: dict[str, BoolArray]) -> ValueError:
    """What to do about columns of numbers that are missing in some rows."""
    name, missing = next(iter(holed.items()))
    advice = "fill them with impute='median' (--impute median; or mean, most-frequent), or "
    if len(holed) == 1:
        return ValueError(
            f"column {name!r} has missing values in {counted_rows(int(missing.sum()))}, first in "
            f"data row {first_row(missing)}; {advice}leave it out with {option('drop', name)}"
        )
    listed = ", ".join(
        f"{each!r} ({counted_rows(int(rows.sum()))})" for each, rows in holed.items()
    )
    return ValueError(f"columns {listed} have missing values; {advice}drop the columns (--drop)")


def _categorical(name: str, column: pd.Series) -> tuple[Categorical, str]:
    """The feature, and its most frequent level."""
    codes, found = factorise(name, column)
    levels = sort_levels(found)
    if len(levels) > max(2, min(MOST_LEVELS, len(column) // 2)):
        raise ValueError(
            f"column {name!r} has {len(levels)} different values in {counted_rows(len(column))}, "
            f"expected at most {MOST_LEVELS} and at most one for every two rows: if it is an "
            f"identifier, drop it with {option('drop', name)}"
        )
    counts = np.bincount(positions(found, levels)[codes[codes >= 0]], minlength=len(levels))
    return Categorical(name, levels), levels[int(np.argmax(counts))]


def _numeric(
    name: str, values: FloatArray, present: FloatArray, impute: str, standardise: bool
) -> tuple[Numeric, float | None]:
    """The feature, and what a missing value becomes; None if the table does not tell."""
    fill = _fill(present, impute)
    if fill is None and len(present) < len(values):
        raise ValueError(
            f"column {name!r} has no value twice, so none is the most frequent; impute 'median' "
            "(--impute median) instead"
        )
    if not standardise:
        return Numeric(name), fill
    filled = present if fill is None else np.where(np.isnan(values), fill, values)
    mean, scale = _moments(filled)
    if not np.isfinite([mean, scale]).all() or scale <= 0:
        raise ValueError(
            f"column {name!r} has values from {present.min():g} to {present.max():g}, which cannot "
            "be standardised; change its unit"
        )
    return Numeric(name, mean, scale), fill


def _fill(present: FloatArray, impute: str) -> float | None:
    if impute == "most-frequent":
        values, counts = np.unique(present, return_counts=True)
        return float(values[np.argmax(counts)]) if counts.max() > 1 else None
    return _average(present, np.median if impute == "median" else np.mean)


def _average(values: FloatArray, average: Callable[[FloatArray], Any]) -> float:
    """Mean or median; of numbers whose sum would overflow, by way of a smaller unit."""
    with np.errstate(over="ignore", invalid="ignore"):
        plain = float(average(values))
    return plain if np.isfinite(plain) else float(average(values / _UNIT) * _UNIT)


def _moments(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; deviations are scaled so that no square vanishes."""
    mean = _average(values, np.mean)
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = values - mean
        largest = float(np.abs(deviations).max())
        deviations /= largest
        return mean, largest * float(np.sqrt(np.mean(deviations**2)))
