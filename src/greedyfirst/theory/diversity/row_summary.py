"""One pass over the contexts: their moments, ranges, a random sample and antipodal pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory.diversity.antipodal_pairs import AntipodalPairs
from greedyfirst.theory.diversity.row_chunks import CHUNK_ROWS, EXPECTED, RowChunks
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSummary:
    """What the first pass over the rows has found."""

    n_rows: int
    #: Σ xxᵀ/n (d, d) and Σ x/n (d,).
    second_moment: FloatArray
    mean: FloatArray
    #: The smallest and the largest entry of each column (d,).
    lowest: FloatArray
    highest: FloatArray
    #: How many entries of each column are 0 (d,).
    zeros: FloatArray
    #: The largest norm of a row.
    longest: float
    #: A simple random sample of the rows (m, d), for the search.
    searched: FloatArray
    #: The largest random key of the sample: rows with larger keys were left out of it.
    largest_key: float
    #: All rows (n, d) where they are few enough, else None.
    all_rows: FloatArray | None
    #: Σ xxᵀ/n over exact antipodal pairs, each counted by its rarer side (d, d); 0 if none.
    paired_moment: FloatArray
    #: The number of different rows; None if they are too many to be counted.
    distinct_rows: int | None

    @property
    def n_features(self) -> int:
        """The number of columns d."""
        return len(self.mean)


def summarise(rows: RowChunks, *, search_rows: int, seed: int) -> RowSummary:
    """Read all rows once; O(n d²) time, O(search_rows · d + d²) memory.

    Parameters
    ----------
    rows : RowChunks
        The contexts.
    search_rows : int
        The size of the random sample. At most half of the rows are taken: what is found on them is
        tested on the others. All rows are kept if there are at most twice as many, or at most two
        columns.
    seed : int
        Seed of the random sample.
    """
    totals: _Totals | None = None
    for chunk, keys in zip(rows, draw_keys(seed), strict=False):
        if totals is None:
            totals = _Totals(chunk.shape[1], search_rows)
        totals.add(chunk, keys[: len(chunk)])
    if totals is None or totals.n_rows < 2:
        n_rows = 0 if totals is None else totals.n_rows
        raise ValueError(f"contexts must be {EXPECTED}, got {n_rows} rows")
    return totals.summary()


def draw_keys(seed: int) -> Iterator[FloatArray]:
    """Random keys, the same in every pass; the sample is the rows with the smallest ones."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.random(CHUNK_ROWS)


def chunks_with_held_out(
    rows: RowChunks, seed: int, largest_key: float
) -> Iterator[tuple[FloatArray, NDArray[np.bool_]]]:
    """Each chunk (m, d), and which of its rows (m,) are not in the sample: their key is larger."""
    for chunk, keys in zip(rows, draw_keys(seed), strict=False):
        yield chunk, keys[: len(chunk)] > largest_key


class _Totals:
    """Running sums, ranges and the sample so far."""

    def __init__(self, n_features: int, search_rows: int) -> None:
        self.n_rows = 0
        self.search_rows = search_rows
        self.gram = np.zeros((n_features, n_features))
        self.total = np.zeros(n_features)
        self.lowest = np.full(n_features, np.inf)
        self.highest = np.full(n_features, -np.inf)
        self.zeros = np.zeros(n_features)
        self.longest = 0.0
        self.sample = np.empty((0, n_features))
        self.keys = np.empty(0)
        self.all_rows: list[FloatArray] | None = []
        self.antipodes = AntipodalPairs(n_features)

    def add(self, chunk: FloatArray, keys: FloatArray) -> None:
        self.n_rows += len(chunk)
        # What overflows is refused by the columns' ranges, with their names.
        with np.errstate(over="ignore", invalid="ignore"):
            self.gram += chunk.T @ chunk
            self.total += chunk.sum(axis=0)
            self.longest = max(self.longest, float(np.einsum("ij,ij->i", chunk, chunk).max()))
        np.minimum(self.lowest, chunk.min(axis=0), out=self.lowest)
        np.maximum(self.highest, chunk.max(axis=0), out=self.highest)
        self.zeros += (chunk == 0.0).sum(axis=0)
        self._sample(chunk, keys)
        self.antipodes.add(chunk)
        if self.all_rows is not None:
            few = self.n_rows <= 2 * self.search_rows or chunk.shape[1] <= 2
            self.all_rows = [*self.all_rows, chunk.copy()] if few else None

    def _sample(self, chunk: FloatArray, keys: FloatArray) -> None:
        full = len(self.keys) >= self.search_rows
        low = np.flatnonzero(keys < self.keys.max()) if full else np.arange(len(keys))
        if len(low) == 0:
            return
        every = np.concatenate([self.keys, keys[low]])
        chosen = np.sort(np.argsort(every, kind="stable")[: self.search_rows])
        self.sample = np.concatenate([self.sample, chunk[low]])[chosen]
        self.keys = every[chosen]

    def summary(self) -> RowSummary:
        n = self.n_rows
        size = min(self.search_rows, n // 2)
        chosen = np.sort(np.argsort(self.keys, kind="stable")[:size])
        with np.errstate(over="ignore", invalid="ignore"):
            paired = self.antipodes.moment()
        return RowSummary(
            n_rows=n,
            second_moment=self.gram / n,
            mean=self.total / n,
            lowest=self.lowest,
            highest=self.highest,
            zeros=self.zeros,
            longest=float(np.sqrt(self.longest)),
            searched=self.sample[chosen],
            largest_key=float(self.keys[chosen].max()),
            all_rows=None if self.all_rows is None else np.concatenate(self.all_rows),
            paired_moment=paired / n,
            distinct_rows=self.antipodes.n_distinct(),
        )
