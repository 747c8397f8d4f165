"""`greedyfirst protocol`: what is laid down before the first decision, and its hash."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greedyfirst.cli.application import app
from greedyfirst.cli.service_options import need_extra


@app.command(epilog="Example: [bold]greedyfirst protocol trial.json[/bold]")
def protocol(
    specification: Annotated[
        Path, typer.Argument(help="The specification as JSON, as POST /v1/policies takes it.")
    ],
    json: Annotated[
        bool, typer.Option("--json", help="The document that is hashed, and nothing else.")
    ] = False,
) -> None:
    """Show a specification in plain words with its hash: the one that the service will show."""
    need_extra()
    from greedyfirst.service.errors import RequestError
    from greedyfirst.service.http.bodies import parse
    from greedyfirst.service.state.protocol import planned
    from greedyfirst.service.state.specification import Specification

    try:
        document = planned(parse(specification.read_bytes(), Specification))
    except RequestError as error:
        raise ValueError(f"{specification}: {error.sentence}") from None
    if json:
        typer.echo(document.canonical, nl=False)
        return
    typer.echo(f"Protocol of {document.policy}\n")
    for line in document.words:
        typer.echo(f"{line.term}: {line.text}")
    typer.echo(f"\nSHA-256 {document.sha256}")
