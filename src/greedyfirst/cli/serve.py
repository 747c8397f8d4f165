"""`greedyfirst serve`: the decision service."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import DEFAULT_LOG, need_extra


@app.command(
    epilog="Examples: [bold]greedyfirst serve --db trial.db[/bold], "
    "[bold]greedyfirst serve --demo[/bold]"
)
def serve(
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            help="The log: a file, or postgresql://USER@HOST/DATABASE for several services.",
            show_default=str(DEFAULT_LOG),
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; other than loopback needs keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name by which requests may call this service; needs keys."),
    ] = None,
    per_second: Annotated[float, typer.Option(help="Requests a client may send.")] = 20_000.0,
    longest_pause: Annotated[
        float,
        typer.Option(help="Days: after a longer pause a person is asked before waits end by it."),
    ] = 7.0,
    connections: Annotated[
        int, typer.Option(help="Connections that may be open; of many, idle ones are closed.")
    ] = 4096,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a proxy, whose X-Forwarded headers are believed."),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Write a line for every request, decisions too.")
    ] = False,
    log_format: Annotated[str, typer.Option(help="Lines for people or programs: text, json.")] = (
        "text"
    ),
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    anchor: Annotated[
        Path | None,
        typer.Option(help="A file to note the log's last entry in, every hour; keep it elsewhere."),
    ] = None,
    anchor_key: Annotated[
        Path | None, typer.Option(help="A file with the secret that signs those notes.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="With PostgreSQL: where other services reach this one, http://HOST:PORT."
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a simulated dosing trial; without --db it is gone when the service ends.",
        ),
    ] = False,
) -> None:
    """Serve decisions over HTTP, each on disk before it is answered."""
    need_extra()
    from greedyfirst.service import logs
    from greedyfirst.service.log.places import place_of
    from greedyfirst.service.server import check_address
    from greedyfirst.service.server import serve as run

    with ExitStack() as until_it_ends:
        until_it_ends.enter_context(logs.written(form=log_format, level=log_level))
        here = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if demo:
            from greedyfirst.service.demo import SPECIFICATION, simulate_trial

            check_address(host, port)
            if db is None:
                folder = until_it_ends.enter_context(TemporaryDirectory())
                db = str(Path(folder, "demo.db"))
            trial = place_of(db)
            if not isinstance(trial, Path):
                raise ValueError("the demo is written to a file; give --db the path of one")
            typer.echo("simulating a dosing trial; this takes a few seconds")
            simulate_trial(trial)
            typer.echo(f"open {here}/policies/{SPECIFICATION.name}")
        db = db or str(DEFAULT_LOG)
        place = place_of(db)
        run(
            db,
            host=host,
            port=port,
            names=tuple(name or ()),
            per_second=per_second,
            longest_pause=longest_pause * 86_400.0,
            connections=connections,
            proxies=tuple(proxy or ()),
            access_log=access_log,
            anchor=anchor,
            anchor_key=anchor_key,
            address=address,
            ready=lambda: typer.echo(f"greedyfirst serves {place} at {here} (Ctrl-C ends it)"),
        )
