"""Options of commands that take a table: how it is read, and how its columns become contexts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; repeat it.")]
Categorical = Annotated[
    list[str] | None, typer.Option(help="A column of numbers that are categories; repeat it.")
]
Intercept = Annotated[bool, typer.Option("--intercept", help="Add a column of ones.")]
#: For commands that add it unless they are told not to.
InterceptOrNot = Annotated[
    bool, typer.Option("--intercept/--no-intercept", help="A column of ones.")
]
Standardise = Annotated[
    bool, typer.Option("--standardise", help="Give numbers mean 0 and variance 1.")
]
Normalise = Annotated[bool, typer.Option("--normalise", help="Divide each row by its length.")]
Impute = Annotated[
    str | None,
    typer.Option(
        help="Fill missing values: mean, median or most-frequent. Without it, missing categories "
        "are a category of their own, and missing numbers are refused."
    ),
]
#: What the command gets of the options below: arguments of ``read_table``.
Reading = dict[str, Any]


def _read_options(
    *,
    numeric: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of text to read as numbers: amounts, percentages, dates; repeat it."
        ),
    ] = None,
    na: Annotated[
        list[str] | None,
        typer.Option("--na", help="A cell that means missing, such as -999 or ?; repeat it."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(help="What is between cells, such as ';' or tab.", show_default="as found"),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="The decimal mark: . or ,", show_default="as found")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of the text, such as cp1252.", show_default="utf-8")
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line is data: columns are f0, f1, … .")
    ] = False,
) -> Reading:
    return {
        "header": not no_header,
        "separator": separator,
        "encoding": encoding,
        "decimal": decimal,
        "na": tuple(na or ()),
        "numeric": tuple(numeric or ()),
    }


#: What it gets where none of them is given.
AS_FOUND = _read_options()


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of reading a table, which it gets together as ``reading``."""
    own = inspect.signature(command, eval_str=True)
    added = inspect.signature(_read_options, eval_str=True).parameters

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        reading = _read_options(**{name: given.pop(name) for name in added})
        command(reading=reading, **given)

    kept = [parameter for name, parameter in own.parameters.items() if name != "reading"]
    with_options.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*kept, *added.values()]
    )
    return with_options
