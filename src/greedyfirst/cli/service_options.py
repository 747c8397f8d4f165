"""What the commands of the service share: its extra, and where its log is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

DEFAULT_LOG = Path("greedyfirst.db")
_WHERE = "The log: a file, or postgresql://USER@HOST/DATABASE."
Database = Annotated[str, typer.Option("--db", help=_WHERE)]
LogArgument = Annotated[str, typer.Argument(help=_WHERE)]


def need_extra() -> None:
    """Say how to install what the service needs."""
    try:
        import apsw  # noqa: F401
        import granian  # noqa: F401
        import litestar  # noqa: F401
        import threadpoolctl  # noqa: F401
        import uvloop  # noqa: F401
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed; the service needs: pip install 'greedyfirst[serve]'"
        ) from None


def existing(db: str | Path) -> Path | PostgresUrl:
    """Where a log is that is there."""
    from greedyfirst.service.log.places import place_of

    place = place_of(db)
    if isinstance(place, Path) and not place.is_file():
        raise ValueError(f"there is no log in {db}; greedyfirst serve --db {db} makes one")
    return place


def existing_file(db: str | Path) -> Path:
    """The file of a log that is there; PostgreSQL has its own means."""
    return file_only(existing(db))


def file_only(place: Path | PostgresUrl) -> Path:
    """Refuse what is only for files."""
    if not isinstance(place, Path):
        raise ValueError(
            f"{place} is not a file: a log in PostgreSQL is backed up by pg_dump, put back by "
            "pg_restore; greedyfirst log copy copies it to a file, or a file to it"
        )
    return place
