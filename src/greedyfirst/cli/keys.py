"""`greedyfirst keys`: keys of the decision service."""

from __future__ import annotations

import getpass
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import DEFAULT_LOG, Database, existing, need_extra
from greedyfirst.validation import wrong

keys = typer.Typer(help="Keys of the decision service.", no_args_is_help=True)
app.add_typer(keys, name="keys")

Name = Annotated[str, typer.Argument(help="Whose key it is.")]
Expires = Annotated[
    str | None, typer.Option(help="After which time it is good no more: 12h, 90d, 52w.")
]
_DURATION = re.compile(r"([0-9]{1,6})([smhdw])", re.ASCII)
_POLICY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


@keys.command("add", epilog="Example: [bold]greedyfirst keys add clinic --role decider[/bold]")
def add_key(
    name: Name,
    role: Annotated[str, typer.Option(help="operator, reader, decider or admin.")] = "decider",
    expires: Expires = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy that it is good for; else all. Repeat it.")
    ] = None,
    db: Database = str(DEFAULT_LOG),
) -> None:
    """Make a key and show it, once; only its hash is kept."""
    need_extra()
    from greedyfirst.service.http.access import ROLES, hashed, new_key
    from greedyfirst.service.log import access_keys
    from greedyfirst.service.log.places import open_log, place_of
    from greedyfirst.validation import choice

    choice("role", role, ROLES)
    access_keys.check_name(name)
    for each in policy or ():
        if not _POLICY.fullmatch(each):
            raise wrong("policy", each, "the name of a policy")
    until = None if expires is None else time.time() + _seconds("expires", expires)
    place = place_of(db)
    if not isinstance(place, Path) or not place.is_file():
        open_log(place).close()
    key = new_key()
    made = access_keys.AccessKey(
        name, role, hashed(key), policies=tuple(policy) if policy else None, expires=until
    )
    if not access_keys.add_key(place, made, who=getpass.getuser()):
        raise ValueError(
            f"there is a key of the name {name!r} already; "
            "greedyfirst keys rotate gives it a new secret"
        )
    typer.echo(key)


@keys.command("rotate", epilog="Example: [bold]greedyfirst keys rotate clinic --overlap 1h[/bold]")
def rotate_key(
    name: Name,
    overlap: Annotated[
        str | None, typer.Option(help="How long the old secret is good too: 30m, 1h, 7d.")
    ] = None,
    expires: Expires = None,
    db: Database = str(DEFAULT_LOG),
) -> None:
    """Give a key a new secret and show it, once; the old one is good no more."""
    need_extra()
    from greedyfirst.service.http.access import hashed, new_key
    from greedyfirst.service.log import access_keys

    key = new_key()
    access_keys.rotate_key(
        existing(db),
        name,
        hashed(key),
        expires=None if expires is None else time.time() + _seconds("expires", expires),
        overlap=0.0 if overlap is None else _seconds("overlap", overlap),
        who=getpass.getuser(),
    )
    typer.echo(key)


@keys.command("list", epilog="Example: [bold]greedyfirst keys list --db trial.db[/bold]")
def list_keys(db: Database = str(DEFAULT_LOG)) -> None:
    """All keys: role, policies, when made, until when good, when last used, and their state."""
    need_extra()
    from greedyfirst.service.log.places import reading

    now = time.time()
    with reading(existing(db)) as log:
        known = log.access_keys()
        typer.echo("name\trole\tpolicies\tmade\texpires\tlast used\tstate")
        for key in known:
            policies = "all" if key.policies is None else ",".join(key.policies)
            times = [_when(at) for at in (key.made, key.expires, key.last_used)]
            typer.echo("\t".join([key.name, key.role, policies, *times, key.state(now)]))


@keys.command("remove", epilog="Example: [bold]greedyfirst keys remove clinic[/bold]")
def remove_key(name: Name, db: Database = str(DEFAULT_LOG)) -> None:
    """Take a key out of use, for ever."""
    need_extra()
    from greedyfirst.service.log import access_keys
    from greedyfirst.service.log.places import reading

    place = existing(db)
    if not access_keys.remove_key(place, name, who=getpass.getuser()):
        raise ValueError(f"there is no key of the name {name!r}")
    with reading(place) as log:
        if not any(key.state(time.time()) == "in use" for key in log.access_keys()):
            typer.echo("no key is in use any more: nobody may do anything until one is added")


def _seconds(option: str, text: str) -> float:
    """A duration as people write it."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise wrong(option, text, "a number with s, m, h, d or w, as in 90d")
    return float(int(found[1]) * _SECONDS[found[2]])


def _when(at: float | None) -> str:
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
