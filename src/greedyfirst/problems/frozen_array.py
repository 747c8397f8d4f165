"""Arrays a problem keeps: checked once, copied if anyone may write to them, closed to writing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.validation import FloatArray, array, wrong


def frozen_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
    """``value`` as a read-only C-contiguous float64 array with at least one entry.

    It is copied, unless it is such an array already and owns its memory: whoever hands over a large
    array closes it to writing first.

    Parameters
    ----------
    name : str
        The argument's name, for the error.
    value : array-like
        Finite numbers.
    shape : tuple of int or None
        The expected shape; ``None`` leaves a length free.

    Returns
    -------
    array of the given shape
        A later change of the caller's array does not reach it, and it refuses assignment.
    """
    result = array(name, value, shape)
    if result.flags.writeable or not result.flags.owndata:
        result = result.copy()
    if result.size == 0:
        raise wrong(name, value, "a non-empty array")
    result.flags.writeable = False
    return result


def count_dimensions(name: str, value: ArrayLike) -> int:
    """Count the dimensions of ``value``: 0 for a number, 1 for a vector, 2 for a matrix."""
    try:
        return np.ndim(value)
    except ValueError:
        raise wrong(name, value, "a number or an array with rows of one length") from None
