"""`greedyfirst learn`: an agent from a log of any size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli import service_export
from greedyfirst.cli.application import Force, Seed, app
from greedyfirst.cli.policy_option import policy_of
from greedyfirst.cli.spread_options import Cluster, Jobs, Workers, done_by
from greedyfirst.cli.table_options import Categorical, Drop, InterceptOrNot


@app.command(
    epilog="Examples: [bold]greedyfirst learn log.csv --arm dose --reward outcome --out agent.gf"
    "[/bold], [bold]greedyfirst learn clicks/ --arm item --reward click --jobs 4 --out agent.gf"
    "[/bold]"
)
def learn(
    logs: Annotated[
        list[Path],
        typer.Argument(help="Parquet, Arrow or CSV files, or folders of them, of any size."),
    ],
    out: Annotated[Path, typer.Option(help="The agent's file.")],
    arm: Annotated[str | None, typer.Option(help="The column of the arm that was taken.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of its reward.")] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="A policy by its name, or as JSON with options: "
            '{"policy": "LinUCB", "options": {"alpha": 1}}.'
        ),
    ] = "GreedyFirst",
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: InterceptOrNot = True,
    standardise: Annotated[
        bool,
        typer.Option("--standardise/--as-is", help="Give numbers mean 0 and variance 1, or not."),
    ] = False,
    seed: Seed = 10,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Let a policy learn a log of decisions and rewards, in bounded memory.

    With --cluster the workers must see the same files, under the same paths.

    Writes the agent, which goes on from there and takes rows with the log's columns.
    """
    # Slow to import, and no other command needs them.
    from greedyfirst.agent import Agent
    from greedyfirst.files.outputs import check_free
    from greedyfirst.tables.columns import check_known
    from greedyfirst.tables.findings import noted
    from greedyfirst.tables.log_files import open_log
    from greedyfirst.tables.log_survey import infer_log_schema
    from greedyfirst.validation import wrong

    learner = policy_of(policy)
    if not out.resolve().parent.is_dir():
        raise wrong("--out", str(out), "a file in a folder that exists")
    check_free([out], force=force)
    with (
        noted(),
        done_by(jobs=jobs, cluster=cluster, workers=workers) as where,
        open_log(logs) as log,
    ):
        names = list(log.schema.names)
        used = _columns(names, arm, reward)
        for name in drop or ():
            check_known("--drop", name, names)
        for argument, name in zip(("--arm", "--reward"), used[:2], strict=True):
            check_known(argument, name, names)
        if used[0] == used[1]:
            raise wrong("--reward", reward, "another column than the arm's")
        schema, arms = infer_log_schema(
            log,
            arm=used[0],
            contexts=[name for name in used[2] if name not in (drop or ())],
            categorical=categorical or (),
            intercept=intercept,
            standardise=standardise,
            **where,
        )
        agent = Agent(learner, schema=schema, arms=arms, seed=seed)
        rows = agent.learn_from(
            log,
            arm=used[0],
            reward=used[1],
            rewarded_only=service_export.is_export(names),
            **where,
        )
    agent.save(out)
    counts = ((rows, "row"), (len(arms), "arm"), (schema.n_features, "feature"))
    typer.echo(", ".join(f"{count:,} {what}{'s' * (count != 1)}" for count, what in counts))
    typer.echo(out)


def _columns(
    names: Sequence[str], arm: str | None, reward: str | None
) -> tuple[str, str, list[str]]:
    """The arm's and the reward's column, and those of contexts; an export's need not be named."""
    if arm is None and reward is None and service_export.is_export(names):
        contexts = [name for name in names if name.startswith(service_export.CONTEXT)]
        return service_export.ARM, service_export.REWARD, contexts
    for option, given in (("--arm", arm), ("--reward", reward)):
        if given is None:
            raise ValueError(f"{option} must be given: the column of each decision's {option[2:]}")
    taken, paid = str(arm), str(reward)
    return taken, paid, [name for name in names if name not in (taken, paid)]
