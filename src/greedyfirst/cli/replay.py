"""`greedyfirst replay`: a classified table as a bandit problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greedyfirst.cli.application import (
    Force,
    Out,
    Seed,
    app,
    output_name,
    typed_command,
)
from greedyfirst.cli.spread_options import Cluster, Jobs, Resume, Workers, spread_over
from greedyfirst.cli.table_options import (
    AS_FOUND,
    Categorical,
    Drop,
    Impute,
    InterceptOrNot,
    Normalise,
    Reading,
    Standardise,
    reads_table,
)
from greedyfirst.files.outputs import output_directory
from greedyfirst.validation import whole_number, wrong

if TYPE_CHECKING:
    import pandas as pd


@app.command(
    epilog="Examples: [bold]greedyfirst replay patients.csv --label dose[/bold], "
    "[bold]greedyfirst replay breast_cancer[/bold]"
)
@reads_table
def replay(
    *,
    table: Annotated[
        str,
        typer.Argument(help="A CSV or other file, or a known table: breast_cancer, wine, eeg, …"),
    ],
    label: Annotated[
        str | None, typer.Option(help="The column of classes; each class is an arm.")
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: InterceptOrNot = True,
    standardise: Standardise = False,
    normalise: Normalise = False,
    impute: Impute = None,
    costs: Annotated[
        Path | None, typer.Option(help="A CSV file of rewards: a row per class, a column per arm.")
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option("--policies", "--policy", help="Play these only; give it once for each."),
    ] = None,
    initial_pulls: Annotated[
        int, typer.Option(help="First pulls of each arm, by policies that make them.")
    ] = 1,
    permutations: Annotated[int, typer.Option(help="Random orders of the rows.")] = 20,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where files of named data sets are.")
    ] = None,
    seed: Seed = 10,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    workers: Workers = None,
    resume: Resume = None,
    out: Out = Path("figures"),
    force: Force = False,
    reading: Reading,
) -> None:
    """Would greedy have been enough on this table, and what would each policy have cost?"""
    # Slow to import, and no other command needs them.
    from greedyfirst.replay import read_costs, replay_table
    from greedyfirst.replay.verdict import verdict
    from greedyfirst.reports.replay_page import replay_files, write_replay
    from greedyfirst.tables import read_labels
    from greedyfirst.tables.findings import noted

    whole_number("--permutations", permutations, at_least=1)
    whole_number("--initial-pulls", initial_pulls, at_least=0)
    whole_number("--seed", seed, at_least=0)
    name = output_name(table)
    with (
        spread_over(jobs=jobs, cluster=cluster, workers=workers, resume=resume) as spread,
        output_directory(out, replay_files(name), force=force),
        noted() as notes,
    ):
        frame, column = read_named(table, label, data_dir, reading)
        rewards = None if costs is None else read_costs(costs, read_labels(frame, column)[1])
        replayed = replay_table(
            frame,
            label=column,
            source=Path(table).name,
            drop=tuple(drop or ()),
            categorical=tuple(categorical or ()),
            intercept=intercept,
            standardise=standardise,
            normalise=normalise,
            impute=impute,
            costs=rewards,
            policies=policies or None,
            initial_pulls=initial_pulls,
            permutations=permutations,
            seed=seed,
            **spread,
        )
    typer.echo(replayed.table())
    for sentence in verdict(replayed):
        typer.echo(sentence)
    for path in write_replay(replayed, out, name=name, command=typed_command(), notes=notes):
        typer.echo(path)


def read_named(
    table: str, label: str | None, directory: Path | None, reading: Reading
) -> tuple[pd.DataFrame, str]:
    """A table from a file or by name, and its column of classes."""
    from greedyfirst.tables import read_table
    from greedyfirst.tables.datasets import DATA_SETS, load_data_set

    if not Path(table).exists():
        if table not in DATA_SETS:
            known = ", ".join(DATA_SETS)
            raise ValueError(
                f"{table} does not exist; give a file's path or a known table: {known}"
            )
        if reading != AS_FOUND:
            raise wrong("TABLE", table, "a file where --na, --separator and their like are given")
        frame, own = load_data_set(table, directory=directory)
        return frame, label or own
    if label is None:
        raise wrong("--label", None, "the name of the column of classes")
    return read_table(table, **reading), label
