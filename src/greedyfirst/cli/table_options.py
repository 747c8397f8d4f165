"""Options of commands that take a table: how its columns become contexts."""

from __future__ import annotations

from typing import Annotated

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
    str | None, typer.Option(help="Fill missing values: mean, median or most-frequent.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line is data: columns are f0, f1, … .")
]
