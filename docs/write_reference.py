"""Writes the reference pages that follow from the program: its commands and its HTTP interface.

python docs/write_reference.py
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from greedyfirst.cli import app
from greedyfirst.service.dashboard.reference import Field, chapters
from greedyfirst.service.http.access import Access
from greedyfirst.service.http.application import make_application
from greedyfirst.service.http.openapi import document_of
from greedyfirst.service.service import DecisionService

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[Path, str]:
    """The text of each page, by its file."""
    return {
        FOLDER / "command-line.md": "\n".join(command_line()) + "\n",
        FOLDER / "http.md": "\n".join(http_interface()) + "\n",
    }


# ------------------------------------------------------------------------------------- commands


def command_line() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield "# Command line"
    yield ""
    yield "`greedyfirst COMMAND --help` prints the same. A mistake ends with one sentence and exit"
    yield "code 2; Ctrl-C ends with 130."
    yield from _commands(get_command(app), "greedyfirst", level=2)


def _commands(command: Any, name: str, level: int) -> Iterator[str]:
    for key, inner in getattr(command, "commands", {}).items():
        if inner.hidden:
            continue
        title = f"{name} {key}"
        yield from ["", f"{'#' * level} `{title}`", "", _sentences(inner.help)]
        if hasattr(inner, "commands"):
            yield from _commands(inner, title, level + 1)
            continue
        yield from ["", "```text", _usage(title, inner), "```", ""]
        yield from _parameters(inner)
        if inner.epilog:
            yield from ["", _sentences(inner.epilog)]


def _usage(title: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = [_metavar(each) if each.required else f"[{_metavar(each)}]" for each in arguments]
    return " ".join([title, "[OPTIONS]", *words])


def _metavar(argument: Any) -> str:
    return (argument.metavar or argument.name.upper()) + ("..." if argument.nargs == -1 else "")


def _parameters(command: Any) -> Iterator[str]:
    yield "| | default | |"
    yield "|---|---|---|"
    for each in command.params:
        if getattr(each, "hidden", False) or each.name == "help":
            continue
        if each.param_type_name == "argument":
            names = f"`{_metavar(each)}`"
        else:
            names = ", ".join(f"`{name}`" for name in [*each.opts, *each.secondary_opts])
        yield f"| {names} | {_default(each)} | {_cell(each.help or '')} |"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "needed"
    value = parameter.default
    if value is None or value is False or callable(value) or value == ():
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`"
    return f"`{value}`"


def _sentences(text: str | None) -> str:
    """Help as Markdown: rich's marks become code or bold."""
    plain = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text or "")
    paragraphs = [" ".join(part.split()) for part in plain.split("\n\n")]
    return "\n\n".join(paragraphs)


def _cell(text: str) -> str:
    return _sentences(text).replace("|", "\\|").replace("\n\n", " ")


# ------------------------------------------------------------------------------- HTTP interface


def document() -> dict[str, Any]:
    """The OpenAPI document of a service that has not been started."""

    def no_log() -> Any:
        raise RuntimeError("this service is not started")

    return document_of(make_application(DecisionService(no_log), access=Access(list)))


def http_interface() -> Iterator[str]:
    """Every operation and every shape."""
    described = document()
    known = chapters(described)
    yield "# HTTP interface"
    yield ""
    yield "A running service has the same for people at `/docs`, for programs at `/openapi.json`."
    yield "Every request carries the header `Authorization: Bearer KEY`, once the log has keys."
    yield "A refusal is a [`Problem`](#problem) with a status of 4xx or 503."
    yield ""
    yield "Clients for other languages can be generated from `/openapi.json`: operations have the"
    yield "names below. `Idempotency-Key` lets a request be sent again without being counted twice."
    yield ""
    yield "| operation | | |"
    yield "|---|---|---|"
    for each in known["operations"]:
        yield f"| [`{each.anchor}`](#{_anchor(each.anchor)}) | `{each.method}` | `{each.path}` |"
    yield from ["", "## Operations"]
    for each in known["operations"]:
        yield from ["", f"({_anchor(each.anchor)})=", f"### `{each.anchor}`", ""]
        yield from [f"`{each.method} {each.path}`", "", each.text]
        yield from _fields([*each.parameters, *each.fields])
        if each.curl:
            yield from ["", "```text", *each.curl.splitlines(), "```"]
            yield from ["", "The body:", "", "```json", *each.example.splitlines(), "```"]
        answers = ", ".join(f"{status}: {_shape(kind, known)}" for status, kind in each.answers)
        yield from ["", f"Answers {answers}."]
    yield from ["", "## Shapes"]
    for shape in known["shapes"]:
        yield from ["", f"({shape.name.lower()})=", f"### `{shape.name}`", "", shape.text]
        yield from _fields(shape.fields)


def _anchor(operation: str) -> str:
    return "operation-" + operation.replace("_", "-")


def _shape(kind: str, known: dict[str, Any]) -> str:
    name = kind.removeprefix("list of ")
    if name not in {shape.name for shape in known["shapes"]}:
        return kind
    return f"{kind.removesuffix(name)}[`{name}`](#{name.lower()})"


def _fields(fields: list[Field]) -> Iterator[str]:
    if not fields:
        return
    yield from ["", "| field | | needed | |", "|---|---|---|---|"]
    for each in fields:
        needed = "yes" if each.needed else ""
        yield f"| `{each.name}` | {_cell(each.kind)} | {needed} | {_cell(each.text)} |"


def main() -> None:
    """Write the pages."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for path, text in pages().items():
        path.write_text(text)
        print(path)


if __name__ == "__main__":
    main()
