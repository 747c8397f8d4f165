"""`greedyfirst serve`: the decision service, its keys and its log."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from greedyfirst.cli.application import app

Database = Annotated[Path, typer.Option("--db", help="The file of the log.")]
_DEFAULT = Path("greedyfirst.db")

keys = typer.Typer(help="Keys of the decision service.", no_args_is_help=True)
log = typer.Typer(help="The log of the decision service.", no_args_is_help=True)
app.add_typer(keys, name="keys")
app.add_typer(log, name="log")


def _need_extra() -> None:
    """Say how to install what the service needs."""
    try:
        import apsw  # noqa: F401
        import granian  # noqa: F401
        import litestar  # noqa: F401
        import uvloop  # noqa: F401
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed; the service needs: pip install 'greedyfirst[serve]'"
        ) from None


@app.command(
    epilog="Examples: [bold]greedyfirst serve --db trial.db[/bold], "
    "[bold]greedyfirst serve --demo[/bold]"
)
def serve(
    db: Annotated[
        Path | None, typer.Option("--db", help="The file of the log.", show_default=str(_DEFAULT))
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; other than loopback needs keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8000,
    name: Annotated[
        list[str] | None, typer.Option(help="A name by which requests may call this service.")
    ] = None,
    per_second: Annotated[float, typer.Option(help="Requests a client may send.")] = 20_000.0,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a simulated dosing trial; without --db it is gone when the service ends.",
        ),
    ] = False,
) -> None:
    """Serve decisions over HTTP, each on disk before it is answered."""
    _need_extra()
    from greedyfirst.service.server import check_address
    from greedyfirst.service.server import serve as run

    with ExitStack() as until_it_ends:
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if demo:
            from greedyfirst.service.demo import SPECIFICATION, simulate_trial

            check_address(host, port)
            if db is None:
                db = Path(until_it_ends.enter_context(TemporaryDirectory()), "demo.db")
            typer.echo("simulating a dosing trial; this takes a few seconds")
            simulate_trial(db)
            typer.echo(f"open {address}/policies/{SPECIFICATION.name}")
        db = db or _DEFAULT
        run(
            db,
            host=host,
            port=port,
            names=tuple(name or ()),
            per_second=per_second,
            ready=lambda: typer.echo(f"greedyfirst serves {db} at {address} (Ctrl-C ends it)"),
        )


@keys.command("add", epilog="Example: [bold]greedyfirst keys add clinic --role decider[/bold]")
def add_key(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    role: Annotated[str, typer.Option(help="reader, decider or admin.")] = "decider",
    db: Database = _DEFAULT,
) -> None:
    """Make a key and show it, once; only its hash is kept."""
    _need_extra()
    from greedyfirst.service.http.middleware import ROLES, hashed, new_key
    from greedyfirst.service.log import access_keys
    from greedyfirst.service.log.sqlite_log import SqliteLog
    from greedyfirst.validation import choice

    choice("role", role, ROLES)
    access_keys.check_name(name)
    if not db.is_file():
        SqliteLog(db).close()
    key = new_key()
    if not access_keys.add_key(db, access_keys.AccessKey(name, role, hashed(key))):
        raise ValueError(f"there is a key of the name {name!r} already; remove it first")
    typer.echo(key)


@keys.command("list", epilog="Example: [bold]greedyfirst keys list --db trial.db[/bold]")
def list_keys(db: Database = _DEFAULT) -> None:
    """Names and roles of all keys."""
    _need_extra()
    from greedyfirst.service.log.access_keys import all_keys

    for key in all_keys(_existing(db)):
        typer.echo(f"{key.name}\t{key.role}")


@keys.command("remove", epilog="Example: [bold]greedyfirst keys remove clinic[/bold]")
def remove_key(
    name: Annotated[str, typer.Argument(help="Whose key it is.")], db: Database = _DEFAULT
) -> None:
    """Take a key out of use."""
    _need_extra()
    from greedyfirst.service.log import access_keys

    if not access_keys.remove_key(_existing(db), name):
        raise ValueError(f"there is no key of the name {name!r}")


@log.command("check", epilog="Example: [bold]greedyfirst log check trial.db --last 10000[/bold]")
def check_log(
    db: Annotated[Path, typer.Argument(help="The file of the log.")],
    last: Annotated[int, typer.Option(help="Decisions of each policy to make again.")] = 10_000,
) -> None:
    """Read the whole log, check its seals, and make the last decisions again."""
    _need_extra()
    from greedyfirst.service.log.sqlite_log import SqliteLog
    from greedyfirst.service.state.restoring import recompute_last

    opened = SqliteLog(_existing(db))
    try:
        typer.echo(f"{opened.check()} entries, all as they were written")
        for entry in opened.policies():
            again, differ, erased = recompute_last(opened, entry.policy, last)
            typer.echo(f"{entry.policy}: {again} decisions made again, {differ} came out otherwise")
            if erased:
                it = "it follows" if erased == 1 else "they follow"
                reason = f"features that {it} from were erased"
                typer.echo(f"{entry.policy}: {erased} not made again: {reason}")
            if differ:
                raise ValueError(f"policy {entry.policy} cannot be made again from this log")
        if changed := opened.changed_snapshots():
            named = ", ".join(f"{policy} after entry {seq}" for policy, seq in changed)
            raise ValueError(
                f"snapshots were changed ({named}); the service leaves them out and reads the log"
            )
    finally:
        opened.close()


def _existing(db: Path) -> Path:
    if not db.is_file():
        raise ValueError(f"there is no log in {db}; greedyfirst serve --db {db} makes one")
    return db
