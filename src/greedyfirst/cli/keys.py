"""`greedyfirst keys`: keys of the decision service."""

from __future__ import annotations

from typing import Annotated

import typer

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import DEFAULT_LOG, Database, existing, need_extra

keys = typer.Typer(help="Keys of the decision service.", no_args_is_help=True)
app.add_typer(keys, name="keys")


@keys.command("add", epilog="Example: [bold]greedyfirst keys add clinic --role decider[/bold]")
def add_key(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    role: Annotated[str, typer.Option(help="reader, decider or admin.")] = "decider",
    db: Database = DEFAULT_LOG,
) -> None:
    """Make a key and show it, once; only its hash is kept."""
    need_extra()
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
def list_keys(db: Database = DEFAULT_LOG) -> None:
    """Names and roles of all keys."""
    need_extra()
    from greedyfirst.service.log.access_keys import all_keys

    for key in all_keys(existing(db)):
        typer.echo(f"{key.name}\t{key.role}")


@keys.command("remove", epilog="Example: [bold]greedyfirst keys remove clinic[/bold]")
def remove_key(
    name: Annotated[str, typer.Argument(help="Whose key it is.")], db: Database = DEFAULT_LOG
) -> None:
    """Take a key out of use."""
    need_extra()
    from greedyfirst.service.log import access_keys

    if not access_keys.remove_key(existing(db), name):
        raise ValueError(f"there is no key of the name {name!r}")
