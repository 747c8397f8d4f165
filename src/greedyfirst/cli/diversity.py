"""`greedyfirst diversity`: is greedy safe on these contexts?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greedyfirst.cli.application import Out, Seed, app
from greedyfirst.validation import whole_number

if TYPE_CHECKING:
    from greedyfirst.theory import CovariateDiversity


@app.command(
    epilog="Example: [bold]greedyfirst diversity patients.csv --label dose --standardise[/bold]"
)
def diversity(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet table, one context a row.")],
    label: Annotated[
        str | None, typer.Option(help="The column that is no context: a class or reward.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; repeat it.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of numbers that are categories; repeat it.")
    ] = None,
    intercept: Annotated[bool, typer.Option("--intercept", help="Add a column of ones.")] = False,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Give numbers mean 0 and variance 1.")
    ] = False,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Divide each row by its length.")
    ] = False,
    impute: Annotated[
        str | None, typer.Option(help="Fill missing values: mean, median or most-frequent.")
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line is data: columns are f0, f1, … .")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="Write a page as well.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Write a picture as well.")] = False,
    seed: Seed = 10,
    out: Out = Path("figures"),
) -> None:
    """Whether the contexts of a table are diverse enough for greedy, and where they are not."""
    # Slow to import, and no other command needs them.
    from greedyfirst.reports.diversity_page import write_diversity_page
    from greedyfirst.tables import infer_schema, normalise_rows, read_table
    from greedyfirst.theory import measure_diversity

    whole_number("--seed", seed, at_least=0)
    frame = read_table(file, header=not no_header)
    schema = infer_schema(
        frame,
        label=label,
        drop=tuple(drop or ()),
        categorical=tuple(categorical or ()),
        intercept=intercept,
        standardise=standardise,
        impute=impute,
    )
    contexts = schema.encode(frame)
    del frame
    if normalise:
        contexts = normalise_rows(contexts)
    found = measure_diversity(contexts, feature_names=schema.feature_names, seed=seed)
    typer.echo(str(found))
    if html or png:
        out.mkdir(parents=True, exist_ok=True)
    if html:
        page = out / f"{file.stem}-diversity.html"
        write_diversity_page(found, page, source=file.name)
        typer.echo(page)
    if png and not len(found.profile):
        typer.echo("no picture: λ₀ is exactly 0, and there are no other halves to compare it with")
    elif png:
        picture = out / f"{file.stem}-diversity.png"
        save_picture(found, picture)
        typer.echo(picture)


def save_picture(found: CovariateDiversity, path: Path) -> None:
    """The picture of a page, as a file."""
    # Half a second to import, and only needed once there is something to draw.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    found.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)
