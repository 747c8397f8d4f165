"""Every policy on many problems, over the best policy of the field for each problem.

    python benchmarks/hindsight.py [--instances 400] [--orders 40] [--data-dir DIR] [--only TEXT]
                                   [--out FOLDER] [--jobs 2 | --cluster ADDRESS | --workers N]
                                   [--resume FOLDER]
    python benchmarks/hindsight.py --hold-out SEED [--problems 60]

All policies of a problem meet the same draws and are compared with the same best policy: picked on
one half of the instances, and the ratio of mean regrets taken on the other half. Prints the
geometric means over hard and ordinary problems with their standard errors, and each policy's worst
problem. Writes hindsight.csv and hindsight.png to FOLDER. The paper's four tables are played if DIR
has them. With ``--hold-out`` the problems are drawn at random, and the files are hold-out-SEED.csv
and .png; standard errors are then those of other random problems.

Workers of a cluster need this folder in their PYTHONPATH.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changing_arms import CHANGING, ChangingArms, play_agents
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
from greedyfirst.problems import TableProblem
from greedyfirst.validation import whole_number
from problems_of_the_field import Entry, is_binary, problems
from random_problems import random_problems
from ratios_of_the_field import cross_fitted
from report_of_the_field import markdown, picture

SEED = 7
#: One instance of agents, decision by decision, takes as long as several of a compiled loop.
INSTANCES_PER_AGENT = 4
#: GLM Greedy takes minutes where there are more parameters.
GLM_PARAMETERS = 250
#: A half of the instances must have at least two.
FEWEST = 4


def policies(*, binary: bool = False) -> dict[str, Policy]:
    """The field, by what one writes in Python; two that are the same by their defaults are one."""
    field: list[Policy] = [
        GreedyFirst(),
        GreedyFirst(fallback=OLSBandit()),
        Greedy(),
        Greedy(warmup="none"),
        Greedy(warmup="ridge"),
        Greedy(warmup="pinv"),
        Greedy(regularization=1.0),
        LinUCB(alpha=0.1),
        LinUCB(alpha=0.3),
        LinUCB(alpha=1.0),
        LinUCB(regularization="auto"),
        LinUCB(alpha=1.0, regularization="auto"),
        LinUCB(alpha=2.0, regularization="auto"),
        OLSBandit(warmup="none"),
        OLSBandit(h=1.0, warmup="pinv"),
        OLSBandit(h="auto"),
        OFUL(),
        OFUL(regularization="auto"),
        ThompsonSampling(),
        ThompsonSampling(prior_covariance="auto"),
        PriorFreeThompsonSampling(),
        EpsilonGreedy(),
    ]
    if binary:
        field.append(GLMGreedy(memory=512))
    return {repr(policy).replace("'", '"'): policy for policy in field}


def field_of(problem: Any) -> dict[str, Policy]:
    """The policies that play a problem."""
    few = problem.n_arms * problem.n_features <= GLM_PARAMETERS
    return policies(binary=few and is_binary(problem))


def entries(arguments: argparse.Namespace) -> dict[str, Entry]:
    """The problems that are asked for."""
    if arguments.hold_out is not None:
        found = random_problems(arguments.hold_out, arguments.problems)
    else:
        found = {**CHANGING, **problems(arguments.data_dir)}
    found = {name: entry for name, entry in found.items() if arguments.only in name}
    if not found:
        raise SystemExit(f"--only {arguments.only!r}: no problem has this in its name")
    return found


def regrets(
    entry: Entry, field: dict[str, Policy], arguments: argparse.Namespace, spread: Spread
) -> np.ndarray:
    """The regret of each policy in each instance (n_instances, n_policies)."""
    if isinstance(entry.problem, ChangingArms):
        n_instances = max(FEWEST, arguments.instances // INSTANCES_PER_AGENT)
        return play_agents(entry.problem, field, n_instances=n_instances, seed=SEED, spread=spread)
    is_table = isinstance(entry.problem, TableProblem)
    result = simulate(
        entry.problem,
        field,
        n_instances=arguments.orders if is_table else arguments.instances,
        horizon=entry.horizon,
        seed=SEED,
        progress=False,
        **spread,
    )
    return result.final


def rows(name: str, entry: Entry, field: list[str], final: np.ndarray) -> pd.DataFrame:
    """What is known of each policy on a problem."""
    found = cross_fitted(final)
    return pd.DataFrame(
        {
            "problem": name,
            "kind": entry.kind,
            "horizon": entry.horizon,
            "n_arms": entry.problem.n_arms,
            "n_features": entry.problem.n_features,
            "instances": len(final),
            "policy": field,
            "regret": final.mean(axis=0),
            "regret_se": final.std(axis=0, ddof=1) / np.sqrt(len(final)),
            "ratio": found.ratio,
            "ratio_se": found.standard_error,
            "picked": " and ".join(dict.fromkeys(field[b] for b in found.best)),
        }
    )


def played(arguments: argparse.Namespace, spread: Spread) -> Iterator[pd.DataFrame]:
    """Each problem's rows, and a line about it."""
    chosen = entries(arguments)
    for number, (name, entry) in enumerate(chosen.items(), start=1):
        field = field_of(entry.problem)
        found = rows(name, entry, list(field), regrets(entry, field, arguments, spread))
        own = found.iloc[0]
        print(f"{number}/{len(chosen)} {name}: best {own.picked}; ", end="")
        print(f"{own.policy} {own.ratio:.3f} ± {own.ratio_se:.3f}", flush=True)
        yield found


def main() -> None:
    """Play everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instances", type=int, default=400, help="of each synthetic problem")
    parser.add_argument("--orders", type=int, default=40, help="of each table's rows")
    parser.add_argument("--data-dir", type=Path, help="a folder with the paper's tables")
    parser.add_argument("--only", default="", help="problems whose names contain this")
    parser.add_argument("--hold-out", type=int, metavar="SEED", help="random problems instead")
    parser.add_argument("--problems", type=int, default=60, help="how many, with --hold-out")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--jobs", type=int, default=-1, help="threads; -1 is one per processor")
    parser.add_argument("--cluster", help="the address of a Dask scheduler")
    parser.add_argument("--workers", type=int, help="Dask workers to start on this machine")
    parser.add_argument("--resume", type=Path, help="a folder that keeps finished blocks")
    arguments = parser.parse_args()
    whole_number("--instances", arguments.instances, at_least=FEWEST)
    whole_number("--orders", arguments.orders, at_least=FEWEST)
    with spread_over(
        jobs=arguments.jobs,
        cluster=arguments.cluster,
        workers=arguments.workers,
        resume=arguments.resume,
    ) as spread:
        found = pd.concat(played(arguments, spread), ignore_index=True)
    is_random = arguments.hold_out is not None
    stem = f"hold-out-{arguments.hold_out}" if is_random else "hindsight"
    arguments.out.mkdir(parents=True, exist_ok=True)
    found.to_csv(arguments.out / f"{stem}.csv", index=False, float_format="%.6g")
    picture(found, arguments.out / f"{stem}.png")
    print("\n" + markdown(found, sampled=is_random))


if __name__ == "__main__":
    main()
