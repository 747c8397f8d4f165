"""The application that commands join, and how it ends."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

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
TABLE_ENDING = re.compile(r"(?<=.)(\.(csv|tsv|txt|arff)(\.gz)?|\.parquet)\Z", re.IGNORECASE)

#: In a URL: what is before the password, and the password.
_PASSWORD = re.compile(r"(postgres\w*:/+[^\s:/@]*:)\S*@", re.IGNORECASE)

#: Options that several commands have.
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Out = Annotated[Path, typer.Option(help="Where files go.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")]


def output_name(table: str | Path) -> str:
    """What the names of a table's files begin with: its own, without the ending of its format."""
    return TABLE_ENDING.sub("", Path(table).name)


def typed_command() -> str:
    """The command as it was typed, for reports."""
    return shlex.join(["greedyfirst", *sys.argv[1:]])


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


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
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
    except MemoryError as error:
        wanted = f" ({error})" if str(error) else ""
        _refuse(
            f"there is not enough memory{wanted}; leave out columns or categories of many levels "
            "(--drop), or take fewer --jobs"
        )
    except OSError as error:
        reason = (error.strerror or "").lower()
        _refuse(f"{error.filename}: {reason}" if error.filename and reason else str(error))
    except ValueError as error:
        _refuse(str(error))
    else:
        if code == INTERRUPTED:
            typer.echo("interrupted", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """One sentence, without the line of code that Python shows."""
    typer.echo(f"greedyfirst: {message}", err=True)


def _refuse(reason: str) -> NoReturn:
    """One sentence and exit code 2, or a list; nothing where the help has been shown instead."""
    if reason:
        told = _PASSWORD.sub(r"\1…@", reason)  # whatever has repeated what was typed
        sentences = (" ".join(each.split()) for each in told.split("\n- "))
        typer.echo("greedyfirst: " + "\n- ".join(sentences), err=True)
    sys.exit(BAD_INPUT)
