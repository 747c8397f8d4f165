"""Contexts of length one."""

from __future__ import annotations

import numpy as np

from greedyfirst.validation import FloatArray, wrong

_ROWS_AT_ONCE = 4096


def normalise_rows(array: FloatArray) -> FloatArray:
    """Divide each row of ``array`` (n, d) by its ℓ₂ norm, in place, and return it.

    Rows are scaled by a power of two first, so no square overflows or vanishes. Some thousand rows
    are worked on at a time: the memory needed does not grow with n. If a row is zero or not finite,
    ValueError names it and nothing has been changed.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.tables import normalise_rows
    >>> normalise_rows(np.array([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    good = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.ndim == 2
    if not good or not array.flags.writeable:
        raise wrong("array", array, "a writeable float64 array of shape (n, d)")
    for start in range(0, len(array), _ROWS_AT_ONCE):
        _check(array[start : start + _ROWS_AT_ONCE], start)
    for start in range(0, len(array), _ROWS_AT_ONCE):
        rows = array[start : start + _ROWS_AT_ONCE]
        _, exponents = np.frexp(_largest(rows))
        np.ldexp(rows, -exponents[:, None], out=rows)
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return array


def _largest(rows: FloatArray) -> FloatArray:
    largest: FloatArray = np.maximum(rows.max(axis=1, initial=0), -rows.min(axis=1, initial=0))
    return largest


def _check(rows: FloatArray, start: int) -> None:
    largest = _largest(rows)
    for bad, fault in ((~np.isfinite(largest), "not finite"), (largest == 0, "zero")):
        if bad.any():
            row = start + int(np.argmax(bad))
            raise ValueError(
                f"array[{row}] is {fault}; a row to normalise must be a finite vector "
                "other than zero"
            )
