"""What the private parts of numba buy: cold compile and run time with and without each.

    python benchmarks/ablation.py [--only PART]

Each row is a process of its own with an empty cache. Cold compile is the processor time of one
until five policies are ready to play Figure 2(a). Run time is that of a round, summed over the
five; ratios are to the row with all parts, which is measured before and after each other one: the
machine's slow minutes meet both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES = (3, 20, 93)
ROUNDS = {3: 10_000, 20: 5_000, 93: 1_500}
REPETITIONS = 5
PARTS = ("vectors", "counts", "compiler", "routines", "1")
WORDS = {"1": "none of them (GREEDYFIRST_PLAIN_NUMBA=1)"}


def measure() -> dict[str, Any]:
    """In a process of its own: seconds to compile, and nanoseconds a round by d."""
    from figure2 import clipped_gaussian_problem
    from greedyfirst import OFUL, Greedy, GreedyFirst, OLSBandit, ThompsonSampling
    from greedyfirst.simulation.simulate import Bench, plotted_steps

    policies = [Greedy(), GreedyFirst(), OLSBandit(), OFUL(sigma=0.5), ThompsonSampling(sigma=0.5)]
    rounds: dict[str, float] = {}
    seconds = 0.0
    for n_features in FEATURES:
        horizon = ROUNDS[n_features]
        grid = plotted_steps(horizon).astype(np.int64)
        problem = clipped_gaussian_problem(n_features)
        bench = Bench(problem, policies, 10, grid, horizon)
        seconds = seconds or time.process_time()
        best = min(bench.run(0).seconds.sum() for _ in range(REPETITIONS))
        rounds[str(n_features)] = 1e9 * best / horizon
    return {"compile": seconds, "rounds": rounds}


def in_a_process(without: str) -> dict[str, Any]:
    """The measurements without some parts."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"GREEDYFIRST_PLAIN_NUMBA": without, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run(
            [sys.executable, str(Path(__file__)), "--measure"],
            env={**os.environ, **environment},
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def row(without: str) -> str:
    """A row of the table, as ratios to all parts."""
    first, found, second = in_a_process("0"), in_a_process(without), in_a_process("0")
    compiled = 2 * found["compile"] / (first["compile"] + second["compile"])
    cells = [f"{found['compile']:.0f} s, {compiled:.2f}"]
    for n_features in FEATURES:
        key = str(n_features)
        all_parts = min(first["rounds"][key], second["rounds"][key])
        cells.append(f"{found['rounds'][key] / all_parts:.2f}")
    name = WORDS.get(without, f"`{without}`")
    return f"| without {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure()))
        return
    headings = ["", "cold compile", *(f"round, d={n_features}" for n_features in FEATURES)]
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for part in chosen.only or PARTS:
        print(row(part), flush=True)


if __name__ == "__main__":
    main()
