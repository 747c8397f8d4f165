"""`greedyfirst diversity`: is greedy promised to work on these contexts?"""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greedyfirst.cli.application import Force, Out, Seed, app, output_name
from greedyfirst.cli.table_options import (
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
from greedyfirst.files.pictures import save_picture
from greedyfirst.validation import whole_number

if TYPE_CHECKING:
    import pandas as pd


@app.command(
    epilog="Examples: [bold]greedyfirst diversity patients.csv --label dose[/bold], "
    "[bold]greedyfirst diversity patients.csv --label dose --standardise --html[/bold]"
)
@reads_table
def diversity(
    *,
    file: Annotated[Path, typer.Argument(help="A CSV or other table, one context a row.")],
    label: Annotated[
        str | None, typer.Option(help="The column that is no context: a class or reward.")
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    intercept: Intercept = False,
    standardise: Standardise = False,
    normalise: Normalise = False,
    impute: Impute = None,
    html: Annotated[bool, typer.Option("--html", help="Write a page as well.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Write a picture as well.")] = False,
    seed: Seed = 10,
    out: Out = Path("figures"),
    force: Force = False,
    reading: Reading,
) -> None:
    """Are the contexts of a table so diverse that greedy is promised to work, and if not, why?

    A "no" does not mean that greedy fails: an arm may starve. GreedyFirst explores only such arms.
    """
    # Slow to import, and no other command needs them.
    from greedyfirst.reports.diversity_page import write_diversity_page
    from greedyfirst.tables import infer_schema, normalise_rows, read_table
    from greedyfirst.tables.findings import noted
    from greedyfirst.theory import measure_diversity

    whole_number("--seed", seed, at_least=0)
    page, picture = (out / f"{output_name(file)}-diversity.{kind}" for kind in ("html", "png"))
    check_free([page] * html + [picture] * png, force=force)
    with noted() as notes:
        frame = read_table(file, **reading)
        constant, zero = _constant_columns(frame, {*(drop or ()), label}, file.name)
        schema = infer_schema(
            frame,
            label=label,
            drop=(*(drop or ()), *constant, *zero),
            categorical=tuple(name for name in categorical or () if name not in {*constant, *zero}),
            intercept=intercept or bool(constant),
            standardise=standardise,
            impute=impute,
        )
        contexts = schema.encode(frame)
    names = list(schema.feature_names)
    if constant and not intercept:
        names[0], contexts[:, 0] = _as_column(*next(iter(constant.items())))
    del frame
    if normalise:
        contexts = normalise_rows(contexts)
    found = measure_diversity(contexts, feature_names=names, seed=seed)
    left_out = _describe_left_out(list(constant)[not intercept :], zero)
    typer.echo("\n".join([str(found), *(f"- {sentence}" for sentence in left_out)]))
    if html or png:
        out.mkdir(parents=True, exist_ok=True)
    if html:
        write_diversity_page(found, page, source=file.name, notes=[*left_out, *notes])
        typer.echo(page)
    if png and not len(found.profile):
        typer.echo(
            "no picture: λ₀ = 0 by single columns, so that no halves of the contexts were compared"
        )
    elif png:
        save_picture(lambda figure: found.plot(figure.add_subplot()), picture)
        typer.echo(picture)


def _constant_columns(
    frame: pd.DataFrame, others: set[str | None], file: str
) -> tuple[dict[str, object], list[str]]:
    """Columns that are the same in every row, with the value; and those that are 0 in every row."""
    if len(frame) < 2:
        raise ValueError(f"{file} has {len(frame)} row, expected at least 2 contexts")
    constant: dict[str, object] = {}
    zero: list[str] = []
    columns = [name for name in frame.columns if str(name) not in others]
    for name in columns:
        column = frame[name]
        first = column.iloc[0]
        if not column.isna().any() and bool((column == first).all()):
            if first == 0:
                zero.append(str(name))
            else:
                constant[str(name)] = first
    if columns and len(constant) + len(zero) == len(columns):
        raise ValueError(
            f"every column of {file} is the same in every row, so that there is no diversity to "
            "measure; expected a column that varies"
        )
    return constant, zero


def _as_column(name: str, value: object) -> tuple[str, float]:
    """A constant as a column of contexts: a number as it is, else the dummy of its one level."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return name, float(value)
    return f"{name}={value}", 1.0


def _describe_left_out(constant: list[str], zero: list[str]) -> list[str]:
    from greedyfirst.theory.diversity.column_sentences import listed

    notes = []
    if constant:
        notes.append(f"Left out, since constant as the intercept is: {listed(constant)}.")
    if zero:
        notes.append(f"Left out, since 0 in every row: {listed(zero)}.")
    return notes
