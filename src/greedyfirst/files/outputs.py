"""Where a command's files go: a directory made before the work, in which nothing is overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def check_free(paths: Sequence[Path], *, force: bool) -> None:
    """Refuse to overwrite a file that is there, unless ``force`` says so."""
    there = [path for path in paths if path.exists()]
    if there and not force:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise ValueError(
            f"{there[0]} is there already{more}; write elsewhere, or overwrite it (--force)"
        )


@contextmanager
def output_directory(directory: Path, names: Sequence[str], *, force: bool) -> Iterator[None]:
    """A directory for files of these ``names``, made and checked before the work.

    Where the work comes to nothing, directories that were made for it go again.
    """
    check_free([directory / name for name in names], force=force)
    above = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in above:
            if not any(path.iterdir()):
                path.rmdir()
        raise
