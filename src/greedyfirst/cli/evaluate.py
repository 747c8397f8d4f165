"""`greedyfirst evaluate`: what another policy would have earned on logged decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from greedyfirst.cli import service_export
from greedyfirst.cli.application import Force, Out, Seed, app, output_name
from greedyfirst.cli.policy_option import policy_of
from greedyfirst.cli.table_options import (
    Categorical,
    Drop,
    Impute,
    InterceptOrNot,
    Reading,
    reads_table,
)
from greedyfirst.files.outputs import output_directory

if TYPE_CHECKING:
    import pandas as pd

#: Columns of the service's exports, by what they are.
_EXPORT = {
    "arm": service_export.ARM,
    "reward": service_export.REWARD,
    "propensity": service_export.PROPENSITY,
}


@app.command(
    epilog="Examples: [bold]greedyfirst evaluate log.csv --arm item --reward click --propensity p"
    "[/bold], [bold]greedyfirst evaluate trial.parquet --policy Greedy --always low[/bold]"
)
@reads_table
def evaluate(
    *,
    log: Annotated[
        Path, typer.Argument(help="A CSV or other file, or an export of the decision service.")
    ],
    arm: Annotated[str | None, typer.Option(help="The column of the arm that was taken.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of its reward.")] = None,
    propensity: Annotated[
        str | None, typer.Option(help="The column of the arm's probability, if there is one.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy by its name, or as JSON with options: "
            '{"policy": "LinUCB", "options": {"alpha": 1}}. Repeat it for others.'
        ),
    ] = None,
    always: Annotated[
        list[str] | None, typer.Option(help="Always this arm; repeat it for others.")
    ] = None,
    like: Annotated[
        Path | None, typer.Option(help="The arms' shares in another log of the same form.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="With --like: shares for each value of this column.")
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: InterceptOrNot = True,
    standardise: Annotated[
        bool,
        typer.Option("--standardise/--as-is", help="Give numbers mean 0 and variance 1, or not."),
    ] = True,
    impute: Impute = None,
    folds: Annotated[int, typer.Option(help="Parts; each is judged by what the rest says.")] = 5,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Seed = 10,
    out: Out = Path("figures"),
    force: Force = False,
    reading: Reading,
) -> None:
    """What would another policy have earned where these decisions were made?"""
    # Slow to import, and no other command needs them.
    from greedyfirst import evaluation as offline
    from greedyfirst.reports.evaluation_report import (
        arms_table,
        evaluation_files,
        evaluation_table,
        write_evaluations,
    )
    from greedyfirst.tables import read_table
    from greedyfirst.tables.findings import noted

    if by and like is None:
        raise ValueError("--by needs --like: the log whose shares are taken")
    name = output_name(log)
    with (
        output_directory(out, evaluation_files(name), force=force),
        noted(),
        Console(stderr=True).status("") as status,  # on a terminal only
    ):
        frame, used = _columns(read_table(log, columns=_plain, **reading), arm, reward, propensity)
        data = offline.LoggedData.from_table(
            frame,
            **used,
            drop=tuple(drop or ()),
            categorical=tuple(categorical or ()),
            intercept=intercept,
            standardise=standardise,
            impute=impute,
        )
        targets: dict[str, Any] = {each: policy_of(each) for each in policy or ()}
        targets |= {f"always {each}": offline.always(data, each) for each in always or ()}
        if like is not None:
            other = read_table(like, columns=_plain, **reading)
            other = _columns(other, arm, reward, propensity)[0]
            shares = offline.shares_of(frame, other, data, arm=used["arm"], by=tuple(by or ()))
            targets[f"like {like.name}"] = shares
        targets = targets or {"GreedyFirst": policy_of("GreedyFirst")}
        made = {}
        for target, decides in targets.items():
            status.update(f"{escape(target)}, on {len(data):,} decisions among {data.n_arms} arms")
            made[target] = offline.evaluate(data, decides, folds=folds, level=level, seed=seed)
        paths = write_evaluations(made, out, name=name)
    typer.echo(evaluation_table(made, source=log.name))
    for target, found in made.items():
        typer.echo(f"{target}: {' '.join(found.sentences())}")
    if data.chances() is not None:
        typer.echo(arms_table(offline.arm_values(data, level=level), level=level))
    elif data.propensities is not None:
        typer.echo(
            "Each arm for everyone is not estimated: that needs the propensity of every arm, in "
            f"columns such as {used['propensity']}.{data.arm_names[0]}."
        )
    for path in paths:
        typer.echo(path)


def _columns(
    frame: pd.DataFrame, arm: str | None, reward: str | None, propensity: str | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The columns that are used, and what they are; those of an export need not be named."""
    given = {"arm": arm, "reward": reward, "propensity": propensity}
    if any(value is not None for value in given.values()) or not service_export.is_export(
        frame.columns
    ):
        for name in ("arm", "reward"):
            if given[name] is None:
                raise ValueError(f"--{name} must be given: the column of each decision's {name}")
        return frame, given
    rewarded = frame[frame[_EXPORT["reward"]].notna()]
    known = _EXPORT["propensity"] in frame and rewarded[_EXPORT["propensity"]].notna().all()
    used = {name: column for name, column in _EXPORT.items() if name != "propensity" or known}
    contexts = [name for name in frame.columns if str(name).startswith(service_export.CONTEXT)]
    every = [name for name in frame.columns if str(name).startswith(service_export.EVERY)]
    if not (known and rewarded[every].notna().all(axis=None)):
        every = []  # some of its decisions are older than these columns
    return rewarded[[*used.values(), *every, *contexts]].reset_index(drop=True), used


def _plain(names: list[str]) -> list[str]:
    """The columns of a file, but for those of an export that hold lists."""
    if not service_export.is_export(names):
        return names
    return [name for name in names if name not in service_export.LISTS]
