"""Contexts read in chunks of rows, from an array, a list of arrays or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from greedyfirst.validation import FloatArray, wrong

# Rows worked on at a time: 6.5 MB at 50 columns.
CHUNK_ROWS = 2**14
EXPECTED = (
    "an array of finite numbers (n, d) with at least 2 rows, a list of such arrays, "
    "or a function that returns a new iterator over such arrays"
)

Contexts = Any  # an array (n, d), a sequence of arrays, or a function that returns an iterator


class RowChunks:
    """Contexts (n, d) that are read several times, in chunks of at most ``CHUNK_ROWS`` rows.

    Parameters
    ----------
    contexts : array (n, d), sequence of arrays (·, d), or function returning an iterator of them
        An array is never copied as a whole. An iterator itself is refused, since it can be read
        only once.
    """

    def __init__(self, contexts: Contexts) -> None:
        self._open: Callable[[], Iterable[Any]]
        if callable(contexts):
            self._open = contexts
        elif isinstance(contexts, (list, tuple)) and contexts and np.ndim(contexts[0]) == 2:
            self._open = lambda: contexts
        elif isinstance(contexts, Iterator):
            raise wrong("contexts", contexts, EXPECTED + " (an iterator can be read only once)")
        else:
            try:
                whole = np.asarray(contexts)
            except ValueError:
                raise wrong("contexts", contexts, EXPECTED) from None
            self._open = lambda: [whole]

    def __iter__(self) -> Iterator[FloatArray]:
        n_features, seen = None, 0
        for block in self._open():
            part = np.asarray(block)
            if part.ndim != 2 or part.dtype.kind not in "fiu" or part.shape[1] < 1:
                shown = f"shape {part.shape} of {part.dtype}"
                raise ValueError(f"contexts must be {EXPECTED}, got {shown}")
            if n_features is not None and part.shape[1] != n_features:
                shown = f"chunks of {n_features} and of {part.shape[1]} columns"
                raise ValueError(f"contexts must be {EXPECTED}, got {shown}")
            n_features = part.shape[1]
            for start in range(0, len(part), CHUNK_ROWS):
                rows = np.ascontiguousarray(part[start : start + CHUNK_ROWS], dtype=np.float64)
                _check_finite(rows, seen)
                seen += len(rows)
                yield rows


def _check_finite(rows: FloatArray, seen: int) -> None:
    # A sum is finite unless a term is not, or it overflows; only then is each number looked at.
    if np.isfinite(rows.sum()) or np.isfinite(rows).all():
        return
    row, column = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
    value = rows[row, column]
    raise ValueError(f"contexts must be {EXPECTED}, got contexts[{seen + row}, {column}] = {value}")
