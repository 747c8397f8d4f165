"""What the private parts of numba buy: cold compile and run time with and without each.

    python benchmarks/ablation.py [--only PART]

Each row is a process of its own with an empty cache. Cold compile is the processor time of one
until five policies are ready to play Figure 2(a). Run time is that of a round, summed over the
five. Ratios are to all parts, measured first and last.
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
REPETITIONS = 15
PARTS = ("vectors", "counts", "compiler", "routines", "1")
WORDS = {"0": "all parts", "1": "without any (`GREEDYFIRST_PLAIN_NUMBA=1`)"}


def measure() -> dict[str, Any]:
    """In a process of its own: seconds to compile, and nanoseconds a round by d."""
    from figure2 import clipped_gaussian_problem
    from greedyfirst import OFUL, Greedy, GreedyFirst, OLSBandit, ThompsonSampling
    from greedyfirst.simulation.bench import Instances
    from greedyfirst.simulation.simulate import plotted_steps

    policies = (Greedy(), GreedyFirst(), OLSBandit(), OFUL(sigma=0.5), ThompsonSampling(sigma=0.5))
    rounds: dict[str, float] = {}
    seconds = 0.0
    for n_features in FEATURES:
        horizon = ROUNDS[n_features]
        play = Instances(
            problem=clipped_gaussian_problem(n_features),
            policies=policies,
            seed=10,
            horizon=horizon,
            grid=plotted_steps(horizon).astype(np.int64),
            keeps_arms=False,
        ).prepare()
        seconds = seconds or time.process_time()
        best = min(play(0)["seconds"].sum() for _ in range(REPETITIONS))
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


def row(without: str, found: dict[str, Any], all_parts: list[dict[str, Any]]) -> str:
    """A row of the table, as ratios to all parts."""
    compiled = found["compile"] / min(each["compile"] for each in all_parts)
    cells = [f"{found['compile']:.0f} s, {compiled:.2f}"]
    for n_features in FEATURES:
        key = str(n_features)
        best = min(each["rounds"][key] for each in all_parts)
        cells.append(f"{found['rounds'][key]:.0f} ns, {found['rounds'][key] / best:.2f}")
    return f"| {WORDS.get(without, f'without `{without}`')} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure()))
        return
    chosen_parts = chosen.only or PARTS
    first = in_a_process("0")
    measured = {part: in_a_process(part) for part in chosen_parts}
    all_parts = [first, in_a_process("0")]
    headings = ["", "cold compile", *(f"a round, d={n_features}" for n_features in FEATURES)]
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    rows = [("0", all_parts[0]), ("0", all_parts[1]), *measured.items()]
    for part, found in rows:
        print(row(part, found, all_parts))


if __name__ == "__main__":
    main()
