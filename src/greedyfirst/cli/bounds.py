"""`greedyfirst bounds`: what the theorems promise for given arms."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greedyfirst.cli.application import Force, Out, Seed, app
from greedyfirst.cli.arms_file import read_arms
from greedyfirst.cli.spread_options import Cluster, Jobs, Resume, Workers, spread_over
from greedyfirst.cli.table_options import (
    AS_FOUND,
    Categorical,
    Drop,
    Impute,
    Intercept,
    Normalise,
    Reading,
    Standardise,
    reads_table,
)
from greedyfirst.files.outputs import check_free
from greedyfirst.problems.context_distributions.by_name import CONTEXTS, context_law
from greedyfirst.validation import number, whole_number, wrong

if TYPE_CHECKING:
    from greedyfirst.problems import ContextDistribution

# Columns of the printed page: those of the terminal, within reason.
NARROWEST, WIDEST, WITHOUT_TERMINAL = 78, 120, 100


@app.command(
    epilog="Examples: [bold]greedyfirst bounds arms.csv --sigma 0.003 --pulls 20 --simulate[/bold],"
    " [bold]greedyfirst bounds arms.csv --contexts patients.csv --drop dose --sigma 0.1 --pulls 20"
    " --lambda0 0.01 --t0 1000[/bold]"
)
@reads_table
def bounds(
    *,
    arms: Annotated[
        Path, typer.Argument(help="A CSV file without a header: one row of coefficients per arm.")
    ],
    sigma: Annotated[float, typer.Option(help="The noise's standard deviation.")],
    pulls: Annotated[int, typer.Option(help="First pulls of each arm, at least one per feature.")],
    contexts: Annotated[
        str,
        typer.Option(help=f"A law of contexts ({', '.join(CONTEXTS)}), or a table with one a row."),
    ] = "ball",
    x_max: Annotated[
        float | None,
        typer.Option(help="The largest norm of a context; by default 1, or the longest row's."),
    ] = None,
    h: Annotated[
        float | None, typer.Option(help="The lead of Assumption 4; the best one if not given.")
    ] = None,
    lambda0: Annotated[
        float | None, typer.Option(help="λ₀ of Greedy-First's test (Theorems 3 and 4).")
    ] = None,
    t0: Annotated[int | None, typer.Option(help="t₀ of Greedy-First's test.")] = None,
    q: Annotated[
        int | None,
        typer.Option(help="OLS Bandit's forced samples (Theorem 3); by default, enough for log T."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="The margin's exponent (Corollary 1); 0 asks for no margin.")
    ] = 0.0,
    link: Annotated[
        str | None, typer.Option(help="Generalised linear rewards (Proposition 1): logistic.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds, of runs and of the regret bounds.")] = 2000,
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: Intercept = False,
    standardise: Standardise = False,
    normalise: Normalise = False,
    impute: Impute = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the truth and plot it over the bounds.")
    ] = False,
    runs: Annotated[int, typer.Option(help="Simulated runs at each noise.")] = 200,
    seed: Seed = 10,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    workers: Workers = None,
    resume: Resume = None,
    out: Out = Path("figures"),
    force: Force = False,
    reading: Reading,
) -> None:
    """What the theorems promise for given arms: regret, chances to succeed, all constants."""
    from greedyfirst.experiments.bounds.report import FILES, report_bounds  # slow to import
    from greedyfirst.tables.findings import noted

    _check(sigma=sigma, runs=runs, horizon=horizon, seed=seed, x_max=x_max)
    if (lambda0 is None) != (t0 is None):
        raise wrong("--lambda0 and --t0", (lambda0, t0), "given together, or not at all")
    if q is not None and lambda0 is None:
        raise wrong("--q", q, "given with --lambda0 and --t0 (it is for Theorem 3)")
    if simulate:
        check_free([out / name for name in FILES], force=force)
    parameters = read_arms(arms)
    n_features = len(parameters[0])
    whole_number("--pulls", pulls, at_least=n_features)
    schema = {
        "drop": tuple(drop or ()),
        "categorical": tuple(categorical or ()),
        "intercept": intercept,
        "standardise": standardise,
        "impute": impute,
    }
    law: ContextDistribution
    if contexts in CONTEXTS:
        if any([*schema.values(), normalise, reading != AS_FOUND]):
            expected = "a table where --drop, --intercept and other options of columns are given"
            raise wrong("--contexts", contexts, expected)
        law = context_law(contexts, n_features=n_features, x_max=x_max or 1.0)
    else:
        with noted():
            law, names = read_contexts(contexts, schema, reading, normalise=normalise)
        if len(names) != n_features:
            raise ValueError(
                f"{arms} has {n_features} coefficients per arm, expected {len(names)}, one for "
                f"each feature of {contexts}: {', '.join(names)}"
            )
    if simulate:
        out.mkdir(parents=True, exist_ok=True)
    elif (cluster, workers, resume) != (None, None, None):
        raise ValueError("--cluster, --workers and --resume must be given with --simulate")
    with spread_over(jobs=jobs, cluster=cluster, workers=workers, resume=resume) as spread:
        report = report_bounds(
            parameters,
            contexts=law,
            sigma=sigma,
            initial_pulls=pulls,
            x_max=None if contexts in CONTEXTS else x_max,
            h=h,
            lambda0=lambda0,
            t0=t0,
            q=q,
            alpha=alpha,
            link=link,
            n_runs=runs if simulate else 0,
            horizon=horizon,
            seed=seed,
            **spread,
        )
    columns = shutil.get_terminal_size((WITHOUT_TERMINAL, 24)).columns
    typer.echo(report.text(min(max(columns, NARROWEST), WIDEST)))
    for path in report.write(out) if report.curves else []:
        typer.echo(path)


def _check(*, sigma: float, runs: int, horizon: int, seed: int, x_max: float | None) -> None:
    number("--sigma", sigma, above=0)
    whole_number("--runs", runs, at_least=1)
    whole_number("--horizon", horizon, at_least=3)
    whole_number("--seed", seed, at_least=0)
    if x_max is not None:
        number("--x-max", x_max, above=0)


def read_contexts(
    path: str, schema: dict[str, Any], reading: Reading, *, normalise: bool
) -> tuple[ContextDistribution, tuple[str, ...]]:
    """Contexts that are drawn from the rows of a table, and the features' names."""
    from greedyfirst.problems import FromArray
    from greedyfirst.tables import infer_schema, normalise_rows, read_table  # slow to import

    if not Path(path).exists():
        expected = f"one of {', '.join(CONTEXTS)}, or the path of a table that exists"
        raise wrong("--contexts", path, expected)
    frame = read_table(path, **reading)
    features = infer_schema(frame, **schema)
    rows = features.encode(frame)
    return FromArray(rows=normalise_rows(rows) if normalise else rows), features.feature_names
