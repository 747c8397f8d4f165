"""Classes from a column of a table, or one sentence on why it has none."""

from __future__ import annotations

import pandas as pd

from greedyfirst.tables.columns import (
    CodeArray,
    check_frame,
    check_known,
    counted_rows,
    factorise,
    first_row,
    positions,
    sort_levels,
)
from greedyfirst.validation import wrong

MOST_CLASSES = 100


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
    check_not_measured("label", label, frame[label])
    codes, levels = factorise(label, frame[label])
    missing = codes < 0
    if missing.any():
        raise ValueError(
            f"label column {label!r} has missing values in {counted_rows(int(missing.sum()))}, "
            f"first in data row {first_row(missing)}; every row needs a class: remove these rows"
        )
    classes = sort_levels(levels)
    if len(classes) < 2:
        raise wrong(f"label column {label!r}", classes, "of at least two classes")
    if len(classes) > max(2, min(MOST_CLASSES, len(codes) // 2)):
        raise ValueError(
            f"label column {label!r} has {len(classes)} different values in "
            f"{counted_rows(len(codes))}, expected at most {MOST_CLASSES} and at most one for "
            "every two rows: it seems not to be a column of classes; name another (--label)"
        )
    return positions(levels, classes)[codes], classes


def check_not_measured(option: str, name: str, column: pd.Series) -> None:
    """Refuse a column of classes or arms that holds measurements: more than 100 fractions."""
    if column.dtype.kind != "f":
        return
    different = column.nunique()
    if different > MOST_CLASSES and bool((column % 1 != 0).any()):
        raise ValueError(
            f"{option} column {name!r} has {different} different numbers in "
            f"{counted_rows(len(column))}, from {column.min():g} to {column.max():g}: "
            f"measurements, not classes; name another column (--{option}), or cut this one into a "
            "few classes first (pandas.qcut)"
        )
