"""What is to be said about kinds of columns, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from greedyfirst.theory.diversity.column_kinds import ColumnKinds
from greedyfirst.validation import FloatArray

# Columns of a kind that are named, at most; of the others the number is told.
EXAMPLES = 2
# Terms of a combination that are written out.
MOST_TERMS = 6
# Coefficients of a combination below this (columns scaled) are left out of its text.
NEGLIGIBLE = 1e-6
# Columns whose root mean squares differ by more than this are said to.
UNLIKE_UNITS = 1e3


def listed(items: Sequence[str], *, most: int = EXAMPLES) -> str:
    """Names in a row: "a", "a and b", "a, b and 3 more"."""
    shown = list(items[:most]) if len(items) > most + 1 else list(items)
    left = len(items) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def cause(kinds: ColumnKinds, names: Sequence[str]) -> str:
    """Why columns make λ₀ = 0, as a clause that follows "because"; empty if none does."""
    clauses = []
    if kinds.constant:
        verb = "is" if len(kinds.constant) == 1 else "are"
        constants = listed([names[j] for j in kinds.constant])
        clauses.append(f"{constants} {verb} the same in every row")
    varying = kinds.varying_one_signed
    if varying and len(varying) == len(kinds.all_dummies):
        clauses.append(f"dummies of {listed(list(kinds.dummies))} are never negative")
    elif len(varying) == 1:
        clauses.append(f"{names[varying[0]]} never changes sign")
    elif varying:
        clauses.append(f"{len(varying)} columns never change sign")
    if not clauses and len(kinds.zero) == len(names):
        return "every number is 0"
    return " and ".join(clauses)


def about_constants(columns: Sequence[tuple[str, float]]) -> str:
    """Names and values of columns that are the same in every row."""
    if not columns:
        return ""
    values = listed([f"{name} is {value:g}" for name, value in columns])
    return (
        f"{values} in every row. A constant (an intercept) makes λ₀ = 0, whatever the other "
        "columns are: an arm whose estimated constant is far too low gets no context, so its "
        "estimate stays as it is."
    )


def about_zeros(columns: Sequence[str]) -> str:
    """Columns that are 0 in every row."""
    if not columns:
        return ""
    one = len(columns) == 1
    return (
        f"{listed(columns)} {'is' if one else 'are'} 0 in every row and "
        f"{'tells' if one else 'tell'} nothing."
    )


def about_dummies(dummies: Mapping[str, Sequence[int]], names: Sequence[str]) -> str:
    """Categories and the columns of their levels."""
    columns = [names[j] for places in dummies.values() for j in places]
    if not columns:
        return ""
    which = listed(list(dummies), most=5)
    number = "1 dummy" if len(columns) == 1 else f"{len(columns)} dummies"
    return (
        f"{number} of {which} ({_examples(columns)}): an arm that gets no context of a level "
        "learns nothing about it."
    )


def about_indicators(columns: Sequence[str]) -> str:
    """Columns of 0 and 1."""
    if not columns:
        return ""
    if len(columns) == 1:
        which = f"{columns[0]} is 0 or 1: an arm that gets only contexts where it is 0"
    else:
        which = (
            f"{len(columns)} columns are 0 or 1 ({_examples(columns)}): an arm that gets only "
            "contexts where one of them is 0"
        )
    return f"{which} learns nothing about it."


def about_one_signed(columns: Sequence[tuple[str, float, float]], *, alone: bool) -> str:
    """Names and ranges of numbers that never change sign, and whether only they make λ₀ = 0."""
    if not columns:
        return ""
    ranges = [f"{name} from {low:g} to {high:g}" for name, low, high in columns]
    if len(columns) == 1:
        which = f"{columns[0][0]} never changes sign (from {columns[0][1]:g} to {columns[0][2]:g})"
    else:
        which = f"{len(columns)} columns never change sign ({_examples(ranges)})"
    advice = (
        " Centred columns (--standardise) change sign; the answer is then for a bandit that is "
        "given centred columns and no intercept."
    )
    return f"{which}: on one side of 0 there are no contexts.{advice if alone else ''}"


def about_span(combinations: Sequence[str], n_rows: int, n_columns: int, rank: int) -> str:
    """Columns that are sums of others."""
    if not combinations:
        return ""
    if n_rows < n_columns:
        rows = "row" if n_rows == 1 else "rows"
        return (
            f"{n_rows} {rows} of {n_columns} columns span {rank} dimensions at most: λ₀ is that of "
            f"these {rank}."
        )
    shown = "; ".join(combinations[:EXAMPLES])
    more = f"; and {len(combinations) - EXAMPLES} more" if len(combinations) > EXAMPLES else ""
    one = len(combinations) == 1
    return (
        f"{len(combinations)} {'column is a combination' if one else 'columns are combinations'} "
        f"of others: {shown}{more}. λ₀ is that of the {rank} dimensions that the rows span."
    )


def about_units(sizes: FloatArray, names: Sequence[str]) -> str:
    """Root mean squares of columns (d,) that are far apart."""
    used = np.flatnonzero(sizes > 0.0)
    if len(used) == 0:
        return ""
    large, small = used[int(sizes[used].argmax())], used[int(sizes[used].argmin())]
    ratio = float(sizes[large] / sizes[small])
    if ratio < UNLIKE_UNITS:
        return ""
    return (
        f"{names[large]} is about {ratio:.0e} times as large as {names[small]}, and λ₀ is in the "
        "unit of the smallest column. Other units change λ₀, but not whether it is 0."
    )


def equation(j: int, weights: FloatArray, scales: FloatArray, names: tuple[str, ...]) -> str:
    """Column j as a sum of others: "c = 2·a - 0.5·b"."""
    terms = []
    for k in np.flatnonzero(np.abs(weights) > NEGLIGIBLE):
        if k != j:
            value = float(weights[k] * scales[j] / scales[k])
            sign = "-" if value < 0.0 else "+"
            factor = "" if abs(abs(value) - 1.0) < 1e-9 else f"{abs(value):.4g}·"
            terms.append(f"{sign} {factor}{names[int(k)]}")
    text = " ".join(terms[:MOST_TERMS])
    text = text[2:] if text.startswith("+ ") else text.replace("- ", "-", 1)
    if len(terms) > MOST_TERMS:
        text += f" … ({len(terms) - MOST_TERMS} more terms)"
    return f"{names[j]} = {text}"


def _examples(items: Sequence[str]) -> str:
    return ", ".join(items[:EXAMPLES]) + (", …" if len(items) > EXAMPLES else "")
