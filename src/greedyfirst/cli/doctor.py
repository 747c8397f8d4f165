"""`greedyfirst doctor`: what this installation stands on, and what is wrong with it."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from greedyfirst.cli.application import app
from greedyfirst.version import __version__

#: Extras that users install; the others are for work on the package itself.
EXTRAS = ("serve", "data")
PROBLEMS_FOUND = 1


@app.command(epilog="Example: [bold]greedyfirst doctor --json[/bold]")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Is everything here that greedyfirst needs: versions, caches, extras, rights to write?

    Ends with 0 if all is well, with 1 if something is wrong. A missing extra is not wrong.
    """
    found = examine()
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))
    if found["problems"]:
        raise typer.Exit(PROBLEMS_FOUND)


def examine() -> dict[str, Any]:
    """What there is, as plain data; ``problems`` are sentences."""
    needed, extras = _requirements()
    versions = {name: _version(name) for name in needed}
    missing = {
        extra: [name for name in names if _version(name) is None] for extra, names in extras.items()
    }
    cache, temporary = _cache(), tempfile.gettempdir()
    problems = [
        f"{name} is missing: pip install greedyfirst installs it"
        for name, version in versions.items()
        if version is None
    ]
    if cache["place"] is None:
        problems.append(
            "compiled code cannot be kept, so that each start compiles again: set NUMBA_CACHE_DIR "
            "to a directory that only you can write to"
        )
    if not os.access(temporary, os.W_OK):
        problems.append(f"{temporary} is not writable: set TMPDIR to a directory that is")
    return {
        "greedyfirst": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "versions": versions,
        "missing_extras": {extra: names for extra, names in missing.items() if names},
        "cache": cache,
        "writable": {
            place: os.access(place, os.W_OK) for place in (str(Path.cwd()), str(temporary))
        },
        "compiles": os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"),
        "problems": problems,
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The distributions that are always needed, and those of each extra."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {extra: [] for extra in EXTRAS}
    for requirement in metadata.requires("greedyfirst") or ():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if extra is None:
            needed.append(name)
        elif extra[1] in extras:
            extras[extra[1]].append(name)
    return needed, extras


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    """Where compiled code is kept, and how much of it there is."""
    try:
        from greedyfirst.compiling.cache import kernel_home
    except ImportError:  # numba is missing, and named as such
        return {"place": None, "megabytes": 0.0, "entries": 0}
    place = kernel_home()
    if place is None:
        return {"place": None, "megabytes": 0.0, "entries": 0}
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    return {
        "place": str(place),
        "megabytes": round(sum(sizes) / 1e6, 1),
        "entries": sum(1 for path in place.iterdir() if path.is_dir()),
    }


def _lines(found: dict[str, Any]) -> list[str]:
    cache = found["cache"]
    where = "nowhere" if cache["place"] is None else cache["place"]
    rows = [
        ("greedyfirst", found["greedyfirst"]),
        ("Python", f"{found['python']}, {sys.executable}"),
        ("platform", found["platform"]),
        ("processors", found["processors"]),
        *((name, version or "MISSING") for name, version in found["versions"].items()),
        ("compiled code", f"{where}, {cache['entries']} entries, {cache['megabytes']} MB"),
        *(
            (f"write to {place}", "yes" if may else "NO")
            for place, may in found["writable"].items()
        ),
    ]
    for extra, names in found["missing_extras"].items():
        rows.append(
            (f"extra {extra}", f"without {', '.join(names)}: pip install greedyfirst[{extra}]")
        )
    if not found["compiles"]:
        rows.append(("compiling", "off: NUMBA_DISABLE_JIT is set, decisions are slow"))
    width = max(len(name) for name, _ in rows) + 2
    verdict = [f"wrong: {problem}" for problem in found["problems"]] or ["all is well"]
    return [*(f"{name:<{width}}{value}" for name, value in rows), "", *verdict]
