"""`greedyfirst figure`: the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from greedyfirst.cli.application import Jobs, Out, Seed, app
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.validation import whole_number


@app.command(
    epilog="Example: [bold]greedyfirst figure fig2c --instances 200 --jobs 2 --out figures[/bold]"
)
def figure(
    name: Annotated[
        str, typer.Argument(help="Which figure: " + ", ".join(EXPERIMENTS) + " or all")
    ],
    instances: Annotated[
        int | None, typer.Option(help="Problem instances; the paper's number if not given.")
    ] = None,
    seed: Seed = 10,
    jobs: Jobs = -1,
    out: Out = Path("figures"),
) -> None:
    """Reproduce a figure of the paper: a table here, and NAME.csv, .png and .json files."""
    if name != "all" and name not in EXPERIMENTS:
        raise ValueError(f"NAME must be one of {', '.join(EXPERIMENTS)} or all, got {name!r}")
    if instances is not None:
        whole_number("--instances", instances, at_least=1)
    whole_number("--seed", seed, at_least=0)
    if jobs != -1:
        whole_number("--jobs", jobs, at_least=1)
    out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    console = Console()
    for experiment in EXPERIMENTS.values() if name == "all" else [EXPERIMENTS[name]]:
        result = experiment.run(n_instances=instances, seed=seed, n_jobs=jobs)
        console.print(f"[bold]{experiment.title}[/bold]")
        typer.echo(result.table())
        for path in experiment.write(result, out):
            typer.echo(path)
