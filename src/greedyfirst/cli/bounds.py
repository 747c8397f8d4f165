"""`greedyfirst bounds`: what the theorems promise for given arms."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli.application import Out, Seed, app
from greedyfirst.problems.context_distributions.by_name import CONTEXTS, context_law
from greedyfirst.validation import number, number_in_text, whole_number, wrong


@app.command(
    epilog="Example: [bold]greedyfirst bounds arms.csv --sigma 0.003 --pulls 20 --simulate[/bold]"
)
def bounds(
    arms: Annotated[
        Path, typer.Argument(help="A CSV file without a header: one row of coefficients per arm.")
    ],
    sigma: Annotated[float, typer.Option(help="The noise's standard deviation.")],
    pulls: Annotated[int, typer.Option(help="First pulls of each arm, at least one per feature.")],
    contexts: Annotated[
        str, typer.Option(help="The law of contexts: " + ", ".join(CONTEXTS) + ".")
    ] = "ball",
    x_max: Annotated[float, typer.Option(help="The largest norm of a context.")] = 1.0,
    h: Annotated[
        float | None, typer.Option(help="The lead of Assumption 4; the best one if not given.")
    ] = None,
    lambda0: Annotated[float | None, typer.Option(help="λ₀ of Greedy-First's test.")] = None,
    t0: Annotated[int | None, typer.Option(help="t₀ of Greedy-First's test.")] = None,
    horizon: Annotated[int, typer.Option(help="Rounds, of runs and of the regret bound.")] = 2000,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the truth and plot it over the bounds.")
    ] = False,
    runs: Annotated[int, typer.Option(help="Simulated runs at each noise.")] = 200,
    seed: Seed = 10,
    out: Out = Path("figures"),
) -> None:
    """What the theorems promise for given arms: regret, chances to succeed, all constants."""
    from greedyfirst.experiments.bounds_report import report_bounds  # slow to import

    number("--sigma", sigma, above=0)
    number("--x-max", x_max, above=0)
    whole_number("--runs", runs, at_least=1)
    whole_number("--horizon", horizon, at_least=3)
    whole_number("--seed", seed, at_least=0)
    if (lambda0 is None) != (t0 is None):
        raise wrong("--lambda0 and --t0", (lambda0, t0), "given together, or not at all")
    parameters = read_arms(arms)
    if simulate:
        out.mkdir(parents=True, exist_ok=True)
    report = report_bounds(
        parameters,
        contexts=context_law(contexts, n_features=len(parameters[0]), x_max=x_max),
        sigma=sigma,
        initial_pulls=pulls,
        h=h,
        lambda0=lambda0,
        t0=t0,
        n_runs=runs if simulate else 0,
        horizon=horizon,
        seed=seed,
    )
    typer.echo(report.table())
    for path in report.write(out) if report.curves else []:
        typer.echo(path)


def read_arms(path: Path) -> list[list[float]]:
    """The parameters of at least two arms."""
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise wrong(
            str(path), f"{len(rows)} rows", "a row of coefficients for each of 2 or more arms"
        )
    for place, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            expected = f"of {len(rows[0])} numbers, as the first row"
            raise wrong(f"row {place} of {path}", row, expected)
    return [
        [number_in_text(f"row {place} of {path}", cell) for cell in row]
        for place, row in enumerate(rows, start=1)
    ]
