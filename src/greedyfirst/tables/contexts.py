"""A table's rows as contexts that policies can learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.tables.columns import first_row
from greedyfirst.tables.row_norms import normalise_rows
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    import pandas

# Squares of larger numbers, summed over the rows, would not be finite.
LARGEST_CONTEXT = 1e150
# Of two columns' root mean squares. Beyond it the smaller one is lost in the rounding of the Gram
# matrix, whose entries differ by the square of this.
LARGEST_RATIO = 1e6
# Numbers in the Gram matrices of all arms together: each policy keeps some ten times as many.
MOST_CELLS = 4_000_000


def check_size(schema: Schema, n_arms: int) -> None:
    """Refuse a table whose Gram matrices would take gigabytes, and hours."""
    d = schema.n_features
    if n_arms * d**2 <= MOST_CELLS:
        return
    widest = max(schema.features, key=lambda each: len(each.encoded_names(schema.intercept)))
    width = len(widest.encoded_names(schema.intercept))
    advice = f"; {widest.name!r} alone makes {width}: drop it, or merge its levels"
    raise ValueError(
        f"{n_arms} arms with {d} encoded columns are too many: arms × columns² may be "
        f"{MOST_CELLS:,} at most{advice if width > 1 else ''}"
    )


def encoded_contexts(frame: pandas.DataFrame, schema: Schema, *, normalise: bool) -> FloatArray:
    """The encoded rows (n, d)."""
    contexts = schema.encode(frame)
    if normalise:
        zero = ~contexts.any(axis=1)
        if zero.any():
            raise ValueError(
                f"data row {first_row(zero)} is 0 in every column, so it has no length to be "
                "divided by; add an intercept or do not normalise"
            )
        normalise_rows(contexts)
    _check_units(contexts, schema.feature_names)
    return contexts


def _check_units(contexts: FloatArray, columns: Sequence[str]) -> None:
    """Refuse columns so large, or so much larger than another, that rounding would decide."""
    largest = np.maximum(contexts.max(axis=0), -contexts.min(axis=0))
    if largest.max() > LARGEST_CONTEXT:
        column = int(largest.argmax())
        raise ValueError(
            f"column {columns[column]!r} has values up to {largest[column]:.3g}, "
            "whose squares are not finite; standardise it or change its unit"
        )
    used = np.flatnonzero(largest)
    # In its own unit, so that no square of a column vanishes.
    sizes = [largest[i] * np.linalg.norm(contexts[:, i] / largest[i]) for i in used]
    high, low = int(np.argmax(sizes)), int(np.argmin(sizes))
    if sizes[high] / LARGEST_RATIO > sizes[low]:
        raise ValueError(
            f"column {columns[used[high]]!r} is {sizes[high] / sizes[low]:.0e} times larger than "
            f"{columns[used[low]]!r}: give standardise=True (--standardise) or change its unit"
        )
