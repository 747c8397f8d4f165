"""Learning from a log that fits in no memory, against a bare pass over the same file.

    python benchmarks/learn_large.py [--rows 100_000_000] [--jobs 2] [--dask] [--out DIRECTORY]

A log of 20 float32 columns, five arms and their rewards is written as Parquet. Printed for each
policy: the time of ``Agent.learn_from`` over that of a pass that reads the same columns on as many
threads and computes X'X, both in processes of their own; the same ratio of processor time, which
other work on the machine disturbs less; the peak memory; how many rows were read again and learned
one by one. On the log's first rows the estimates are compared with those of ``update_many``. With
``--dask`` as many workers sum as there would be threads: memory is the client's and the largest
worker's then, and the agent must be, bit for bit, the one that threads make. The log is deleted at
the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client
from threadpoolctl import threadpool_limits

from figure2 import peak_memory
from greedyfirst import Agent, Greedy, GreedyFirst, OLSBandit, Policy
from greedyfirst.agent import learning_from_logs
from greedyfirst.engines.dask_cluster import local_workers
from greedyfirst.engines.engine import Where
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


class Measured(NamedTuple):
    """Seconds by the clock and of the processors, GB at the peak, rows one by one, a hash."""

    seconds: float
    processor: float
    peak: float
    one_by_one: int = 0
    state: str = ""


def measure(path: Path, jobs: int, what: str, *, dask: bool = False) -> Measured:
    """What a process of its own takes for ``what``: a policy, or the bare pass."""
    words = [sys.executable, __file__, "--jobs", str(jobs), "--measure", str(path), what]
    done = subprocess.run(
        [*words, *["--dask"] * dask], stdout=subprocess.PIPE, text=True, check=True
    )
    return Measured(*json.loads(done.stdout))


def work(path: Path, jobs: int, what: str, *, dask: bool) -> Measured:
    """What :func:`measure` measures in a process of its own."""
    if what not in POLICIES:
        start, processor = time.perf_counter(), time.process_time()
        bare_pass(path, jobs)
        taken = time.perf_counter() - start, time.process_time() - processor
        return Measured(*taken, peak_memory() / 1e9)
    with local_workers(jobs) if dask else nullcontext() as client:
        where: Where = {"n_jobs": jobs} if client is None else {"engine": client}
        with tempfile.TemporaryDirectory() as folder:  # compiles
            write_log(Path(folder) / "small.parquet", 100_000)
            new_agent(what).learn_from(Path(folder) / "small.parquet", **where)
        start, processor = time.perf_counter(), processors(client)
        learned = learning_from_logs.learn_from(
            new_agent(what), path, arm="arm", reward="reward", progress=False, **where
        )
        taken = time.perf_counter() - start, processors(client) - processor
        peaks = [peak_memory(), *([] if client is None else client.run(peak_memory).values())]
    numbers = b"".join(np.asarray(array).tobytes() for _, array in learned.state.arrays())
    state = hashlib.sha256(numbers).hexdigest()
    return Measured(*taken, max(peaks) / 1e9, learned.one_by_one, state)


def processors(client: Client | None) -> float:
    """Seconds that this process, and workers, have spent so far."""
    spent = {} if client is None else client.run(time.process_time)
    return time.process_time() + sum(spent.values())


def within(found: Measured, bare: Measured) -> bool:
    """Whether time and memory are within their targets."""
    return found.seconds < LARGEST_RATIO * bare.seconds and found.peak < LARGEST_PEAK


def row(name: str, found: Measured, bare: Measured, compared: str) -> None:
    """Print a line of the table."""
    print(
        f"{name:24}{found.seconds / bare.seconds:>16.2f}{found.processor / bare.processor:>12.2f}"
        f"{found.peak:>7.2f} GB{found.one_by_one:>14,}{compared}   ({found.seconds:.1f} s, bare "
        f"{bare.seconds:.1f} s)",
        flush=True,
    )


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="learning from a large log")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dask", action="store_true", help="on Dask workers too")
    parser.add_argument("--out", type=Path, help="where the log is written, for a while")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        path, what = Path(options.measure[0]), options.measure[1]
        print(json.dumps(work(path, options.jobs, what, dask=options.dask)))
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
            bare = measure(path, options.jobs, "bare")
            found = measure(path, options.jobs, name)
            error = largest_error(name, path, options.jobs)
            row(name, found, bare, f"{error:>12.1e}")
            met = met and error < LARGEST_ERROR and within(found, bare)
            if options.dask:
                on_dask = measure(path, options.jobs, name, dask=True)
                same = on_dask.state == found.state
                row("  on Dask", on_dask, bare, "   same bits" if same else "   OTHER BITS")
                met = met and same and within(on_dask, bare)
    finally:
        shutil.rmtree(folder)
    print(
        f"targets: ratio < {LARGEST_RATIO:g}, peak < {LARGEST_PEAK:g} GB, "
        f"error < {LARGEST_ERROR:g}: {met}"
    )
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
