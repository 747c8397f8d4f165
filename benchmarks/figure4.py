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

import numpy as np

import greedyfirst
import numpy_ols_bandit
import numpy_play
import numpy_policies
from figure2 import peak_memory
from greedyfirst import Policy, simulate
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.experiments.figure4 import EXPERIMENTS
from greedyfirst.problems import Draw

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
SEED = 10
POLICIES = ("Greedy", "Greedy-First", "OLS Bandit", "OFUL", "Prior-dependent TS")
TARGETS = {"eeg": 10.0, "warfarin": 3.0}
LARGEST_PEAK = 1.0  # GB


def in_numpy(policy: Policy, run: Draw, uniforms: np.ndarray) -> numpy_play.NumpyPolicy:
    """The policy made anew in NumPy, for one run and its uniform draws."""
    n_arms, d = run.rewards.shape[1], run.contexts.shape[1]
    match policy:
        case greedyfirst.Greedy(warmup="ridge"):
            return numpy_policies.Greedy(n_arms, d, policy.initial_pulls)
        case greedyfirst.OLSBandit(q=1, warmup="pinv", refresh="scheduled"):
            return numpy_ols_bandit.OLSBandit(run, policy.initial_pulls, policy.h)
        case greedyfirst.GreedyFirst(
            t0=int(t0),
            lambda0=None,
            fallback=greedyfirst.OLSBandit() as fallback,
            span="full",
            carry_over="initial",
            on_alarm="explore",
            lambda0_minimum=least,
            test_after=None,
        ) if fallback.initial_pulls == policy.greedy_policy().initial_pulls:
            greedy = in_numpy(policy.greedy_policy(), run, uniforms)
            return numpy_policies.GreedyFirst(greedy, in_numpy(fallback, run, uniforms), t0, least)
        case greedyfirst.OFUL(regularization=1.0, sigma=None, sigma_start=1.0, delta=delta):
            return numpy_policies.OFUL(n_arms, d, delta)
        case greedyfirst.ThompsonSampling(
            prior_mean=0.0, prior_covariance=1.0, sigma=None, sigma_start=1.0
        ):
            return numpy_policies.ThompsonSampling(n_arms, d, numpy_play.normals(uniforms))
    raise ValueError(f"there is no loop in NumPy for {policy}")


def numpy_run(experiment: Experiment, policy: Policy, instance: int) -> float:
    """The regret of the run that `simulate` gives this number, played in NumPy."""
    problem, horizon = experiment.problem, experiment.horizon
    source = np.random.SeedSequence(SEED, spawn_key=(instance,))
    draw = problem.draw(np.random.default_rng(source), horizon)
    seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
    uniforms = numpy_play.uniforms(seed, horizon, 2 * problem.n_arms)
    return numpy_play.play(in_numpy(policy, draw, uniforms), draw, uniforms)


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor time of one call: what else runs on the machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(
    experiment: Experiment, policy: Policy, *, permutations: int, numpy_permutations: int
) -> tuple[float, float, float]:
    """Seconds a round of ours and of NumPy's, and the largest difference of regrets, a round."""
    rounds = experiment.horizon
    share = permutations // numpy_permutations

    def run(count: int) -> np.ndarray:
        done = simulate(
            experiment.problem,
            {"it": policy},
            n_instances=count,
            horizon=rounds,
            seed=SEED,
            progress=False,
        )
        return done.final[:, 0]

    found = run(numpy_permutations)  # also compiles
    ours = theirs = 0.0
    regrets: list[float] = []
    for instance in range(numpy_permutations):
        ours += cpu_seconds(lambda: run(share)) / (share * rounds)
        theirs += (
            cpu_seconds(lambda i=instance: regrets.append(numpy_run(experiment, policy, i)))
            / rounds
        )
    difference = np.abs(np.array(regrets) - found).max() / rounds
    return ours / numpy_permutations, theirs / numpy_permutations, difference


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="Figure 4 against plain NumPy")
    parser.add_argument("--quick", action="store_true", help="10 permutations instead of 100")
    parser.add_argument("--only", default="", metavar="NAME", help="one of the data sets")
    parser.add_argument("--data", type=Path, default=DATA, help="where the CSV files are")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    options = parser.parse_args()
    permutations, numpy_permutations = (10, 2) if options.quick else (100, 5)
    met = True
    print(f"{'data':18}{'d':>3}  {'policy':20}{'rounds/s over NumPy':>20}{'regrets differ by':>19}")
    for panel in EXPERIMENTS:
        if options.only not in panel.data_set:
            continue
        experiment = panel.prepared(options.data)
        data = f"{panel.data_set:18}{panel.n_features:>3}"
        ours = theirs = 0.0
        for name in POLICIES:
            own, other, difference = compare(
                experiment,
                experiment.policies[name],
                permutations=permutations,
                numpy_permutations=numpy_permutations,
            )
            ours, theirs = ours + own, theirs + other
            print(f"{data}  {name:20}{other / own:>20.1f}{difference:>18.2%}", flush=True)
        target = TARGETS.get(panel.data_set)
        good = target is None or theirs / ours >= target
        met = met and good
        verdict = "" if target is None else f"target {target:g}: {'ok' if good else 'MISSED'}"
        print(f"{data}  {'all':20}{theirs / ours:>20.1f}  {verdict}")
    peak = peak_memory() / 1e9
    met = met and peak < LARGEST_PEAK
    print(f"peak memory {peak:.2f} GB, target < {LARGEST_PEAK:g} GB")
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    if os.environ.get(BLAS_THREADS) != "1":  # is read when NumPy is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, BLAS_THREADS: "1"})
    sys.exit(main())
