"""Which ``warmup`` on which table: wrong decisions of Greedy and Greedy-First with each of them.

    python benchmarks/warmups.py [--quick] [--only NAME] [--data DIRECTORY]

Prints the table of docs/replay.md: the share of wrong decisions over all rows, in paired random
orders, with d first pulls of each arm. The paper's tables and scikit-learn's have rows of length 1;
generated ones vary the code of categories, and the rows per arm beside the number of columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from greedyfirst import Greedy, GreedyFirst, OLSBandit, Oracle, Policy
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.replay import Replay, replay_table
from greedyfirst.tables import infer_schema
from greedyfirst.tables.datasets import load_data_set

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
SEED = 10
FEW_PULLS = 2
# Rows of an arm over d, between which wrong decisions are counted.
STAGES = (0.5, 0.8, 1.2, 2.0, 4.0)


class Case(NamedTuple):
    """A table, and how it is encoded."""

    name: str
    load: Callable[[Path], tuple[pd.DataFrame, str]]
    normalise: bool = False
    intercept: bool = False


def named(directory: Path, *, name: str) -> tuple[pd.DataFrame, str]:
    """A known table, without its constant columns."""
    frame, label = load_data_set(name, directory=directory)
    return frame.loc[:, frame.nunique() > 1], label


def categories(_: Path, *, n_rows: int) -> tuple[pd.DataFrame, str]:
    """Four categories of six levels and two numbers decide between three classes."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["age", "weight"])
    scores = frame.to_numpy() @ rng.normal(size=(2, 3))
    for place in range(4):
        levels = rng.choice(6, size=n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01])
        frame[f"c{place}"] = np.array(list("abcdef"))[levels]
        scores += rng.normal(size=(6, 3))[levels]
    scores += 0.5 * rng.normal(size=scores.shape)
    return frame.assign(y=np.array(["p", "q", "r"])[scores.argmax(axis=1)]), "y"


def numbers(_: Path, *, n_rows: int, n_columns: int) -> tuple[pd.DataFrame, str]:
    """Normal columns and two classes by a noisy linear rule."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n_rows, n_columns))
    noise = rng.normal(size=n_rows) * np.sqrt(n_columns) / 2.0
    y = rows @ rng.normal(size=n_columns) + noise > 0.0
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(n_columns)])
    return frame.assign(y=np.where(y, "p", "q")), "y"


CASES = [
    *(
        Case(name, partial(named, name=name), normalise=True)
        for name in ("eeg", "eye_movements", "cardiotocography", "warfarin")
    ),
    *(
        Case(name, partial(named, name=name), normalise=True)
        for name in ("breast_cancer", "wine", "digits")
    ),
    Case("one-hot, reference-coded", partial(categories, n_rows=2000), intercept=True),
    Case("one-hot, full-coded", partial(categories, n_rows=2000)),
    *(
        Case(f"d = 60, {n} rows an arm", partial(numbers, n_rows=2 * n, n_columns=60))
        for n in (90, 120, 240, 1000)
    ),
]


def policies(d: int) -> dict[str, Policy]:
    """Each warm-up for Greedy and for Greedy-First with both spans."""
    found: dict[str, Policy] = {}
    for warmup in WARMUPS:
        options = {"warmup": warmup, "initial_pulls": d}
        handed = {"fallback": OLSBandit(**options), "carry_over": "initial"}
        found[f"Greedy {warmup}"] = Greedy(**options)
        for span in ("full", "pooled"):
            found[f"{span} {warmup}"] = GreedyFirst(**options, span=span, **handed)
        found[f"few {warmup}"] = Greedy(warmup=warmup, initial_pulls=FEW_PULLS)
    return found | {"Oracle": Oracle()}


def cells(replayed: Replay, kind: str) -> str:
    """The three warm-ups of one policy; the switches where it can switch."""
    shown = []
    for warmup in WARMUPS:
        name = f"{kind} {warmup}"
        place = replayed.result.policies.index(name)
        switches = replayed.result.switches.get(name)
        ends = "" if switches is None else f" ({switches})"
        shown.append(f"{replayed.final[place]:.3f}{ends}")
    return " / ".join(shown)


def print_stages(orders: int) -> None:
    """Wrong decisions of Greedy as the rows of two arms pass d: a peak is double descent."""
    d = 60
    frame, label = numbers(DATA, n_rows=2000, n_columns=d)
    chosen = {w: Greedy(warmup=w, initial_pulls=FEW_PULLS) for w in WARMUPS}
    done = replay_table(
        frame, label=label, policies=chosen, intercept=False, permutations=orders, seed=SEED
    ).result
    print("\n| rows of an arm over d | " + " | ".join(WARMUPS) + " |\n" + "|---" * 4 + "|")
    for low, high in pairwise(STAGES):
        first, last = (np.abs(done.steps - 2 * d * edge).argmin() for edge in (low, high))
        rounds = done.steps[last] - done.steps[first]
        rates = (done.mean[:, last] - done.mean[:, first]) / rounds
        print(f"| {low:g} to {high:g} | " + " | ".join(f"{rate:.3f}" for rate in rates) + " |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="warm-ups on tables of many shapes")
    parser.add_argument("--quick", action="store_true", help="3 orders instead of 20")
    parser.add_argument("--only", default="", metavar="NAME", help="tables with this in their name")
    parser.add_argument("--data", type=Path, default=DATA, help="where the paper's files are")
    options = parser.parse_args()
    orders = 3 if options.quick else 20
    print(
        f"| table | rows, arms, d | Greedy: {' / '.join(WARMUPS)} | {FEW_PULLS} first pulls | "
        f"Greedy-First, full (switches of {orders}) | pooled | Oracle | ± |\n" + "|---" * 8 + "|"
    )
    for case in CASES:
        if options.only not in case.name:
            continue
        frame, label = case.load(options.data)
        d = infer_schema(frame, label=label, intercept=case.intercept).n_features
        replayed = replay_table(
            frame,
            label=label,
            normalise=case.normalise,
            intercept=case.intercept,
            policies=policies(d),
            permutations=orders,
            seed=SEED,
            n_jobs=2,
        )
        size = f"{replayed.result.horizon}, {len(replayed.arms)}, {d}"
        spans = " | ".join(cells(replayed, kind) for kind in ("Greedy", "few", "full", "pooled"))
        half = replayed.half_width.max()
        oracle = replayed.final[-1]
        print(f"| {case.name} | {size} | {spans} | {oracle:.3f} | {half:.3f} |", flush=True)
    if not options.only:
        print_stages(10 * orders)


if __name__ == "__main__":
    main()
