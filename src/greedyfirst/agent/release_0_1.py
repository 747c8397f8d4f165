"""States that release 0.1.0 wrote: arrays by position, under the names that they have now.

There, a state was one block of float64 numbers; its arrays followed one another, each from a
multiple of eight numbers on, and columns of them held what now has a name and a type of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from greedyfirst.validation import FloatArray

_LINE = 8
Named = Iterator[tuple[str, np.ndarray]]


def named_arrays(layout: dict[str, Any], block: FloatArray) -> dict[str, np.ndarray]:
    """The arrays of a stored state by their present paths."""
    return dict(_state(_Reader(block).arrays(layout), ""))


class _Reader:
    """Takes the arrays of a layout from the block, in its order."""

    def __init__(self, block: FloatArray) -> None:
        self.block, self.used = block, 0

    def arrays(self, layout: dict[str, Any]) -> dict[str, Any]:
        """Nested arrays by their old names."""
        found: dict[str, Any] = {}
        for name, each in layout.items():
            if isinstance(each, dict):
                found[name] = self.arrays(each)
            elif not (name == "outlook" and "watch" in layout):  # it was the greedy state's own
                found[name] = self.take(each)
        return found

    def take(self, shape: list[int]) -> FloatArray:
        """The next array."""
        length = int(np.prod(shape, dtype=np.int64))
        taken = self.block[self.used : self.used + length]
        if len(taken) != length:
            raise ValueError("the state is shorter than its layout says")
        self.used += length + -length % _LINE
        return taken.reshape(shape)


def _columns(table: FloatArray, prefix: str, *names: str) -> Named:
    """The columns of a table of numbers, one per arm."""
    yield from ((prefix + name, table[:, place]) for place, name in enumerate(names))


def _single(numbers: FloatArray, prefix: str, *names: str) -> Named:
    """Single numbers."""
    yield from ((prefix + name, numbers[place]) for place, name in enumerate(names))


def _state(old: dict[str, Any], prefix: str) -> Named:
    """A policy's state."""
    for name in ("model", "forced"):
        if name in old:
            yield from _model(old[name], f"{prefix}{name}.")
    if "outlook" in old:
        value, spread, share = old["outlook"]
        scores = {"value": value, "spread": spread, "random_share": share[0]}
        yield from ((f"{prefix}scores.{name}", each) for name, each in scores.items())
    if "noise" in old:
        yield from _single(old["noise"], f"{prefix}noise.", "rewards", "squares")
    if "longest" in old:
        yield from _single(old["longest"], prefix, "longest_context", "longest_estimate")
    if "numbers" in old:
        yield from _single(old["numbers"], prefix, "settled", "smallest")
    for name in ("everyone", "allowed"):
        if name in old:
            yield prefix + name, old[name]
    if "watch" in old:
        yield from _greedy_first(old, prefix)
    elif "initial" in old:
        plan = old["initial"]
        yield from _columns(plan, f"{prefix}initial.", "added_after", "pulls")
        yield f"{prefix}initial.until", plan[0, 2]
        yield f"{prefix}initial.founders", plan[0, 3]


def _greedy_first(old: dict[str, Any], prefix: str) -> Named:
    for phase in ("greedy", "fallback"):
        yield from _state(old[phase], f"{prefix}{phase}.")
    yield f"{prefix}samples.contexts", old["initial"]["contexts"]
    yield from _columns(old["initial"]["outcomes"], f"{prefix}samples.", "arms", "rewards")
    watch, path = old["watch"], f"{prefix}watch."
    first = ("clock", "next_test", "lambda0", "explores", "alarms", "switched_at", "offset")
    last = ("eigenvalue_computations", "culprit", "rank", "decided")
    yield from _single(watch["numbers"], path, *first, *last)
    yield from _columns(watch["arms"], path, "floor", "since", "exempt", "dropped", "tripped_at")
    yield path + "weakest", watch["weakest"]
    yield path + "units", watch["vectors"][0]
    yield path + "basis", watch["matrices"][0]


def _model(old: dict[str, Any], prefix: str) -> Named:
    """Least squares, a posterior, or maximum likelihood."""
    numbers, vectors, matrices = old["numbers"], old["vectors"], old["matrices"]
    if "linear" in old:
        yield from _model(old["linear"], f"{prefix}linear.")
        blocks = ("first_block", "last_block", "n_blocks", "filled", "folded", "separated")
        yield from _columns(numbers, prefix, "exists", *blocks)
        yield from _columns(vectors, prefix, "estimate", "direction", "squares", "folded_gradient")
        yield from _columns(matrices, prefix, "inverse", "folded_curvature")
        yield prefix + "features", old["rows"][:, :-2]
        yield prefix + "rewards", old["rows"][:, -2]
        yield prefix + "next_block", old["rows"][:, -1, 0]
    elif "scratch_matrices" in old:
        counts = ("pulls", "rank", "growth", "refreshed_at", "waiting", "penalty", "paused")
        yield from _columns(numbers, prefix, *counts)
        single = ("moment", "solution", "estimate", "first_direction", "units")
        yield from _columns(vectors, prefix, *single)
        yield prefix + "rows", vectors[:, len(single) :]
        yield from _columns(matrices, prefix, "settled_gram", "inverse", "basis", "ridge_inverse")
    else:
        yield from _columns(numbers, prefix, "pulls", "growth", "refreshed_at")
        yield from _columns(vectors, prefix, "shift", "estimate")
        yield from _columns(matrices, prefix, "gram", "precision", "covariance")
