"""Curves of single instances as a Parquet file, written while they come.

One row per policy, instance and plotted step:

``policy``
    the label;
``instance``
    its number, from 0: with the seed it decides contexts, rewards and ties;
``t``
    the round, as in the figure's own table;
``regret``
    summed up to that round. Of real data it is the number of wrong decisions, and the figure shows
    it divided by t.

The file's metadata name the figure, the seed and the version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.validation import FloatArray, IntArray
from greedyfirst.version import __version__

#: Rows that are held before they are written: some 4 MB.
ROWS_HELD = 2**17


class RawCurves:
    """An open file; rows are held until there are enough of them for a group."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._tables: list[Any] = []
        self._rows = 0

    def add(
        self, labels: Sequence[str], steps: IntArray, instance: int, curves: FloatArray
    ) -> None:
        """One instance: ``curves`` is (n_policies, n_points)."""
        import pyarrow

        n_policies, n_points = curves.shape
        codes = np.repeat(np.arange(n_policies, dtype=np.int32), n_points)
        columns = [
            pyarrow.DictionaryArray.from_arrays(codes, list(labels)),
            np.full(curves.size, instance, np.int32),
            np.tile(steps.astype(np.int32), n_policies),
            curves.ravel(),
        ]
        self._tables.append(pyarrow.table(columns, schema=self._writer.schema))
        self._rows += curves.size
        if self._rows >= ROWS_HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held, as one group of rows."""
        import pyarrow

        if self._tables:
            self._writer.write_table(pyarrow.concat_tables(self._tables).unify_dictionaries())
        self._tables, self._rows = [], 0


@contextmanager
def raw_curves(path: Path, *, figure: str, seed: int) -> Iterator[RawCurves]:
    """A file to add instances to; it is there when all went well, and not at all otherwise."""
    # Slow to import, and asked for seldom.
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema(
        [
            ("policy", pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
            ("instance", pyarrow.int32()),
            ("t", pyarrow.int32()),
            ("regret", pyarrow.float64()),
        ],
        metadata={"figure": figure, "seed": str(seed), "version": __version__},
    )
    with atomic_write(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        curves = RawCurves(writer)
        yield curves
        curves.flush()
