"""Simulations on Dask beside threads: the same bits, the time, and the memory of the client.

    python benchmarks/cluster.py bits [--instances 1000]
    python benchmarks/cluster.py efficiency [--instances 1000] [--repetitions 3]
    python benchmarks/cluster.py large [--sizes 100000,1000000] [--workers 2]

`bits` compares all arrays of Figure 2(c) from threads 1 and 2, Dask with 1, 2 and 3 workers, and
with 2 workers of which one is killed half-way. `efficiency` runs it on as many threads and workers
in turn, both warm, and prints what threads take over what workers take: of the clock, and of the
processors (client, scheduler and workers; a busy machine moves that less). `large` runs many short
instances (T = 1000, two arms, two features), each size in a process of its own, and prints time per
instance as a ratio to the first size, and the client's peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from greedyfirst import Greedy, SimulationResult, simulate
from greedyfirst.engines.dask_cluster import local_workers
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.problems import GaussianNoise, GaussianParameters, LinearProblem, UniformBall

FIGURE = EXPERIMENTS["fig2c"]
ARRAYS = (
    *("mean", "half_width", "final", "switched_at", "eigenvalue_computations"),
    *("pulls", "culprit", "weakest", "alarmed_at"),
)
WARM_UP = 20  # instances, so that kernels are loaded everywhere
SHORT = 1000  # rounds of the many instances


def figure(n_instances: int, **options: Any) -> SimulationResult:
    """Figure 2(c), its drawn policies."""
    return simulate(
        FIGURE.problem,  # type: ignore[arg-type]
        FIGURE.policies,
        n_instances=n_instances,
        horizon=FIGURE.horizon,
        seed=10,
        progress=False,
        **options,
    )


def timed(n_instances: int, client: Any = None, **options: Any) -> tuple[float, float]:
    """Seconds of the clock and of all processes' processors."""

    def processors() -> float:
        workers = {} if client is None else client.run(time.process_time)
        return time.process_time() + sum(workers.values())

    start, spent = time.perf_counter(), processors()
    figure(n_instances, engine=client, **options)
    clock = time.perf_counter() - start
    return clock, processors() - spent


def with_a_death(client: Any, n_instances: int) -> SimulationResult:
    """One worker is killed when half of the instances have come."""

    def kill(instance: int, curves: Any) -> None:
        if instance == n_instances // 2:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    return figure(n_instances, engine=client, collect_curves=kill)


def bits(n_instances: int) -> bool:
    """Whether all ways give the same arrays."""
    reference = figure(n_instances, n_jobs=1)
    equal = {"threads, 2": same(figure(n_instances, n_jobs=2), reference)}
    for workers in (1, 2, 3):
        with local_workers(workers) as client:
            equal[f"Dask, {workers}"] = same(figure(n_instances, engine=client), reference)
    with local_workers(2) as client:
        equal["Dask, 2, one killed half-way"] = same(with_a_death(client, n_instances), reference)
    print(f"Figure 2(c), {n_instances} instances, against one thread:")
    for name, is_same in equal.items():
        print(f"  {name}: {'all arrays equal' if is_same else 'DIFFERENT'}")
    return all(equal.values())


def same(one: SimulationResult, other: SimulationResult) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def efficiency(n_instances: int, repetitions: int) -> None:
    """Time on threads over time on as many workers."""
    for count in (1, 2, 3):
        with local_workers(count) as client:
            client.wait_for_workers(count)
            figure(WARM_UP * count, engine=client, chunk_size=1)
            figure(WARM_UP, n_jobs=count)
            pairs = [
                (timed(n_instances, n_jobs=count), timed(n_instances, client))
                for _ in range(repetitions)
            ]
        for unit, place in (("clock", 0), ("processors", 1)):
            over, under = (min(pair[side][place] for pair in pairs) for side in (0, 1))
            median = statistics.median(pair[0][place] / pair[1][place] for pair in pairs)
            print(
                f"{count}: threads / Dask, {unit}: {over / under:.2f} "
                f"(median of pairs {median:.2f})",
                flush=True,
            )


def large(sizes: list[int], workers: int) -> None:
    """Time per instance and memory of the client, by size."""
    first = None
    for size in sizes:
        words = [sys.executable, __file__, "one-size", "--sizes", str(size)]
        done = subprocess.run(
            [*words, "--workers", str(workers)], stdout=subprocess.PIPE, text=True, check=True
        )
        found = json.loads(done.stdout)
        each = found["seconds"] / size
        first = each if first is None else first
        print(
            f"{size} instances × {SHORT} rounds on {workers} workers: {found['seconds']:.0f} s, "
            f"time per instance {each / first:.2f} of the first size's, "
            f"client's peak memory {found['megabytes']:.0f} MB",
            flush=True,
        )


def one_size(size: int, workers: int) -> None:
    """Run one size, and print what it took as JSON."""
    problem = LinearProblem(
        contexts=UniformBall(n_features=2),
        arms=GaussianParameters(n_arms=2, mean=np.zeros(2)),
        noise=GaussianNoise(sigma=0.5),
    )
    settings: dict[str, Any] = {"horizon": SHORT, "seed": 1, "progress": False}
    with local_workers(workers) as client:
        simulate(problem, {"Greedy": Greedy()}, n_instances=8, engine=client, **settings)
        start = time.perf_counter()
        simulate(problem, {"Greedy": Greedy()}, n_instances=size, engine=client, **settings)
        seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["bits", "efficiency", "large", "one-size"])
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    if arguments.part == "bits":
        sys.exit(0 if bits(arguments.instances) else 1)
    elif arguments.part == "efficiency":
        efficiency(arguments.instances, arguments.repetitions)
    elif arguments.part == "large":
        large(sizes, arguments.workers)
    else:
        one_size(sizes[0], arguments.workers)


if __name__ == "__main__":
    main()
