"""`greedyfirst figure`: the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from greedyfirst.cli.application import Force, Out, Seed, app
from greedyfirst.cli.spread_options import Cluster, Jobs, Resume, Workers, spread_over
from greedyfirst.engines.engine import Spread
from greedyfirst.experiments import AS_WRITTEN, EXPERIMENTS, Figure, PreparedFigure
from greedyfirst.experiments.experiment import ENDINGS
from greedyfirst.files.outputs import output_directory
from greedyfirst.validation import whole_number

ALL = "all"
RAW = "-raw.parquet"


class Run(NamedTuple):
    """How figures are run, and where their files go."""

    instances: int | None
    seed: int
    spread: Spread
    out: Path
    raw: bool


@app.command(
    epilog="Examples: [bold]greedyfirst figure fig2c --instances 200 --jobs 2[/bold], "
    "[bold]greedyfirst figure fig4a --data-dir data[/bold], "
    "[bold]greedyfirst figure fig2c --as-written[/bold]"
)
def figure(
    name: Annotated[
        str, typer.Argument(help="Which figure: " + ", ".join(EXPERIMENTS) + f" or {ALL}")
    ],
    instances: Annotated[
        int | None, typer.Option(help="Problem instances; the paper's number if not given.")
    ] = None,
    seed: Seed = 10,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    workers: Workers = None,
    resume: Resume = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the tables of Figure 4 are, as CSV files.")
    ] = None,
    as_written: Annotated[
        bool,
        typer.Option("--as-written", help="To the letter of the text, for Figure 2."),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Also write each instance's curves, as NAME-raw.parquet."),
    ] = False,
    out: Out = Path("figures"),
    force: Force = False,
) -> None:
    """Reproduce a figure of the paper: a table here, and NAME.csv, .png and .json files.

    With all of them comes a page that shows them beside the published numbers, figures.html.
    """
    figures = AS_WRITTEN if as_written else EXPERIMENTS
    if name != ALL and name not in figures:
        known = f"one of {', '.join(figures)} or {ALL}{' with --as-written' if as_written else ''}"
        raise ValueError(f"NAME must be {known}, got {name!r}")
    if instances is not None:
        whole_number("--instances", instances, at_least=1)
    whole_number("--seed", seed, at_least=0)
    if data_dir is not None and not data_dir.is_dir():
        raise ValueError(f"--data-dir must be a directory, got {str(data_dir)!r}")
    with spread_over(jobs=jobs, cluster=cluster, workers=workers, resume=resume) as spread:
        run = Run(instances, seed, spread, out, raw)
        if name == ALL:
            page = f"figures{'-as-written' * as_written}.html"
            files = [page, *(f for each in figures.values() for f in file_names(each, raw=raw))]
            with output_directory(out, files, force=force):
                make_all(figures, run, data_dir, page=out / page)
            return
        prepared = figures[name].prepared(data_dir)
        if raw and not prepared.has_raw_curves:
            raise ValueError(f"--raw must be left out for {name}: its curves are shares of runs")
        with output_directory(out, file_names(figures[name], raw=raw), force=force):
            make(figures[name], prepared, run)


def file_names(figure: Figure, *, raw: bool) -> list[str]:
    """The names of the files that a figure may have."""
    return [f"{figure.name}{end}" for end in (*ENDINGS, *([RAW] if raw else []))]


def make(figure: Figure, prepared: PreparedFigure, run: Run) -> tuple[object, list[Path]]:
    """Run a figure, show its table and write its files."""
    raw = run.out / f"{figure.name}{RAW}" if run.raw and prepared.has_raw_curves else None
    result = prepared.run(n_instances=run.instances, seed=run.seed, raw=raw, **run.spread)
    Console().print(f"[bold]{figure.title}[/bold]")
    typer.echo(prepared.table(result))
    paths = [*prepared.write(result, run.out), *([] if raw is None else [raw])]
    for path in paths:
        typer.echo(path)
    return result, paths


def make_all(figures: Mapping[str, Figure], run: Run, data_dir: Path | None, *, page: Path) -> None:
    """Make every figure whose data can be had, and the page."""
    from greedyfirst.reports.figures_page import MadeFigure, write_figures_page

    made, missing = [], {}
    for place, figure in enumerate(figures.values(), start=1):
        typer.echo(f"{place} of {len(figures)}: {figure.name}", err=True)
        try:
            prepared = figure.prepared(data_dir)
        except (ValueError, OSError) as error:
            missing[figure.title] = " ".join(str(error).split())
            typer.echo(f"left out: {missing[figure.title]}", err=True)
            continue
        result, paths = make(figure, prepared, run)
        picture = next(path for path in paths if path.suffix == ".png")
        made.append(
            MadeFigure(
                prepared.published_name,
                figure.title,
                picture,
                prepared.final(result),
                prepared.switches(result),
            )
        )
    write_figures_page(made, missing, page, instances=run.instances, seed=run.seed)
    typer.echo(page)
