"""Learning from a log that fits in no memory, against a bare pass over the same file.

    python benchmarks/learn_large.py [--rows 100_000_000] [--jobs 2] [--out DIRECTORY]

A log of 20 float32 columns, five arms and their rewards is written as Parquet. Printed for each
policy: the time of ``Agent.learn_from`` over that of a pass that reads the same columns on as many
threads and computes X'X, both in processes of their own; the same ratio of processor time, which
other work on the machine disturbs less; the peak memory; how many rows were read again and learned
one by one. On the log's first rows the estimates are compared with those of ``update_many``. The
log is deleted at the end.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from figure2 import peak_memory
from greedyfirst import Agent, Greedy, GreedyFirst, OLSBandit, Policy
from greedyfirst.agent import learning_from_logs
from greedyfirst.tables.log_files import BUFFER_BYTES
from greedyfirst.tables.log_rows import BLOCK_ROWS

N_ARMS, N_FEATURES = 5, 20
ROWS, GROUP_ROWS, COMPARED_ROWS = 100_000_000, 1_000_000, 1_000_000
LARGEST_PEAK, LARGEST_RATIO, LARGEST_ERROR = 2.0, 3.0, 1e-9
FEATURES = [f"x{i}" for i in range(N_FEATURES)]
POLICIES: dict[str, Policy] = {
    "Greedy": Greedy(),
    "GreedyFirst": GreedyFirst(),
    "GreedyFirst, paper": GreedyFirst(fallback=OLSBandit()),
    "GreedyFirst, switches": GreedyFirst(fallback=OLSBandit(), t0=1000, lambda0=1.0),
}


def write_log(path: Path, n_rows: int) -> None:
    """Normal contexts, an intercept among them; arms at random; linear rewards and noise."""
    rng = np.random.default_rng(0)
    effects = rng.standard_normal((N_ARMS, N_FEATURES), np.float32)
    columns = [*((name, pa.float32()) for name in FEATURES)]
    schema = pa.schema([*columns, ("arm", pa.int8()), ("reward", pa.float32())])
    with pq.ParquetWriter(path, schema, use_dictionary=["arm"], compression="none") as writer:
        for first in range(0, n_rows, GROUP_ROWS):
            n = min(GROUP_ROWS, n_rows - first)
            x = rng.standard_normal((N_FEATURES, n), np.float32)
            x[0] = 1.0
            arms = rng.integers(0, N_ARMS, n, np.int8)
            rewards = rng.standard_normal(n, np.float32)
            for feature in range(N_FEATURES):
                rewards += effects[arms, feature] * x[feature]
            writer.write_table(pa.table([*x, arms, rewards], schema), row_group_size=GROUP_ROWS)


def bare_pass(path: Path, jobs: int) -> None:
    """X'X of all rows, a row group a task."""

    def gram(group: int) -> np.ndarray:
        total = np.zeros((N_FEATURES, N_FEATURES))
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
            for batch in file.iter_batches(
                BLOCK_ROWS, row_groups=[group], columns=FEATURES, use_threads=False
            ):
                x = np.empty((N_FEATURES, batch.num_rows))
                for place, column in enumerate(batch.columns):
                    x[place] = column.to_numpy()
                total += x @ x.T
        return total

    groups = pq.read_metadata(path).num_row_groups
    with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
        sum(pool.map(gram, range(groups)))


def new_agent(name: str) -> Agent:
    return Agent(POLICIES[name], n_arms=N_ARMS, n_features=N_FEATURES, seed=1)


def largest_error(name: str, path: Path, jobs: int) -> float:
    """Of the estimates on the log's first rows against those of one row after the other."""
    by_sums, one_by_one = new_agent(name), new_agent(name)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part, rows = Path(folder) / "part.parquet", pq.ParquetFile(path).read_row_group(0)
        rows = rows.slice(0, COMPARED_ROWS)
        pq.write_table(rows, part, row_group_size=COMPARED_ROWS // 10)
        by_sums.learn_from(part, n_jobs=jobs)
    contexts = np.column_stack([rows[name].to_numpy().astype(float) for name in FEATURES])
    rewards = rows["reward"].to_numpy().astype(float)
    one_by_one.update_many(contexts, rows["arm"].to_numpy().astype(int), rewards)
    if not np.array_equal(by_sums.alarmed_at, one_by_one.alarmed_at):
        return float("inf")
    unit = np.eye(N_FEATURES)
    found, truth = (
        np.array([agent.expected_rewards(x) for x in unit]) for agent in (by_sums, one_by_one)
    )
    return float(abs(found - truth).max() / abs(truth).max())


def measure(path: Path, jobs: int, what: str) -> list[float]:
    """Seconds by the clock and of the processor, GB at the peak, and rows one by one."""
    words = [sys.executable, __file__, "--jobs", str(jobs), "--measure", str(path), what]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def work(path: Path, jobs: int, what: str) -> tuple[float, float, float, int]:
    """What :func:`measure` measures in a process of its own."""
    if what in POLICIES:
        agent = new_agent(what)
        with tempfile.TemporaryDirectory() as folder:  # compiles
            write_log(Path(folder) / "small.parquet", 100_000)
            new_agent(what).learn_from(Path(folder) / "small.parquet")
    start, processor, again = time.perf_counter(), time.process_time(), 0
    if what in POLICIES:
        columns = {"arm": "arm", "reward": "reward", "schema": None}
        learned = learning_from_logs.learn_from(agent, path, **columns, n_jobs=jobs, progress=False)
        again = learned.one_by_one
    else:
        bare_pass(path, jobs)
    taken = time.perf_counter() - start, time.process_time() - processor
    return *taken, peak_memory() / 1e9, again


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="learning from a large log")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="where the log is written, for a while")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*work(Path(options.measure[0]), options.jobs, options.measure[1]))
        return 0
    met = True
    folder = Path(tempfile.mkdtemp(dir=options.out))
    try:
        path = folder / "log.parquet"
        write_log(path, options.rows)
        size = path.stat().st_size / 1e9
        print(f"{options.rows:,} rows of {N_FEATURES} columns, {size:.1f} GB, {options.jobs} jobs")
        print(
            f"{'policy':24}{'time over bare':>16}{'processor':>12}{'peak':>10}{'one by one':>14}"
            f"{'error':>12}"
        )
        for name in POLICIES:
            bare, bare_processor, *_ = measure(path, options.jobs, "bare")
            seconds, processor, peak, again = measure(path, options.jobs, name)
            error = largest_error(name, path, options.jobs)
            ratio = seconds / bare
            met = met and ratio < LARGEST_RATIO and peak < LARGEST_PEAK and error < LARGEST_ERROR
            print(
                f"{name:24}{ratio:>16.2f}{processor / bare_processor:>12.2f}{peak:>7.2f} GB"
                f"{int(again):>14,}{error:>12.1e}   ({seconds:.1f} s, bare {bare:.1f} s)",
                flush=True,
            )
    finally:
        shutil.rmtree(folder)
    print(
        f"targets: ratio < {LARGEST_RATIO:g}, peak < {LARGEST_PEAK:g} GB, "
        f"error < {LARGEST_ERROR:g}: {met}"
    )
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
