"""Figure 2 for benchmarks; run as a program, a process whose start can be measured.

    python benchmarks/figure2.py PANEL N_INSTANCES HORIZON N_JOBS

simulates and prints the process's peak memory in bytes.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from greedyfirst import simulate
from greedyfirst.experiments.figure2 import (
    EXPERIMENTS,
    N_ARMS,
    SIGMA,
    arm_parameters,
    contexts,
)
from greedyfirst.problems import GaussianNoise, LinearProblem


def clipped_gaussian_problem(n_features: int) -> LinearProblem:
    """Figure 2(a) for any number of features."""
    return LinearProblem(
        contexts=contexts(n_features, intercept=False),
        arms=arm_parameters(N_ARMS, n_features, intercept=False, mixture=False),
        noise=GaussianNoise(sigma=SIGMA),
    )


def simulate_figure2(panel: str, *, n_instances: int, horizon: int, n_jobs: int) -> None:
    """Run the six policies of panel ``"a"`` to ``"d"``."""
    (experiment,) = (each for each in EXPERIMENTS if each.name == f"fig2{panel}")
    simulate(
        experiment.problem,
        experiment.policies,
        n_instances=n_instances,
        horizon=horizon,
        seed=10,
        n_jobs=n_jobs,
        progress=False,
    )


def peak_memory() -> int:
    """The most memory that this process has held, in bytes.

    Linux counts the parent's memory before ``exec`` in ``ru_maxrss``; ``VmHWM`` does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return 1024 * int(lines["VmHWM"].split()[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    panel, *numbers = sys.argv[1:]
    n_instances, horizon, n_jobs = map(int, numbers)
    simulate_figure2(panel, n_instances=n_instances, horizon=horizon, n_jobs=n_jobs)
    print(peak_memory())
