"""Every policy on many problems, over the best policy that one could have picked in hindsight.

    python benchmarks/hindsight.py [--instances 200] [--orders 20] [--data-dir DIR] [--only TEXT]
                                   [--out FOLDER] [--jobs 2 | --cluster ADDRESS | --workers N]
                                   [--resume FOLDER]

Prints, for each problem, the best policy and each one's ratio to it, and for each policy the
geometric mean and the worst of its ratios. Writes hindsight.csv and hindsight.png to FOLDER. The
paper's four tables are played if DIR has them. All policies of a problem meet the same draws.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from sklearn import datasets

from greedyfirst import (
    OFUL,
    EpsilonGreedy,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    Policy,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    simulate,
)
from greedyfirst.cli.spread_options import spread_over
from greedyfirst.engines.engine import Spread
from greedyfirst.experiments import figure2
from greedyfirst.problems import GaussianNoise, LinearProblem, TableProblem

SEED, HORIZON = 7, 10_000
DEFAULT = "Greedy-First"
#: Those that came with the larger field: ratios are given without them too.
LATER = ("LinUCB", "Ridge")


def policies(*, binary: bool) -> dict[str, Policy]:
    """Every policy of the library, with its defaults and some other options."""
    chosen: dict[str, Policy] = {
        DEFAULT: GreedyFirst(),
        "Greedy-First, paper": GreedyFirst(fallback=OLSBandit()),
        "Greedy": Greedy(),
        "Greedy, as printed": Greedy(warmup="none"),
        "Greedy, ridge warm-up": Greedy(warmup="ridge"),
        "Greedy, minimum norm": Greedy(warmup="pinv"),
        "Ridge, λ = 1": Greedy(regularization=1.0),
        "LinUCB, α = 0.1": LinUCB(alpha=0.1),
        "LinUCB, α = 0.3": LinUCB(alpha=0.3),
        "LinUCB, α = 1": LinUCB(alpha=1.0),
        "OLS Bandit": OLSBandit(warmup="none"),
        "OLS Bandit, h = 1": OLSBandit(h=1.0, warmup="pinv"),
        "OFUL": OFUL(),
        "Thompson sampling": ThompsonSampling(),
        "Prior-free TS": PriorFreeThompsonSampling(),
        "Epsilon-greedy": EpsilonGreedy(),
        "LinUCB, auto": LinUCB(regularization="auto"),
        "OLS Bandit, auto": OLSBandit(h="auto"),
        "OFUL, auto": OFUL(regularization="auto"),
        "Thompson sampling, auto": ThompsonSampling(prior_covariance="auto"),
    }
    if binary:
        chosen["GLM Greedy"] = GLMGreedy(memory=512)
    return chosen


@dataclass(frozen=True)
class Changed:
    """A problem in other units: rewards × ``scale`` + ``shift``, features × ``units``."""

    problem: Any
    scale: float = 1.0
    shift: float = 0.0
    units: float = 1.0

    @property
    def n_arms(self) -> int:
        return int(self.problem.n_arms)

    @property
    def n_features(self) -> int:
        return int(self.problem.n_features)

    def draw(self, rng: np.random.Generator, horizon: int) -> tuple[np.ndarray, ...]:
        contexts, rewards, regrets = self.problem.draw(rng, horizon)
        return self.units * contexts, self.scale * rewards + self.shift, regrets


CHANGES = {
    "": {},
    ", rewards × 1000": {"scale": 1000.0},
    ", rewards + 100": {"shift": 100.0},
    ", features × 100": {"units": 100.0},
}


def linear(n_arms: int, d: int, *, intercept: bool = False, mixture: bool = False) -> LinearProblem:
    return LinearProblem(
        contexts=figure2.contexts(d, intercept=intercept),
        arms=figure2.arm_parameters(n_arms, d, intercept=intercept, mixture=mixture),
        noise=GaussianNoise(sigma=figure2.SIGMA),
    )


def synthetic() -> Iterator[tuple[str, Any]]:
    """Linear rewards, each in four units."""
    problems = {
        "Figure 2(a)": linear(2, 3),
        "Figure 2(b)": linear(2, 3, mixture=True),
        "Figure 2(c)": linear(2, 3, intercept=True),
        "Figure 2(d)": linear(2, 3, intercept=True, mixture=True),
        **{f"K=5, d={d}": linear(5, d) for d in (3, 7, 15)},
        "K=10, d=5": linear(10, 5),
    }
    for name, problem in problems.items():
        for words, change in CHANGES.items():
            # A constant is a change of units only where contexts can express it.
            if "shift" in change and "(c)" not in name and "(d)" not in name:
                continue
            yield name + words, Changed(problem, **change)


def table(rows: np.ndarray, classes: np.ndarray, form: str) -> TableProblem:
    """A classified table: rows of length 1, standardised with an intercept, or as they are."""
    rows = np.asarray(rows, dtype=float)
    if form == "length 1":
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    elif form == "standardised":
        varied = rows[:, rows.std(axis=0) > 0]
        scaled = (varied - varied.mean(axis=0)) / varied.std(axis=0)
        rows = np.column_stack([np.ones(len(rows)), scaled])
    codes = pd.factorize(classes)[0]
    return TableProblem(contexts=rows, rewards=np.eye(codes.max() + 1)[codes], shuffle=True)


def yes_no(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """435 rows of 17 yes/no questions, both answers as columns, two classes."""
    classes = rng.integers(2, size=435)
    lean = rng.uniform(0.05, 0.45, 17) * rng.choice([-1, 1], 17)
    yes = rng.random((435, 17)) < 0.5 + np.where(classes[:, None] == 1, 1, -1) * lean
    return np.column_stack([yes, ~yes]), classes


def kinds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """101 rows of 16 yes/no marks with 5 % errors, both answers as columns, seven classes."""
    classes = rng.choice(7, 101, p=[0.4, 0.2, 0.05, 0.13, 0.04, 0.08, 0.1])
    typical = rng.random((7, 16)) < 0.5
    yes = typical[classes] ^ (rng.random((101, 16)) < 0.05)
    return np.column_stack([yes, ~yes]), classes


def categories(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """1500 rows of four categories as dummies, five classes."""
    rows = np.concatenate([np.eye(n)[rng.integers(n, size=1500)] for n in (4, 6, 3, 8)], axis=1)
    scores = rows @ rng.normal(size=(rows.shape[1], 5))
    return rows, (scores + 0.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)


def wide(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """80 rows of 200 columns, of which five matter, two classes."""
    rows = rng.normal(size=(80, 200))
    return rows, rows[:, :5].sum(axis=1) + 0.5 * rng.normal(size=80) > 0


def tables(data_dir: Path | None) -> Iterator[tuple[str, TableProblem]]:
    """Classified tables."""
    sources = {}
    for name in ("eeg", "eye_movements", "cardiotocography", "warfarin"):
        file = None if data_dir is None else data_dir / f"{name}.csv"
        if file is not None and file.exists():
            frame = pd.read_csv(file, header=None if name == "warfarin" else "infer")
            sources[name] = frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found = getattr(datasets, f"load_{name}")()
        sources[name] = found.data, found.target
    for name, (rows, classes) in sources.items():
        for form in ("length 1", "standardised"):
            yield f"{name}, {form}", table(rows, classes, form)
    for seed, (name, make) in enumerate(
        {"yes/no": yes_no, "kinds": kinds, "categories": categories}.items(), start=1
    ):
        yield f"{name}, dummies", table(*make(np.random.default_rng(seed)), "as it is")
    yield "80 rows × 200", table(*wide(np.random.default_rng(4)), "standardised")


def ratios(costs: pd.DataFrame, without: tuple[str, ...] = ()) -> pd.DataFrame:
    """Each policy's cost over the best of the others' (policies × problems)."""
    names = [name for name in costs.index if not name.startswith(without or ("\0",))]
    result = costs.copy()
    for name in costs.index:
        others = costs.loc[[other for other in names if other not in (name, DEFAULT)]]
        result.loc[name] = costs.loc[name] / others.min()
    return result


def picture(over: pd.DataFrame, path: Path) -> None:
    """A row per problem, a column per policy, dark where the ratio is high."""
    shown = over.T
    fig, axes = plt.subplots(figsize=(11, 0.27 * len(shown) + 2.6), layout="constrained")
    drawn = axes.imshow(
        shown.clip(1.0, 10.0), norm=LogNorm(1.0, 10.0), cmap="YlOrRd", aspect="auto"
    )
    axes.set_xticks(range(len(shown.columns)), shown.columns, rotation=40, ha="right")
    axes.set_yticks(range(len(shown)), shown.index)
    for i, j in np.ndindex(*shown.shape):
        value = shown.iat[i, j]
        if np.isfinite(value):
            words = f"{value:.2f}" if value < 10 else f"{value:.0f}"
            colour = "white" if value > 4 else "black"
            axes.text(j, i, words, ha="center", va="center", fontsize=7, color=colour)
    axes.set_title("Cost over the best other policy's in hindsight (1: as good as that)")
    bar = fig.colorbar(drawn, ax=axes, shrink=0.4, ticks=[1, 2, 5, 10])
    bar.ax.set_yticklabels(["1", "2", "5", "10 or more"])
    fig.savefig(path, dpi=110)
    plt.close(fig)


def mean_and_worst(row: pd.Series) -> tuple[float, float, str]:
    """Geometric mean, worst, and where that is; problems that were not played are left out."""
    played = row.dropna()
    return float(np.exp(np.log(played).mean())), float(played.max()), str(played.idxmax())


def costs(arguments: argparse.Namespace, spread: Spread) -> pd.DataFrame:
    """The mean cost of each policy on each problem (policies × problems)."""
    found: dict[str, dict[str, float]] = {}
    for name, problem in [*synthetic(), *tables(arguments.data_dir)]:
        if arguments.only not in name:
            continue
        is_table = isinstance(problem, TableProblem)
        chosen = policies(binary=is_table)
        if is_table and problem.n_features * problem.n_arms > 250:
            del chosen["GLM Greedy"]  # minutes
        result = simulate(
            problem,
            chosen,
            n_instances=arguments.orders if is_table else arguments.instances,
            horizon=problem.n_rows if is_table else HORIZON,
            seed=SEED,
            progress=False,
            **spread,
        )
        found[name] = dict(zip(result.policies, result.final.mean(axis=0), strict=True))
        best = min(found[name], key=lambda each: found[name][each])
        print(f"{name}: best {best} ({found[name][best]:.4g}), ", end="")
        print(f"{DEFAULT} {found[name][DEFAULT]:.4g}", flush=True)
    return pd.DataFrame(found)


def report(frame: pd.DataFrame, folder: Path) -> None:
    """Ratios as a table, a file and a picture."""
    over, early = ratios(frame), ratios(frame, LATER)
    folder.mkdir(parents=True, exist_ok=True)
    over.T.to_csv(folder / "hindsight.csv", quoting=csv.QUOTE_MINIMAL, float_format="%.4g")
    picture(over, folder / "hindsight.png")
    print("\n| policy | geometric mean | worst | on | without LinUCB and ridge |")
    print("|---|---|---|---|---|")
    for name in over.index[np.argsort([mean_and_worst(over.loc[each])[0] for each in over.index])]:
        mean, worst, where = mean_and_worst(over.loc[name])
        other_mean, other_worst, _ = mean_and_worst(early.loc[name])
        print(
            f"| {name} | {mean:.2f} | {worst:.1f} | {where} | {other_mean:.2f}, {other_worst:.1f} |"
        )


def main() -> None:
    """Play everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instances", type=int, default=200, help="of each synthetic problem")
    parser.add_argument("--orders", type=int, default=20, help="of each table's rows")
    parser.add_argument("--data-dir", type=Path, help="a folder with the paper's tables")
    parser.add_argument("--only", default="", help="problems whose names contain this")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--jobs", type=int, default=-1, help="threads; -1 is one per processor")
    parser.add_argument("--cluster", help="the address of a Dask scheduler")
    parser.add_argument("--workers", type=int, help="Dask workers to start on this machine")
    parser.add_argument("--resume", type=Path, help="a folder that keeps finished blocks")
    arguments = parser.parse_args()
    with spread_over(
        jobs=arguments.jobs,
        cluster=arguments.cluster,
        workers=arguments.workers,
        resume=arguments.resume,
    ) as spread:
        frame = costs(arguments, spread)
    report(frame, arguments.out)


if __name__ == "__main__":
    main()
