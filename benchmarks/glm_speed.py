"""Figure 3's rounds per second against a loop that calls statsmodels after every reward.

python benchmarks/glm_speed.py [--quick]

Per panel and policy: 200 instances of 2000 rounds in `simulate` on one thread, drawing included;
and one instance in the loop (its first 600 rounds with --quick, when fits are cheaper), before and
after ours, the faster of the two. The loop is played twice over: with `GLM(...).fit()`, the plain
call, and with `Logit(...).fit(start_params=...)`, the fastest way found to ask statsmodels.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

from greedyfirst import GLMUCB, Policy, simulate
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.experiments.figure3 import EXPERIMENTS, N_ARMS
from greedyfirst.problems import Draw, GeneralizedLinearProblem

FloatArray = NDArray[np.float64]
Fit = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
SEED, TARGET = 10, 100.0


def plain_fit(rows: FloatArray, rewards: FloatArray, last: FloatArray) -> FloatArray:
    """Statsmodels' generalised linear model."""
    estimate: FloatArray = sm.GLM(rewards, rows, family=sm.families.Binomial()).fit().params
    return estimate


def warm_fit(rows: FloatArray, rewards: FloatArray, last: FloatArray) -> FloatArray:
    """Statsmodels' logistic regression from the last estimate."""
    estimate: FloatArray = sm.Logit(rewards, rows).fit(start_params=last, disp=0).params
    return estimate


def radius_factor(problem: GeneralizedLinearProblem, draw: Draw, horizon: int) -> float:
    """What ρ_t of GLM-UCB has beside √log t, for b_max = 2 and λ₀ = 1: the work is the same."""
    size = N_ARMS * problem.n_features
    return 100.0 * math.sqrt(2 * size * math.log(2 * size * horizon / 0.01))


def statsmodels_loop(experiment: Experiment, fit: Fit, optimistic: bool, rounds: int) -> float:
    """Rounds per second of Algorithm 2, or of GLM-UCB, on one instance."""
    problem = experiment.problem
    draw = problem.draw(np.random.default_rng(SEED), rounds)
    d = problem.n_features
    estimates, inverses = np.zeros((N_ARMS, d)), np.tile(np.eye(d), (N_ARMS, 1, 1))
    rows: list[list[FloatArray]] = [[] for _ in range(N_ARMS)]
    rewards: list[list[float]] = [[] for _ in range(N_ARMS)]
    factor = radius_factor(problem, draw, rounds) if optimistic else 0.0
    start = time.perf_counter()
    for t, (x, paid) in enumerate(zip(draw.contexts, draw.rewards, strict=True)):
        if t < N_ARMS * d:
            arm = t % N_ARMS
        elif optimistic:
            spreads = np.einsum("i,kij,j->k", x, inverses, x)
            bounds = 1.0 / (1.0 + np.exp(-(estimates @ x))) + factor * np.sqrt(
                math.log(t + 1) * spreads
            )
            arm = int(np.argmax(bounds))
        else:
            arm = int(np.argmax(estimates @ x))
        rows[arm].append(x)
        rewards[arm].append(float(paid[arm]))
        if optimistic:
            gain = inverses[arm] @ x
            inverses[arm] -= np.outer(gain, gain) / (1.0 + x @ gain)
        try:
            found = fit(np.array(rows[arm]), np.array(rewards[arm]), estimates[arm])
            estimates[arm] = np.clip(np.nan_to_num(found), -100.0, 100.0)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError):
            pass  # rows that do not determine an estimate: the last one stays
    return rounds / (time.perf_counter() - start)


def our_speed(experiment: Experiment, label: str, policy: Policy, n_instances: int) -> float:
    """Rounds per second of ``simulate`` on one thread, compiled beforehand."""

    def run(instances: int) -> None:
        simulate(
            experiment.problem,
            {label: policy},
            n_instances=instances,
            horizon=experiment.horizon,
            seed=SEED,
            progress=False,
        )

    run(1)
    start = time.perf_counter()
    run(n_instances)
    return n_instances * experiment.horizon / (time.perf_counter() - start)


def main() -> int:
    """Print the table; 1 if a ratio to the plain call misses its target."""
    parser = argparse.ArgumentParser(description="Figure 3 against statsmodels")
    parser.add_argument("--quick", action="store_true", help="20 instances, 600 rounds of the loop")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    print(f"{'panel':6} {'policy':11} {'rounds/s':>9} {'GLM.fit':>8} {'ratio':>6} ", end="")
    print(f"{'warm Logit':>11} {'ratio':>6}   target {TARGET:g} for the first ratio")
    met = True
    for experiment in EXPERIMENTS:
        rounds = 600 if quick else experiment.horizon
        for label, policy in experiment.policies.items():
            optimistic = isinstance(policy, GLMUCB)
            before = [statsmodels_loop(experiment, fit, optimistic, rounds) for fit in FITS]
            ours = our_speed(experiment, label, policy, 20 if quick else experiment.n_instances)
            after = [statsmodels_loop(experiment, fit, optimistic, rounds) for fit in FITS]
            plain, warm = (max(pair) for pair in zip(before, after, strict=True))
            ok = ours / plain >= TARGET
            met &= ok
            print(
                f"{experiment.name:6} {label:11} {ours:9.0f} {plain:8.0f} {ours / plain:6.0f} "
                f"{warm:11.0f} {ours / warm:6.0f}   {'ok' if ok else 'MISSED'}",
                flush=True,
            )
    return 0 if met else 1


FITS: tuple[Fit, ...] = (plain_fit, warm_fit)

if __name__ == "__main__":
    sys.exit(main())
