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
        Path | None,
        typer.Option("--db", help="The file of the log.", show_default=str(DEFAULT_LOG)),
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
    anchor: Annotated[
        Path | None,
        typer.Option(help="A file to note the log's last entry in, every hour; keep it elsewhere."),
    ] = None,
    anchor_key: Annotated[
        Path | None, typer.Option(help="A file with the secret that signs those notes.")
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
        db = db or DEFAULT_LOG
        run(
            db,
            host=host,
            port=port,
            names=tuple(name or ()),
            per_second=per_second,
            anchor=anchor,
            anchor_key=anchor_key,
            ready=lambda: typer.echo(f"greedyfirst serves {db} at {address} (Ctrl-C ends it)"),
        )
