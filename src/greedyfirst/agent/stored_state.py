"""A state as it is kept in files: one buffer, and where each named array is in it.

Fields are found by name: one that is new since the file was written keeps its start value, one
that is gone is ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.agent import release_0_1
from greedyfirst.compiling.records import Record, arrays_in

BUFFER = "buffer"


def fill(state: Record, stored: dict[str, np.ndarray]) -> None:
    """Copy stored arrays into those of the same path, which may have more rows than them."""
    for path, target in state.arrays():
        source = stored.get(path)
        if source is None:
            continue
        if source.ndim != target.ndim or source.shape[1:] != target.shape[1:]:
            raise ValueError(f"{path} has shape {source.shape}, not {target.shape}")
        if source.ndim == 0:
            target[...] = source
        else:
            target[: len(source)] = source


def restore(
    state: Record, buffer: np.ndarray, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Bring a new state to where the stored one was."""
    if BUFFER not in arrays:
        fill(state, release_0_1.named_arrays(header["layout"], arrays["state"]))
    elif header["fields"] == state.places(buffer):
        buffer[:] = arrays[BUFFER]
    else:
        fill(state, arrays_in(arrays[BUFFER], header["fields"]))
