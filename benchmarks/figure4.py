"""Figure 4, real data: rounds per second against loops in plain NumPy that decide alike.

    python benchmarks/figure4.py [--quick] [--only warfarin] [--data DIRECTORY]

Four data sets × five policies, one thread. Each policy is played by `simulate` on all permutations
and, in turns with it, by NumPy on some of them; regrets of these are compared. Printed: the ratio
of rounds per second of processor time, and the process's peak memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import greedyfirst
import numpy_play
import numpy_policies
from figure2 import peak_memory
from greedyfirst import Policy, simulate
from greedyfirst.problems import TableProblem
from greedyfirst.tables import normalise_rows, read_labels
from greedyfirst.tables.datasets import load_data_set

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
SEED = 10
TARGETS = {"eeg": 10.0, "warfarin": 3.0}
LARGEST_PEAK = 1.0  # GB
DELTA = 0.99


class DataSet(NamedTuple):
    """What differs between the panels."""

    name: str
    h: float = 1.0
    t0_per_feature: int = 4


DATA_SETS = [
    DataSet("eeg"),
    DataSet("eye_movements"),
    DataSet("cardiotocography", t0_per_feature=1),
    DataSet("warfarin", h=5.0),
]


class Contest(NamedTuple):
    """A policy, and how it is made anew in NumPy from a run's uniform draws."""

    policy: Policy
    numpy: Callable[[np.ndarray], numpy_play.NumpyPolicy]


def load(name: str, directory: Path) -> TableProblem:
    """Rows of length 1; 1 for the right class and 0 otherwise; a permutation a draw."""
    frame, label = load_data_set(name, directory=directory)
    codes, classes = read_labels(frame, label)
    rows = np.ascontiguousarray(frame.drop(columns=label).to_numpy(np.float64))
    rewards = np.eye(len(classes))[codes]
    return TableProblem(contexts=normalise_rows(rows), rewards=rewards, shuffle=True)


def contests(data: DataSet, n_arms: int, d: int) -> dict[str, Contest]:
    """Figure 4's policies with the settings of the paper's practice."""
    t0, least = data.t0_per_feature * n_arms * d, 1e-20
    ridge = {"warmup": "ridge", "initial_pulls": d}
    ols = greedyfirst.OLSBandit(h=data.h, q=1, **ridge)
    greedy_first = greedyfirst.GreedyFirst(
        **ridge, t0=t0, lambda0_minimum=least, fallback=ols, span="full", carry_over=False
    )

    def numpy_ols() -> numpy_policies.OLSBandit:
        return numpy_policies.OLSBandit(n_arms, d, d, data.h)

    return {
        "Greedy": Contest(
            greedyfirst.Greedy(**ridge), lambda _: numpy_policies.Greedy(n_arms, d, d)
        ),
        "Greedy-First": Contest(
            greedy_first,
            lambda _: numpy_policies.GreedyFirst(n_arms, d, d, t0, least, numpy_ols()),
        ),
        "OLS Bandit": Contest(ols, lambda _: numpy_ols()),
        "OFUL": Contest(
            greedyfirst.OFUL(delta=DELTA), lambda _: numpy_policies.OFUL(n_arms, d, DELTA)
        ),
        "Prior-dependent TS": Contest(
            greedyfirst.ThompsonSampling(),
            lambda draws: numpy_policies.ThompsonSampling(n_arms, d, numpy_play.normals(draws)),
        ),
    }


def numpy_run(problem: TableProblem, contest: Contest, instance: int) -> float:
    """The regret of the run that `simulate` gives this number, played in NumPy."""
    source = np.random.SeedSequence(SEED, spawn_key=(instance,))
    draw = problem.draw(np.random.default_rng(source), problem.n_rows)
    seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
    uniforms = numpy_play.uniforms(seed, problem.n_rows, 2 * problem.n_arms)
    return numpy_play.play(contest.numpy(uniforms), draw, uniforms)


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor time of one call: what else runs on the machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(
    problem: TableProblem, contest: Contest, *, permutations: int, in_numpy: int
) -> tuple[float, float, float]:
    """Seconds a round of ours and of NumPy's, and the largest difference of regrets, a round."""
    rounds = problem.n_rows
    share = permutations // in_numpy

    def run(count: int) -> np.ndarray:
        policies = {"it": contest.policy}
        done = simulate(
            problem, policies, n_instances=count, horizon=rounds, seed=SEED, progress=False
        )
        return done.final[:, 0]

    found = run(in_numpy)  # also compiles
    ours = theirs = 0.0
    differences = []
    for instance in range(in_numpy):
        ours += cpu_seconds(lambda: run(share)) / (share * rounds)
        theirs += (
            cpu_seconds(
                lambda i=instance: differences.append(
                    abs(numpy_run(problem, contest, i) - found[i])
                )
            )
            / rounds
        )
    return ours / in_numpy, theirs / in_numpy, max(differences) / rounds


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="Figure 4 against plain NumPy")
    parser.add_argument("--quick", action="store_true", help="10 permutations instead of 100")
    parser.add_argument("--only", default="", metavar="NAME", help="one of the data sets")
    parser.add_argument("--data", type=Path, default=DATA, help="where the CSV files are")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    options = parser.parse_args()
    permutations, in_numpy = (10, 2) if options.quick else (100, 5)
    met = True
    print(f"{'data':18}{'d':>3}  {'policy':20}{'rounds/s over NumPy':>20}{'regrets differ by':>19}")
    for data in DATA_SETS:
        if options.only not in data.name:
            continue
        problem = load(data.name, options.data)
        ours = theirs = 0.0
        for name, contest in contests(data, problem.n_arms, problem.n_features).items():
            own, other, difference = compare(
                problem, contest, permutations=permutations, in_numpy=in_numpy
            )
            ours, theirs = ours + own, theirs + other
            print(
                f"{data.name:18}{problem.n_features:>3}  {name:20}{other / own:>20.1f}"
                f"{difference:>18.2%}",
                flush=True,
            )
        target = TARGETS.get(data.name)
        good = target is None or theirs / ours >= target
        met = met and good
        verdict = "" if target is None else f"target {target:g}: {'ok' if good else 'MISSED'}"
        print(f"{data.name:18}{problem.n_features:>3}  {'all':20}{theirs / ours:>20.1f}  {verdict}")
    peak = peak_memory() / 1e9
    met = met and peak < LARGEST_PEAK
    print(f"peak memory {peak:.2f} GB, target < {LARGEST_PEAK:g} GB")
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    if os.environ.get(BLAS_THREADS) != "1":  # is read when NumPy is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, BLAS_THREADS: "1"})
    sys.exit(main())
