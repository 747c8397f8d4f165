"""`greedyfirst log`: the log of the decision service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import existing, need_extra

log = typer.Typer(help="The log of the decision service.", no_args_is_help=True)
app.add_typer(log, name="log")


@log.command("check", epilog="Example: [bold]greedyfirst log check trial.db --last 10000[/bold]")
def check_log(
    db: Annotated[Path, typer.Argument(help="The file of the log.")],
    last: Annotated[int, typer.Option(help="Decisions of each policy to make again.")] = 10_000,
) -> None:
    """Read the whole log, check its seals, and make the last decisions again."""
    need_extra()
    from greedyfirst.service.log.sqlite_log import SqliteLog
    from greedyfirst.service.state.restoring import recompute_last

    opened = SqliteLog(existing(db))
    try:
        typer.echo(f"{opened.check()} entries, all as they were written")
        for entry in opened.policies():
            again, differ = recompute_last(opened, entry.policy, last)
            typer.echo(f"{entry.policy}: {again} decisions made again, {differ} came out otherwise")
            if differ:
                raise ValueError(f"policy {entry.policy} cannot be made again from this log")
        if changed := opened.changed_snapshots():
            named = ", ".join(f"{policy} after entry {seq}" for policy, seq in changed)
            raise ValueError(
                f"snapshots were changed ({named}); the service leaves them out and reads the log"
            )
    finally:
        opened.close()
