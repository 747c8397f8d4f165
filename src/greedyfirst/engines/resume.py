"""Finished blocks on disk, so that a run which was cut off goes on from them.

A task has a folder of its own in the directory, named by the fingerprint of all that its results
follow from: the data, the code, the versions. So one directory can serve several runs, and what
another run left there is never taken for this one's. A file has one block, sealed by a hash.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from greedyfirst.engines.engine import Arrays, Engine, Results, Task
from greedyfirst.engines.fingerprint import fingerprint
from greedyfirst.engines.software import software
from greedyfirst.files import data_file
from greedyfirst.validation import wrong

KIND = "block"
#: Folders that this process has gone on from, or made.
_USED: set[Path] = set()


class Resumed:
    """An engine that keeps what another one makes, and makes only what is missing."""

    def __init__(self, engine: Engine, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "it is a file" if directory.is_file() else error.strerror
            expected = f"a directory, which is made if it is not there ({why})"
            raise wrong("resume", str(directory), expected) from None
        self.engine, self.directory = engine, directory

    def run(self, task: Task, blocks: Sequence[range]) -> Results:
        """Places and results: those on disk, in their order, and others as they come."""
        key = fingerprint("resume", (task, software()))
        folder = self._folder(f"run-{key[:20]}")
        missing = []
        for place, block in enumerate(blocks):
            found = _read(_file(folder, block), key, block)
            if found is None:
                missing.append(place)
            else:
                yield place, found
        if not missing:
            return
        made = self.engine.run(task, [blocks[place] for place in missing])
        with closing(made) as results:
            for number, arrays in results:
                place = missing[number]
                block = blocks[place]
                data_file.write(_file(folder, block), KIND, _header(key, block), dict(arrays))
                yield place, arrays

    def _folder(self, name: str) -> Path:
        """The task's own folder; a directory in which only others have one may be the wrong one."""
        folder = self.directory / name
        others = set(self.directory.glob("run-*"))
        if not folder.exists() and others and not others & _USED:
            warnings.warn(
                f"{self.directory} has blocks of other runs only (other settings, data or "
                "versions): this one starts from nothing",
                stacklevel=2,
            )
        folder.mkdir(exist_ok=True)
        _USED.add(folder)
        return folder


def _file(folder: Path, block: range) -> Path:
    return folder / f"{block.start}-{block.stop}.gf"


def _header(key: str, block: range) -> dict[str, object]:
    return {"run": key, "first": block.start, "stop": block.stop}


def _read(path: Path, key: str, block: range) -> Arrays | None:
    """A block from its file; None if there is none, or not a whole one of this run."""
    if not path.exists():
        return None
    try:
        header, arrays = data_file.read(path, KIND)
        if header == _header(key, block):
            return arrays
        reason = f"{path} is of another run or block"
    except ValueError as error:
        reason = str(error)
    warnings.warn(f"{reason}; the block is made again", stacklevel=2)
    return None
