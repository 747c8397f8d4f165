"""The command line: thin, every command calls one public function."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.validation import whole_number
from greedyfirst.version import __version__

app = typer.Typer(
    name="greedyfirst",
    help="Contextual bandits that explore only when the data says they must.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Example: [bold]greedyfirst figure fig2c --instances 200[/bold]",
)
BAD_INPUT, INTERRUPTED = 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Contextual bandits that explore only when the data says they must."""


@app.command(
    epilog="Example: [bold]greedyfirst figure fig2c --instances 200 --jobs 2 --out figures[/bold]"
)
def figure(
    name: Annotated[
        str, typer.Argument(help="Which figure: " + ", ".join(EXPERIMENTS) + " or all")
    ],
    instances: Annotated[
        int | None, typer.Option(help="Problem instances; the paper's number if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 10,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one per processor.")] = -1,
    out: Annotated[Path, typer.Option(help="Where NAME.csv, .png and .json go.")] = Path("figures"),
) -> None:
    """Reproduce a figure of the paper: a table here, and CSV, PNG and JSON files."""
    if name != "all" and name not in EXPERIMENTS:
        raise ValueError(f"NAME must be one of {', '.join(EXPERIMENTS)} or all, got {name!r}")
    if instances is not None:
        whole_number("--instances", instances, at_least=1)
    whole_number("--seed", seed, at_least=0)
    if jobs != -1:
        whole_number("--jobs", jobs, at_least=1)
    out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    console = Console()
    for experiment in EXPERIMENTS.values() if name == "all" else [EXPERIMENTS[name]]:
        result = experiment.run(n_instances=instances, seed=seed, n_jobs=jobs)
        console.print(f"[bold]{experiment.title}[/bold]")
        typer.echo(result.table())
        for path in experiment.write(result, out):
            typer.echo(path)


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe left: nothing more to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except typer.TyperException as error:
        _refuse(error.format_message())
    except (ValueError, OSError) as error:
        _refuse(str(error))
    else:
        if code == INTERRUPTED:
            typer.echo("interrupted", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def _refuse(reason: str) -> NoReturn:
    """One sentence and exit code 2; no sentence where the help has been shown instead."""
    if reason:
        typer.echo(f"greedyfirst: {' '.join(reason.split())}", err=True)
    sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
