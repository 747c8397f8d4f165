"""Figure 2's problems and six policies; run as a program, a process whose start can be measured.

    python benchmarks/figure2.py PANEL N_INSTANCES HORIZON N_JOBS

simulates and prints the process's peak memory in bytes.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from greedyfirst import (
    OFUL,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Policy,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    simulate,
)
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    WithIntercept,
)

N_ARMS = 2
SIGMA = 0.5


def clipped_gaussian_problem(n_features: int) -> LinearProblem:
    """Figure 2(a) for any number of features."""
    return LinearProblem(
        contexts=ClippedGaussian(n_features=n_features, covariance=0.5, bound=1.0),
        arms=GaussianParameters(n_arms=N_ARMS, mean=[0.0] * n_features),
        noise=GaussianNoise(sigma=SIGMA),
    )


def figure2_problem(panel: str) -> LinearProblem:
    """Panel ``"a"``; or ``"c"``, with an intercept whose coefficients are multiplied by 0.2."""
    without = clipped_gaussian_problem(3)
    if panel == "a":
        return without
    return LinearProblem(
        contexts=WithIntercept(contexts=without.contexts),
        arms=GaussianParameters(n_arms=N_ARMS, mean=[0.0] * 4, covariance=[0.2**2, 1.0, 1.0, 1.0]),
        noise=without.noise,
    )


def figure2_policies(n_features: int) -> dict[str, Policy]:
    """The six policies of panels (a) and (c), as the published figure was made."""
    ols_bandit = OLSBandit(h=5, q=1, warmup="ridge", initial_pulls=n_features)
    return {
        "Greedy": Greedy(warmup="ridge"),
        "Greedy-First": GreedyFirst(
            warmup="ridge",
            fallback=ols_bandit,
            lambda0_minimum=1e-5,
            test_after=8 * N_ARMS * n_features,
        ),
        "OLS Bandit": ols_bandit,
        "OFUL": OFUL(sigma=SIGMA),
        "Prior-dependent TS": ThompsonSampling(sigma=SIGMA),
        "Prior-free TS": PriorFreeThompsonSampling(sigma=SIGMA),
    }


def simulate_figure2(panel: str, *, n_instances: int, horizon: int, n_jobs: int) -> None:
    """Run the six policies."""
    problem = figure2_problem(panel)
    simulate(
        problem,
        figure2_policies(problem.n_features),
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
