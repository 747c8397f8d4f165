"""Time and peak memory of `measure_diversity` against rows and columns.

python benchmarks/diversity.py [--quick]

Times are ratios to NumPy's ``x.T @ x`` on the same array in the same run, taken in turns. Peak
memory is that of a process of its own; what the measurement needs beside its input is the first
number.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory import measure_diversity
from measure import seconds

ROWS, COLUMNS = (100_000, 1_000_000), (10, 50)
LARGEST_PEAK = 2.0  # GB, at 10⁶ rows of 50 columns, the array included
SEED = 12


def draw(n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Contexts without a violation, so that nothing is cut short."""
    return np.random.default_rng(SEED).standard_normal((n_rows, n_columns))


def peak() -> float:
    """The most memory of this process so far, in GB."""
    try:
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return float(line.split()[1]) * 1024 / 1e9
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9


def measure_memory(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Peak memory in GB of a process that measures, and what it had before it began to."""
    words = [sys.executable, __file__, "--memory", str(n_rows), str(n_columns)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    before, after = (float(word) for word in done.stdout.split())
    return before, after


def time_over_gram(rows: NDArray[np.float64], *, repetitions: int) -> float:
    """The ratio of the minima; one call against a fifth of a second of products, in turns."""
    measure_diversity(rows[:1000])
    passes = max(1, round(0.2 / seconds(lambda: rows.T @ rows)))
    over, under = [], []
    for _ in range(repetitions):
        over.append(seconds(lambda: measure_diversity(rows)))
        under.append(seconds(lambda: rows.T @ rows, passes) / passes)
    return min(over) / min(under)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="measure_diversity against x.T @ x")
    parser.add_argument("--quick", action="store_true", help="one repetition instead of three")
    parser.add_argument("--memory", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        rows = draw(*options.memory)
        before = peak()
        measure_diversity(rows)
        print(before, peak())
        return
    print(f"{'rows':>9}{'columns':>9}  {'time over x.T @ x':<20}{'peak beside the array':>22}")
    for n_rows in ROWS:
        for n_columns in COLUMNS:
            rows = draw(n_rows, n_columns)
            ratio = time_over_gram(rows, repetitions=1 if options.quick else 3)
            before, after = measure_memory(n_rows, n_columns)
            print(
                f"{n_rows:>9}{n_columns:>9}  {ratio:<20.1f}{after - before:>12.2f} GB "
                f"(whole {after:.2f} GB)",
                flush=True,
            )


if __name__ == "__main__":
    main()
