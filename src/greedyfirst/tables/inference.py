"""A schema and class labels from a frame, or one sentence on why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from greedyfirst.tables.columns import (
    CodeArray,
    check_frame,
    check_known,
    factorise,
    first_row,
    sort_levels,
)
from greedyfirst.tables.schema import Categorical, Numeric, Schema
from greedyfirst.validation import FloatArray, choice, flag, wrong

IMPUTATIONS = ("mean", "median", "most-frequent")
MOST_LEVELS = 1000
MOST_CLASSES = 100
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
        refuses missing values, "most-frequent" those of numbers of which none occurs twice.

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
    features: list[Numeric | Categorical] = []
    fills: dict[str, float | str] = {}
    feature: Numeric | Categorical
    for name in kept:
        column = frame[name]
        _check_missing(name, column, impute)
        if name in declared or _is_categorical(name, column):
            feature, fills[name] = _categorical(name, column)
        else:
            feature, fill = _numeric(name, column, impute or "mean", standardise)
            if fill is not None:
                fills[name] = fill
        features.append(feature)
    return Schema(features=features, intercept=intercept, impute=fills if impute else {})


def read_labels(frame: pd.DataFrame, label: str) -> tuple[CodeArray, tuple[str, ...]]:
    """The classes in the column ``label``: a code (n,) for each row, and the classes' names.

    Classes are in the order of numbers if all are numbers, else of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedyfirst.tables import read_labels
    >>> codes, names = read_labels(pd.DataFrame({"dose": ["low", "high", "low"]}), "dose")
    >>> codes.tolist(), names
    ([1, 0, 1], ('high', 'low'))
    """
    check_frame(frame)
    check_known("label", label, [str(name) for name in frame.columns])
    codes, levels = factorise(label, frame[label])
    missing = codes < 0
    if missing.any():
        raise ValueError(
            f"label column {label!r} has missing values in {_rows(int(missing.sum()))}, first in "
            f"data row {first_row(missing)}; every row needs a class"
        )
    classes = sort_levels(levels)
    if len(classes) < 2:
        raise wrong(f"label column {label!r}", classes, "of at least two classes")
    if len(classes) > max(2, min(MOST_CLASSES, len(codes) // 2)):
        raise ValueError(
            f"label column {label!r} has {len(classes)} different values in {_rows(len(codes))}, "
            f"expected at most {MOST_CLASSES} and at most one for every two rows: it seems not to "
            "be a column of classes"
        )
    return _positions(levels, classes)[codes], classes


def _names(argument: str, value: Any, columns: list[str]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise wrong(argument, value, "a list of column names")
    names = list(value)
    for name in names:
        check_known(argument, name, columns)
    return names


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _option(option: str, name: str) -> str:
    """How to name a column in an option, from Python and on the command line."""
    return f"{option}=[{name!r}] (--{option} {name})"


def _positions(levels: list[str], order: tuple[str, ...]) -> CodeArray:
    place = {level: i for i, level in enumerate(order)}
    return np.array([place[level] for level in levels], dtype=np.int64)


def _check_missing(name: str, column: pd.Series, impute: str | None) -> None:
    missing = column.isna().to_numpy()
    if missing.all():
        raise ValueError(
            f"column {name!r} has no values at all; drop it with {_option('drop', name)}"
        )
    if impute is None and missing.any():
        raise ValueError(
            f"column {name!r} has missing values in {_rows(int(missing.sum()))}, first in data row "
            f"{first_row(missing)}; fill them, or impute them (mean, median or most-frequent)"
        )


def _is_categorical(name: str, column: pd.Series) -> bool:
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
            f"convert it or drop it with {_option('drop', name)}"
        )
    _check_text(name, column)
    return True


def _check_text(name: str, column: pd.Series) -> None:
    """Refuse text most of which is numbers: one bad cell would make categories of them all."""
    codes, levels = factorise(name, column)  # each different text is parsed once
    numbers = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce").notna().to_numpy()
    present = codes >= 0
    bad = present & ~np.append(numbers, False)[codes]
    if 2 * int(bad.sum()) >= int(present.sum()):
        return
    if not bad.any():
        padded = next((level for level in levels if re.match(r"0\d", level)), None)
        like = "" if padded is None else f", with leading zeros as in {padded!r}"
        raise ValueError(
            f"column {name!r} holds numbers as text{like}; convert it to numbers, or declare it "
            f"with {_option('categorical', name)}"
        )
    row = first_row(bad)
    raise ValueError(
        f"text in a numeric column: column {name!r}, data row {row} is "
        f"{str(column.iloc[row - 1])[:80]!r}, expected a number; declare it with "
        f"{_option('categorical', name)} or correct the cell"
    )


def _constant(name: str, value: Any) -> ValueError:
    return ValueError(
        f"column {name!r} is constant ({value!r} in every row), expected different values; drop it "
        f"with {_option('drop', name)}; an intercept is a constant feature"
    )


def _categorical(name: str, column: pd.Series) -> tuple[Categorical, str]:
    codes, found = factorise(name, column)
    levels = sort_levels(found)
    if len(levels) == 1:
        raise _constant(name, levels[0])
    if len(levels) > max(2, min(MOST_LEVELS, len(column) // 2)):
        raise ValueError(
            f"column {name!r} has {len(levels)} different values in {_rows(len(column))}, expected "
            f"at most {MOST_LEVELS} and at most one for every two rows: if it is an identifier, "
            f"drop it with {_option('drop', name)}"
        )
    counts = np.bincount(_positions(found, levels)[codes[codes >= 0]], minlength=len(levels))
    return Categorical(name, levels), levels[int(np.argmax(counts))]


def _numeric(
    name: str, column: pd.Series, impute: str, standardise: bool
) -> tuple[Numeric, float | None]:
    """The feature, and what a missing value becomes; None if the table does not tell."""
    values = Numeric(name).numbers(column)
    present = values[~np.isnan(values)]
    infinite = np.isinf(values)
    if infinite.any():
        row = first_row(infinite)
        where = f"column {name!r}, data row {row}"
        raise wrong(where, float(values[row - 1]), "a finite number")
    if present.min() == present.max():
        raise _constant(name, float(present[0]))
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
