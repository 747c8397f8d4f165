"""Replay of a large generated table from its file, in bounded memory and linear time.

    python benchmarks/replay_large.py [--quick]

Tables of 50 columns and two classes are written as CSV and as Parquet and replayed from the file
with Greedy and Greedy-First, each in a process of its own. Printed: seconds a row, their ratio
between the two sizes (1 is linear), and the process's peak memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from figure2 import peak_memory
from greedyfirst import Greedy, GreedyFirst
from greedyfirst.replay import replay_table
from greedyfirst.tables import read_table

N_COLUMNS = 50
ROWS = (100_000, 1_000_000)
ROWS_AT_ONCE = 50_000
LARGEST_PEAK, LARGEST_RATIO = 2.0, 1.3  # GB; linear time, but for noise and caches
LABEL = "class"


def write_tables(directory: Path, n_rows: int) -> None:
    """Normal contexts with two decimals, a class that a linear rule predicts but for noise."""
    rng = np.random.default_rng(0)
    rule = rng.standard_normal(N_COLUMNS)
    schema = pa.schema([*((f"x{i}", pa.float64()) for i in range(N_COLUMNS)), (LABEL, pa.string())])
    with (
        pyarrow.csv.CSVWriter(directory / f"{n_rows}.csv", schema) as text,
        pyarrow.parquet.ParquetWriter(directory / f"{n_rows}.parquet", schema) as binary,
    ):
        for start in range(0, n_rows, ROWS_AT_ONCE):
            x = rng.standard_normal((min(ROWS_AT_ONCE, n_rows - start), N_COLUMNS)).round(2)
            good = x @ rule + rng.standard_normal(len(x)) > 0.0
            columns = [*x.T, np.where(good, "yes", "no")]
            table = pa.table([pa.array(column) for column in columns], schema)
            text.write(table)
            binary.write(table)


def replay(path: Path) -> tuple[float, float]:
    """Seconds of reading and replaying, and the peak memory in GB."""
    policies = {
        "Greedy": Greedy(warmup="pinv", initial_pulls=N_COLUMNS),
        "Greedy-First": GreedyFirst(warmup="pinv", initial_pulls=N_COLUMNS),
    }

    def run(name: Path) -> None:
        replay_table(read_table(name), label=LABEL, policies=policies, permutations=1)

    small = path.with_name(f"small{path.suffix}")
    run(small)  # compiles
    start = time.perf_counter()
    run(path)
    return time.perf_counter() - start, peak_memory() / 1e9


def measure(path: Path) -> tuple[float, float]:
    """:func:`replay` in a process of its own."""
    words = [sys.executable, __file__, "--replay", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, peak = (float(word) for word in done.stdout.split())
    return seconds, peak


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="replay of a table of a million rows")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.replay:
        print(*replay(options.replay))
        return 0
    sizes = [n // (10 if options.quick else 1) for n in ROWS]
    met = True
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        write_tables(directory, 1000)
        for ending in ("csv", "parquet"):
            (directory / f"1000.{ending}").rename(directory / f"small.{ending}")
        for n_rows in sizes:
            write_tables(directory, n_rows)
        print(f"{'file':10}{'rows':>10}{'µs a row':>10}{'peak':>10}")
        for ending in ("csv", "parquet"):
            per_row = []
            for n_rows in sizes:
                taken, peak = measure(directory / f"{n_rows}.{ending}")
                per_row.append(taken / n_rows)
                met = met and peak < LARGEST_PEAK
                print(
                    f"{ending:10}{n_rows:>10}{per_row[-1] * 1e6:>10.2f}{peak:>7.2f} GB", flush=True
                )
            ratio = per_row[1] / per_row[0]
            met = met and ratio < LARGEST_RATIO
            print(f"{ending:10}{'time a row, large over small':>38} {ratio:.2f}")
    print(f"targets: peak < {LARGEST_PEAK:g} GB, time a row < {LARGEST_RATIO:g} times: {met}")
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
