"""A table from a file: comma- or tab-separated text, plain or compressed, or Parquet."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from greedyfirst.tables.csv_reading import TextFile, check_names

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET_MAGIC = b"PAR1"


def read_table(
    path: str | Path,
    *,
    header: bool = True,
    columns: Callable[[list[str]], list[str]] | None = None,
) -> pd.DataFrame:
    """The table in a .csv, .csv.gz, .tsv, .tsv.gz or .parquet file.

    Whole numbers come as int64 (float64 where cells are missing), other numbers as float64,
    true/false as booleans, anything else (dates too) as text. Empty cells, NA, NaN, null and their
    like are missing values. A Parquet file is known by its content, whatever its name. A text
    file whose first line is data is read with ``header=False``: columns are then f0, f1, … .
    Of a Parquet file only those ``columns`` are read that the function takes of all names.

    A file that is no table raises ValueError: one sentence with the file, where possible the
    column and row, and what to do. Data rows are counted from 1; blank lines and the header are not
    counted. At the peak a table of numbers takes about twice its size.
    """
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{file} is a directory; give the path of one file")
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; check the path")
    with open(file, "rb") as opened:
        magic = opened.read(len(_PARQUET_MAGIC))
    if magic == _PARQUET_MAGIC or file.suffix.lower() == ".parquet":
        return _as_frame(file, _read_parquet(file, magic, columns))
    return _as_frame(file, text_file(file, header=header).read())


def text_file(path: Path, *, header: bool = True) -> TextFile:
    """A file of text by its ending, which says what is between cells."""
    name = path.name.lower()
    compression = "gzip" if name.endswith(".gz") else None
    separator = _SEPARATORS.get(Path(name.removesuffix(".gz")).suffix)
    if separator is None:
        raise ValueError(
            f"{path} has no ending that is known; name it .csv, .csv.gz, .tsv, .tsv.gz or .parquet"
        )
    return TextFile(path, separator, compression, header)


def _read_parquet(
    path: Path, magic: bytes, columns: Callable[[list[str]], list[str]] | None
) -> pa.Table:
    if not magic:
        raise ValueError(f"{path} is empty; expected a Parquet file")
    if magic != _PARQUET_MAGIC:
        raise ValueError(f"{path} is not a Parquet file; give it the ending of what it is")
    try:
        with pq.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            check_names(path, names)
            kept = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
            table = file.read(columns=kept if columns is None else columns(kept))
    except (pa.ArrowException, OSError):
        raise ValueError(f"{path} is a damaged Parquet file; write it again") from None
    if table.num_rows == 0:
        raise ValueError(f"{path} has columns but no rows; add the rows of data")
    fields = [pa.field(field.name, _plain(path, field)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain(path: Path, field: pa.Field) -> pa.DataType:
    """The type of a Parquet column as a frame takes it without Python objects."""
    kind = field.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise ValueError(
            f"{path}: column {field.name!r} holds {kind}; expected numbers, text or true/false"
        )
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return pa.float64()
    return pa.string() if pa.types.is_temporal(kind) else kind


def _as_frame(path: Path, table: pa.Table) -> pd.DataFrame:
    """The table as a frame; Arrow's memory is given back, each column's once it is converted."""
    try:
        frame: pd.DataFrame = table.to_pandas(
            split_blocks=True,
            self_destruct=True,
            ignore_metadata=True,
            types_mapper={pa.bool_(): pd.BooleanDtype()}.get,
        )
    except pa.ArrowException as error:
        text = str(error).splitlines()[0]
        raise ValueError(f"{path} cannot be made a frame ({text}); change its types") from None
    pa.default_memory_pool().release_unused()
    return frame
