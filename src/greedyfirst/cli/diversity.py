"""`greedyfirst diversity`: is greedy safe on these contexts?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli.application import Out, Seed, app, output_name
from greedyfirst.cli.table_options import (
    Categorical,
    Drop,
    Impute,
    Intercept,
    NoHeader,
    Normalise,
    Standardise,
)
from greedyfirst.files.pictures import save_picture
from greedyfirst.validation import whole_number


@app.command(
    epilog="Example: [bold]greedyfirst diversity patients.csv --label dose --standardise[/bold]"
)
def diversity(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet table, one context a row.")],
    label: Annotated[
        str | None, typer.Option(help="The column that is no context: a class or reward.")
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: Intercept = False,
    standardise: Standardise = False,
    normalise: Normalise = False,
    impute: Impute = None,
    no_header: NoHeader = False,
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
        page = out / f"{output_name(file)}-diversity.html"
        write_diversity_page(found, page, source=file.name)
        typer.echo(page)
    if png and not len(found.profile):
        typer.echo("no picture: λ₀ is exactly 0, and there are no other halves to compare it with")
    elif png:
        picture = out / f"{output_name(file)}-diversity.png"
        save_picture(lambda figure: found.plot(figure.add_subplot()), picture)
        typer.echo(picture)
