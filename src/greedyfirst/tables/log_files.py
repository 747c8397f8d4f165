"""Logs of any size as shards: row groups of Parquet files, record batches of Arrow files.

A shard is a short description, so that any process that sees the files can read it. Text (CSV, TSV)
has no such parts: it is first copied, batch by batch, to a temporary Arrow file.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from greedyfirst.tables.csv_reading import check_names
from greedyfirst.tables.reading import text_file
from greedyfirst.validation import wrong

#: Of a column of Parquet, read at a time.
BUFFER_BYTES = 2**18
PARQUET, ARROW = "row group", "record batch"
_PARQUET_ENDINGS, _ARROW_ENDINGS = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
_TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_KNOWN = (*_PARQUET_ENDINGS, *_ARROW_ENDINGS, *_TEXT_ENDINGS)


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A part of a file that is read by itself."""

    #: The whole path: other processes may have another working directory.
    path: str
    #: ``PARQUET`` or ``ARROW``, and the part's number in the file, from 0.
    kind: str
    number: int
    rows: int
    #: The file as the user named it, and whether ``path`` is a temporary copy of it: so for text.
    source: str
    is_copy: bool
    #: Of the file, when the log was opened.
    bytes: int

    @property
    def name(self) -> str:
        """As errors call it."""
        return self.source if self.is_copy else f"{self.source}, {self.kind} {self.number}"

    def check_file(self) -> None:
        """Refuse another file than the one that was opened, maybe by another process."""
        path = Path(self.path)
        found = path.stat().st_size if path.is_file() else None
        if found == self.bytes:
            return
        host = platform.node()
        if found is not None:
            raise ValueError(
                f"{self.path} has {found} bytes on {host}, and had {self.bytes} when the log was "
                "opened; let nobody write to a log that is being read"
            )
        if self.is_copy:
            raise ValueError(
                f"{host} has no {self.path}, a temporary copy of {self.source}; text is copied, so "
                "for workers on other machines write the log as Parquet where all of them see it"
            )
        raise ValueError(
            f"{host} has no {self.path}; the log must be where all that read it see it, under the "
            "same path"
        )


@dataclass(frozen=True, kw_only=True)
class LogFiles:
    """The shards of a log in their order, and the columns that all its files have."""

    shards: Sequence[Shard]
    schema: pa.Schema

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(shard.rows for shard in self.shards)


@contextmanager
def open_log(source: Any) -> Iterator[LogFiles]:
    """The shards of a file, a folder, several of these, or a ``pyarrow.dataset`` of files.

    A log that is open already stays so.
    """
    if isinstance(source, LogFiles):
        yield source
        return
    paths = _paths(source)
    with TemporaryDirectory(prefix="greedyfirst-") as folder:
        shards: list[Shard] = []
        schemas: dict[str, pa.Schema] = {}
        for number, path in enumerate(paths):
            found, schemas[str(path)] = _shards(path, Path(folder) / f"{number}.arrow")
            shards += found
        if not any(shard.rows for shard in shards):
            raise ValueError(f"{_listed(paths)} has no rows; expected at least one")
        yield LogFiles(
            shards=[shard for shard in shards if shard.rows], schema=_common_schema(schemas)
        )


def batches(shard: Shard, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The shard's columns, so many ``rows`` at a time; only the last batch has fewer."""
    shard.check_file()
    try:
        if shard.kind == PARQUET:
            # Not the whole row group at once, as by default.
            options = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
            with pq.ParquetFile(shard.path, **options) as file:
                yield from file.iter_batches(
                    rows, row_groups=[shard.number], columns=[*columns], use_threads=False
                )
            return
        with pa.OSFile(shard.path) as opened, pa.ipc.open_file(opened) as file:
            batch = file.get_batch(shard.number).select([*columns])
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)
    except (pa.ArrowException, OSError) as error:
        text = str(error).splitlines()[0]
        raise ValueError(f"{shard.name} cannot be read ({text}); write the file again") from None


def _paths(source: Any) -> list[Path]:
    """The files, those of a folder by name."""
    files = getattr(source, "files", None)
    if isinstance(source, (str, Path)):
        given: Iterable[Any] = [source]
    elif isinstance(files, list):
        _check_dataset(source)
        given = files
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        given = source
    else:
        raise wrong("dataset", source, "a path, several paths or a pyarrow.dataset of files")
    paths: list[Path] = []
    for each in given:
        if not isinstance(each, (str, Path)):
            raise wrong("dataset", each, "a path, several paths or a pyarrow.dataset of files")
        path = Path(each)
        if not str(each) or not path.exists():
            raise FileNotFoundError(f"{str(each) or repr(each)} does not exist; check the path")
        paths += _in_folder(path) if path.is_dir() else [path]
    if not paths:
        raise wrong("dataset", source, "at least one file")
    whole = [path.resolve() for path in paths]
    for place, path in enumerate(paths):
        if whole[place] in whole[:place]:
            raise ValueError(f"{path} is given twice; give each file of a log once")
    return paths


def _check_dataset(dataset: Any) -> None:
    """Refuse a ``pyarrow.dataset`` that is more than its files."""
    if not isinstance(dataset.filesystem, LocalFileSystem):
        raise wrong("dataset", dataset, "one of files on a disk of this machine")
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        expected = "one without a filter; write what is wanted to a file"
        raise wrong("dataset", dataset, expected) from None
    everything = pc.scalar(True)
    if not all(each.partition_expression.equals(everything) for each in fragments):
        raise wrong(
            "dataset", dataset, "one whose columns are all in its files, without partitions"
        )


def _in_folder(folder: Path) -> list[Path]:
    """All tables below a folder, in the order of their names."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name.lower().endswith(_KNOWN)
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )
    if not found:
        raise ValueError(f"{folder} has no file that ends in {', '.join(_KNOWN)}")
    for path in found:
        for part in path.relative_to(folder).parts[:-1]:
            if "=" in part:
                raise ValueError(
                    f"{path} is in a folder {part!r}, whose value is no column of the file; write "
                    "it into the files as a column"
                )
    return found


def _shards(path: Path, copy: Path) -> tuple[list[Shard], pa.Schema]:
    """The shards of one file and its columns; text goes to ``copy`` first."""
    name = path.name.lower()
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; expected a table")
    if name.endswith(_TEXT_ENDINGS):
        text_file(path).copy_to(copy)
        return _arrow_shards(copy, path)
    try:
        if name.endswith(_ARROW_ENDINGS):
            return _arrow_shards(path, path)
        if not name.endswith(_PARQUET_ENDINGS):
            raise ValueError(f"{path} has no ending that is known; name it {', '.join(_KNOWN)}")
        with pq.ParquetFile(path) as file:
            counts = [
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            ]
            schema = file.schema_arrow
    except (pa.ArrowException, OSError):
        raise ValueError(f"{path} is damaged or not what its ending says; write it again") from None
    return _shards_of(path, path, PARQUET, counts), schema


def _arrow_shards(path: Path, source: Path) -> tuple[list[Shard], pa.Schema]:
    with pa.memory_map(str(path)) as opened, pa.ipc.open_file(opened) as file:
        counts = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
        return _shards_of(path, source, ARROW, counts), file.schema


def _shards_of(path: Path, source: Path, kind: str, counts: Sequence[int]) -> list[Shard]:
    """The parts of a file that have so many rows each."""
    return [
        Shard(
            path=str(path.absolute()),
            kind=kind,
            number=number,
            rows=rows,
            source=str(source),
            is_copy=path != source,
            bytes=path.stat().st_size,
        )
        for number, rows in enumerate(counts)
    ]


def _common_schema(schemas: dict[str, pa.Schema]) -> pa.Schema:
    """The first file's columns, which all others must have, of the same kinds."""
    (first, common), *others = schemas.items()
    check_names(Path(first), list(common.names))
    for path, schema in others:
        for field in common:
            if field.name not in schema.names:
                raise ValueError(
                    f"{path} has no column {field.name!r}, which {first} has; all files of a log "
                    "must have the same columns"
                )
            kind, other = _kind(field.type), _kind(schema.field(field.name).type)
            if kind != other:
                raise ValueError(
                    f"column {field.name!r} holds {other} in {path} and {kind} in {first}; all "
                    "files of a log must have the same columns"
                )
    return common


def _kind(kind: pa.DataType) -> str:
    """Types that a log may mix are of one kind."""
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if is_number(kind):
        return "numbers"
    return "text" if is_text(kind) else str(kind)


def is_amount(kind: pa.DataType) -> bool:
    """Whether a column of this type can be taken as numbers: true is 1, false is 0."""
    return is_number(kind) or pa.types.is_boolean(kind)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers; one without any values does."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _listed(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"a log of {len(paths)} files"
