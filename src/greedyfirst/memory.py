"""One block of float64 numbers that holds a whole policy state.

A state is a record of named arrays; each array is a view into one flat buffer, which makes a state
easy to copy, to reset, to save and to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from greedyfirst.validation import FloatArray

State = TypeVar("State")

#: Arrays start at multiples of a cache line, 64 bytes: loads of four numbers never straddle two.
LINE = 8


class Memory:
    """Hands out zeroed arrays from one buffer, in order.

    ``rows`` is how many rewards a state must have room for, if it keeps them one by one.
    """

    def __init__(self, rows: int, buffer: FloatArray | None = None) -> None:
        self.rows = rows
        self.buffer = buffer
        self.used = 0

    def take(self, *shape: int) -> FloatArray:
        """The next numbers, as an array of this shape; without a buffer, only their place."""
        start = self.used
        length = int(np.prod(shape))
        self.used += length + -length % LINE
        if self.buffer is None:
            return np.zeros(shape)
        return self.buffer[start : start + length].reshape(shape)


def allocate(build: Callable[[Memory], State], rows: int) -> tuple[FloatArray, State]:
    """A zeroed buffer of the length that ``build`` takes, and what it builds there."""
    tape = Memory(rows)
    build(tape)
    block = np.zeros(tape.used + LINE)
    start = -(block.ctypes.data // block.itemsize) % LINE
    buffer = block[start : start + tape.used]
    return buffer, build(Memory(rows, buffer))


def layout(state: Any) -> Any:
    """Names and shapes of a state's arrays: those of another release may differ in nothing else."""
    if isinstance(state, np.ndarray):
        return list(state.shape)
    parts = state._asdict().items()
    return {name: layout(part) for name, part in parts if isinstance(part, (np.ndarray, tuple))}
