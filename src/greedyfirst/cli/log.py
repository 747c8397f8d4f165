"""`greedyfirst log check` and `copy`, `backup` and `restore`: the decision service's log."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import (
    DEFAULT_LOG,
    Database,
    LogArgument,
    existing,
    existing_file,
    file_only,
    need_extra,
)

if TYPE_CHECKING:  # it needs what only the service's extra installs
    from greedyfirst.service.log.copying import Begin, Copied

log = typer.Typer(help="The log of the decision service.", no_args_is_help=True)
app.add_typer(log, name="log")


@log.command("check", epilog="Example: [bold]greedyfirst log check trial.db --last 10000[/bold]")
def check_log(
    db: LogArgument,
    last: Annotated[int, typer.Option(help="Decisions of each policy to make again.")] = 10_000,
    head: Annotated[
        list[str] | None,
        typer.Option(help="NUMBER:SEAL of an entry that the log must have. Repeat it."),
    ] = None,
    anchor: Annotated[
        Path | None, typer.Option(help="A file of such entries, by serve --anchor.")
    ] = None,
    anchor_key: Annotated[
        Path | None, typer.Option(help="A file with the secret that signed them.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="As it always is; for scripts that say so.")
    ] = True,
) -> None:
    """Read the whole log, check its seals, and make the last decisions again.

    Nothing is changed. A service may use the log meanwhile.
    """
    need_extra()
    from greedyfirst.service.log.anchors import AnchorFile, check_head
    from greedyfirst.service.log.entries import Head
    from greedyfirst.service.log.places import reading
    from greedyfirst.service.state.restoring import recompute_last

    heads = [Head.parse(text) for text in head or ()]
    anchors = None if anchor is None else AnchorFile.with_key_in(anchor, anchor_key)
    place = existing(db)
    with reading(place) as opened:
        count = opened.check()
        for known in heads:
            check_head(opened, known)
            typer.echo(f"entry {known.seq} is the one that it had")
        if anchors is not None:
            checked, lost = anchors.check(opened)
            restored = f"; {lost} more were lost when a backup was put back" if lost else ""
            typer.echo(f"{checked - lost} anchors fit{restored}")
        if not count:
            typer.echo(f"{place} has no entries: there is nothing to check")
            return
        typer.echo(f"{count} entries, all as they were written")
        typer.echo(f"head {opened.head()}")
        for entry in opened.policies():
            again, differ, erased = recompute_last(opened, entry.policy, last)
            typer.echo(
                f"{entry.policy}: {again} decisions recomputed, {differ} differ from the log"
            )
            if erased:
                it = "it follows" if erased == 1 else "they follow"
                reason = f"features that {it} from were erased"
                typer.echo(f"{entry.policy}: {erased} not recomputed: {reason}")
            if differ:
                raise ValueError(f"policy {entry.policy} cannot be recomputed from this log")
        if changed := opened.changed_snapshots():
            named = ", ".join(f"{policy} after entry {seq}" for policy, seq in changed)
            raise ValueError(
                f"snapshots were changed ({named}); the service leaves them out and reads the log"
            )


@log.command(
    "copy",
    epilog="Example: [bold]greedyfirst log copy trial.db postgresql://greedyfirst@db/trial[/bold]",
)
def copy_to(
    source: LogArgument,
    target: Annotated[
        str,
        typer.Argument(
            help="Where the copy goes: a new file, or postgresql://USER@HOST/DATABASE without a "
            "log."
        ),
    ],
) -> None:
    """Copy a log to another place: from a file to PostgreSQL, or back.

    The copy is checked, and has all entries with their seals, and the keys. It is there as a whole
    or not at all. To move a log, end the services that use it first.
    """
    need_extra()
    from greedyfirst.service.log.copying import copy_log
    from greedyfirst.service.log.places import place_of

    old, new = existing(source), place_of(target)
    with _bars() as begin:
        done = copy_log(old, new, begin=begin)
    for line in _said_of(done, str(old), str(new)):
        typer.echo(line)


@app.command(epilog="Example: [bold]greedyfirst backup trial.db copy.db[/bold]")
def backup(
    db: LogArgument,
    out: Annotated[str, typer.Argument(help="The file of the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Write over an older copy.")] = False,
) -> None:
    """Copy a log as a whole into one file, and check the copy; a service may use it meanwhile."""
    need_extra()
    from greedyfirst.service.log.backup import back_up
    from greedyfirst.service.log.places import place_of

    head = back_up(existing_file(db), file_only(place_of(out)), force=force)
    typer.echo(f"{out} has {head.seq} entries, all as they were written; head {head}")


@app.command(
    epilog="Example: [bold]greedyfirst restore copy.db --db trial.db "
    "--who 'Dr. Smith' --why 'the disk failed'[/bold]"
)
def restore(
    copy: Annotated[str, typer.Argument(help="The file of the copy.")],
    db: Database = str(DEFAULT_LOG),
    who: Annotated[str, typer.Option(help="Who decided it; else the name of the account.")] = "",
    why: Annotated[str, typer.Option(help="The reason, for the log.")] = "not said",
    keep_keys: Annotated[
        bool,
        typer.Option("--keep-keys", help="Leave the copy's keys in use; some may be revoked."),
    ] = False,
) -> None:
    """Put a copy in the place of a log; what was there is kept aside. The service must be ended."""
    need_extra()
    from greedyfirst.service.log.places import place_of
    from greedyfirst.service.log.restore import restore as put_back

    path = file_only(place_of(db))
    done = put_back(
        existing_file(copy), path, who=who or getpass.getuser(), why=why, keep_keys=keep_keys
    )
    typer.echo(f"{db} has the {done.backup.seq} entries of {copy}; head {done.head}")
    if done.replaced is not None:
        typer.echo(f"what was there is in {done.replaced}")
        lost = "its entries could not be counted" if done.lost is None else f"{done.lost} entries"
        typer.echo(f"lost with it: {lost}; rewards for those decisions are answered with 404")
    typer.echo("decisions from now on have other ids than those that were lost")
    if done.keys:
        typer.echo(f"keys in use, also if they were revoked since: {', '.join(done.keys)}")
    else:
        typer.echo(f"no key is in use: greedyfirst keys add NAME --role admin --db {db}")


@contextmanager
def _bars() -> Iterator[Begin | None]:
    """A progress bar for each thing that begins; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:

        def begin(doing: str, total: int) -> Callable[[int], None]:
            return partial(bar.advance, bar.add_task(doing, total=total))

        yield begin


def _said_of(done: Copied, source: str, target: str) -> Iterator[str]:
    """What an operator must know of a copy."""
    yield f"{target} has {done.head.seq} entries, all as they were written; head {done.head}"
    for policy, seq in done.left_out:
        yield f"the snapshot of {policy} after entry {seq} was changed, and is not in the copy"
    if done.in_use:
        yield f"a service uses {source}: what it records from now on is not in the copy"
        yield "to move the log, end all its services, then copy it again to another place"
    else:
        yield f"no service uses {source}: to move the log, start services on {target} only"
        yield "two logs that both go on would give the same decision ids twice"
