"""`greedyfirst plan`: how many people, and how many of them on a worse arm?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greedyfirst.cli.application import Force, Out, Seed, app, typed_command
from greedyfirst.cli.arms_file import read_arms
from greedyfirst.cli.policy_option import policy_of
from greedyfirst.cli.spread_options import Jobs
from greedyfirst.cli.table_options import (
    AS_FOUND,
    Categorical,
    Drop,
    Impute,
    Reading,
    Standardise,
    reads_table,
)
from greedyfirst.files.outputs import output_directory
from greedyfirst.validation import number, whole_number, wrong

if TYPE_CHECKING:
    from greedyfirst.planning import Effects, Population

ARMS, FEATURES, EFFECT = 2, 5, 0.5


@app.command(
    epilog="Examples: [bold]greedyfirst plan --arms 3 --features 5 --effect 0.5 --noise 1 "
    "--people 100,300,1000[/bold], [bold]greedyfirst plan patients.csv --drop dose --arms 3[/bold]"
)
@reads_table
def plan(
    *,
    table: Annotated[
        Path | None,
        typer.Argument(help="A CSV or other file of people; without it, normal features."),
    ] = None,
    arms: Annotated[int | None, typer.Option(help=f"How many arms; {ARMS} if not given.")] = None,
    features: Annotated[
        int | None, typer.Option(help=f"How many normal features; {FEATURES} if not given.")
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(help=f"Standard deviation of the arms' mean outcomes; {EFFECT} if not given."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="Instead: the best arm is ahead of all others by this on average."),
    ] = None,
    coefficients: Annotated[
        Path | None,
        typer.Option(help="Instead: a CSV file without a header, coefficients of an arm a row."),
    ] = None,
    interaction: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation, over people, of what features add to an arm's outcome; that "
            "of the effect if not given."
        ),
    ] = None,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of an outcome for a given person and arm.")
    ] = 1.0,
    people: Annotated[str, typer.Option(help="Sizes of the trial.")] = "100,200,500,1000",
    width: Annotated[
        float | None,
        typer.Option(
            help="The wanted width of the interval for the difference between the best two arms; "
            "twice the effect if not given."
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option(help="How arms are chosen: a policy's name, or JSON with its options.")
    ] = "GreedyFirst",
    trials: Annotated[int, typer.Option(help="Simulated trials of each size.")] = 1000,
    drop: Drop = None,
    categorical: Categorical = None,
    standardise: Standardise = False,
    impute: Impute = None,
    seed: Seed = 10,
    jobs: Jobs = -1,
    out: Out = Path("figures"),
    force: Force = False,
    reading: Reading,
) -> None:
    """Before a trial starts: how many people, and how many of them on a worse arm?"""
    # Slow to import, and no other command needs them.
    from greedyfirst.planning import normal_population, plan_trial, table_population
    from greedyfirst.planning.wording import answer, terminal_tables
    from greedyfirst.reports.plan_page import FILES, write_plan
    from greedyfirst.tables import read_table
    from greedyfirst.tables.findings import noted

    sizes = _sizes(people)
    number("--noise", noise, above=0)
    whole_number("--trials", trials, at_least=2)
    whole_number("--seed", seed, at_least=0)
    if width is not None:
        number("--width", width, above=0)
    if jobs != -1:
        whole_number("--jobs", jobs, at_least=1)
    chosen = policy_of(policy)
    if table is None and any([drop, categorical, standardise, impute, reading != AS_FOUND]):
        raise wrong("TABLE", None, "given where --drop and other options of columns are")
    if table is not None and features is not None:
        raise wrong("--features", features, "left out where a table of people is given")
    with output_directory(out, FILES, force=force), noted() as notes:
        if table is None:
            count = FEATURES if features is None else features
            population = normal_population(whole_number("--features", count, at_least=1))
        else:
            population = table_population(
                read_table(table, **reading),
                source=table.name,
                drop=tuple(drop or ()),
                categorical=tuple(categorical or ()),
                standardise=standardise,
                impute=impute,
            )
        planned = plan_trial(
            population,
            _effects(population, arms, effect, difference, coefficients, interaction),
            noise=noise,
            policy=chosen,
            people=sizes,
            width=width,
            trials=trials,
            seed=seed,
            n_jobs=jobs,
        )
        paths = write_plan(planned, out, command=typed_command(), notes=notes)
    typer.echo(terminal_tables(planned))
    for sentence in answer(planned):
        typer.echo(sentence)
    for path in paths:
        typer.echo(path)


def _sizes(text: str) -> list[int]:
    """The numbers in a list such as 100,300,1000."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        expected = "whole numbers with commas between them, such as 100,300,1000"
        raise wrong("--people", text, expected) from None


def _effects(
    population: Population,
    arms: int | None,
    effect: float | None,
    difference: float | None,
    coefficients: Path | None,
    interaction: float | None,
) -> Effects:
    """The one law of the arms' coefficients that is asked for."""
    from greedyfirst.planning import given_effects, least_difference, random_effects

    given = {"--effect": effect, "--difference": difference, "--coefficients": coefficients}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise wrong(" and ".join(asked), "both", "given one at a time")
    for name, value in (("--effect", effect), ("--difference", difference)):
        if value is not None:
            number(name, value, above=0)
    if interaction is not None:
        number("--interaction", interaction, at_least=0)
    if coefficients is not None:
        return given_effects(population, _coefficients(population, arms, coefficients, interaction))
    n_arms = whole_number("--arms", ARMS if arms is None else arms, at_least=2)
    if difference is not None:
        return least_difference(
            population, n_arms=n_arms, difference=difference, interaction=interaction
        )
    size = EFFECT if effect is None else effect
    return random_effects(population, n_arms=n_arms, effect=size, interaction=interaction)


def _coefficients(
    population: Population, arms: int | None, path: Path, interaction: float | None
) -> list[list[float]]:
    """The coefficients in a file, as many as there are features."""
    if interaction is not None:
        raise wrong("--interaction", interaction, "left out where --coefficients are given")
    rows = read_arms(path)
    if arms is not None and arms != len(rows):
        raise wrong("--arms", arms, f"{len(rows)}, the rows of {path}, or left out")
    columns = population.feature_names
    if len(rows[0]) != len(columns):
        listed = ", ".join(columns[:8]) + (", …" if len(columns) > 8 else "")
        expected = f"of {len(columns)} numbers: {listed}"
        raise wrong(f"each row of {path}", len(rows[0]), expected)
    return rows
