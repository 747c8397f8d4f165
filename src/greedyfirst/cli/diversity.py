"""`greedyfirst diversity`: is greedy promised to work on these contexts?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from greedyfirst.cli.application import Force, Out, Seed, app, output_name
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
from greedyfirst.files.pictures import save_picture
from greedyfirst.validation import FloatArray, whole_number, wrong

if TYPE_CHECKING:
    import pandas as pd

#: A file up to this size is read as a whole, more is read chunk by chunk.
LARGEST_MB = 500


@app.command(
    epilog="Examples: [bold]greedyfirst diversity patients.csv --label dose[/bold], "
    "[bold]greedyfirst diversity patients.csv --label dose --standardise --html[/bold]"
)
@reads_table
def diversity(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A CSV or Parquet table, one context a row; or a data set of any size: several "
            "files, or folders."
        ),
    ],
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

    A "no" does not mean that greedy fails: an arm may starve. GreedyFirst raises only such arms.
    """
    # Slow to import, and no other command needs them.
    from greedyfirst.reports.diversity_page import write_diversity_page
    from greedyfirst.tables.findings import noted
    from greedyfirst.theory import measure_diversity

    whole_number("--seed", seed, at_least=0)
    file = files[0]
    page, picture = (out / f"{output_name(file)}-diversity.{kind}" for kind in ("html", "png"))
    check_free([page] * html + [picture] * png, force=force)
    options: dict[str, Any] = {
        "label": label,
        "drop": tuple(drop or ()),
        "categorical": tuple(categorical or ()),
        "intercept": intercept,
        "standardise": standardise,
        "normalise": normalise,
    }
    with ExitStack() as opened, noted() as notes:
        if _fits_in_memory(files):
            table = _read(file, impute, reading, **options)
        else:
            _check_absent(impute, reading)
            table = _open(opened, files, **options)
        found = measure_diversity(table.contexts, feature_names=table.names, seed=seed)
    left_out = _describe_left_out(list(table.constant)[not intercept :], table.zero)
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


class _Table(NamedTuple):
    """Contexts, an array or a function that reads them, and what was left out of them."""

    contexts: Any
    names: list[str]
    constant: dict[str, object]
    zero: list[str]


def _fits_in_memory(files: list[Path]) -> bool:
    """Whether it is one table of a moderate size."""
    if len(files) > 1 or files[0].is_dir() or files[0].suffix in (".arrow", ".feather", ".ipc"):
        return False
    return not files[0].exists() or files[0].stat().st_size <= LARGEST_MB * 1_000_000


def _check_absent(impute: str | None, reading: Reading) -> None:
    expected = f"left out for folders, several files and files over {LARGEST_MB} MB"
    if impute is not None:
        raise wrong("--impute", impute, expected)
    for name, given in reading.items():
        if given != AS_FOUND[name]:
            raise wrong("--no-header" if name == "header" else f"--{name}", given, expected)


def _read(
    file: Path,
    impute: str | None,
    reading: Reading,
    *,
    label: str | None,
    drop: tuple[str, ...],
    categorical: tuple[str, ...],
    intercept: bool,
    standardise: bool,
    normalise: bool,
) -> _Table:
    """A table that fits in memory."""
    from greedyfirst.tables import infer_schema, normalise_rows, read_table

    frame = read_table(file, **reading)
    constant, zero = _constant_columns(frame, {*drop, label}, file.name)
    schema = infer_schema(
        frame,
        label=label,
        drop=(*drop, *constant, *zero),
        categorical=tuple(name for name in categorical if name not in {*constant, *zero}),
        intercept=intercept or bool(constant),
        standardise=standardise,
        impute=impute,
    )
    contexts = schema.encode(frame)
    names = list(schema.feature_names)
    if constant and not intercept:
        names[0], contexts[:, 0] = _as_column(*next(iter(constant.items())))
    return _Table(normalise_rows(contexts) if normalise else contexts, names, constant, zero)


def _open(
    opened: ExitStack,
    files: list[Path],
    *,
    label: str | None,
    drop: tuple[str, ...],
    categorical: tuple[str, ...],
    intercept: bool,
    standardise: bool,
    normalise: bool,
) -> _Table:
    """A data set of any size, read chunk by chunk while it is open."""
    from greedyfirst.tables import normalise_rows
    from greedyfirst.tables.columns import check_known
    from greedyfirst.tables.log_contexts import log_contexts
    from greedyfirst.tables.log_files import open_log

    log = opened.enter_context(open_log(files))
    left_out = [("label", label)] if label is not None else []
    left_out += [("drop", name) for name in drop]
    for option, name in left_out:
        check_known(option, name, log.schema.names)
    found = log_contexts(
        log,
        drop=[str(name) for _, name in left_out],
        categorical=categorical,
        intercept=intercept,
        standardise=standardise,
    )
    names, value = list(found.schema.feature_names), None
    if found.constant and not intercept:
        names[0], value = _as_column(*next(iter(found.constant.items())))

    def chunks() -> Iterator[FloatArray]:
        for chunk in found.chunks():
            if value is not None:
                chunk[:, 0] = value
            yield normalise_rows(chunk) if normalise else chunk

    return _Table(chunks, names, found.constant, found.zero)


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
