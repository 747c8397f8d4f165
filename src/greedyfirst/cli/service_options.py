"""What the commands of the service share: its extra, and the file of its log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_LOG = Path("greedyfirst.db")
Database = Annotated[Path, typer.Option("--db", help="The file of the log.")]


def need_extra() -> None:
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


def existing(db: Path) -> Path:
    """The file of a log that is there."""
    if not db.is_file():
        raise ValueError(f"there is no log in {db}; greedyfirst serve --db {db} makes one")
    return db
