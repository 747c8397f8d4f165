"""A table from a file: cells separated in text, plain or compressed, Parquet or ARFF."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from greedyfirst.tables.arff_reading import read_arff
from greedyfirst.tables.columns import check_known
from greedyfirst.tables.csv_reading import TextFile, check_names
from greedyfirst.tables.foreign_formats import check_format
from greedyfirst.tables.text_format import START_BYTES, find_format
from greedyfirst.tables.text_numbers import as_numbers
from greedyfirst.validation import wrong

_PARQUET_MAGIC, _GZIP_MAGIC = b"PAR1", b"\x1f\x8b"


def read_table(
    path: str | Path,
    *,
    header: bool = True,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na: Sequence[str] = (),
    numeric: Sequence[str] = (),
    columns: Callable[[list[str]], list[str]] | None = None,
) -> pd.DataFrame:
    r"""The table in a text file of separated cells, a Parquet file or an ARFF file.

    Whole numbers come as int64 (float64 where cells are missing), other numbers as float64,
    true/false as booleans, anything else (dates too) as text, nominal attributes of ARFF as
    categories. Empty cells, NA, NaN, null and their like are missing values. Parquet and gzip are
    known by their content, whatever the file's name.

    Parameters
    ----------
    path
        The file: .csv, .tsv or another text, .parquet or .arff; text and ARFF also with .gz.
    header
        Whether the first line has the columns' names; without it they are f0, f1, … .
    separator, encoding, decimal
        How the text is written. None: ',' in .csv and tabs in .tsv, UTF-8 and points, or what the
        first lines show without doubt; a :class:`TableNote` then says what was assumed.
    na
        Cells that mean missing as well, such as "?" or "-999"; numbers are compared as numbers.
    numeric
        Columns of text to read as numbers: amounts ("$1,200.50"), percentages ("12 %" is 12) and
        dates (days since 1970-01-01).
    columns
        Of a Parquet file only those columns are read that this function takes of all names.

    Raises
    ------
    ValueError
        For a file that is no table: one sentence with the file, where possible the column and
        row, and what to do. Data rows are counted from 1; blank lines and the header are not
        counted.

    Notes
    -----
    At the peak a table of numbers takes about twice its size.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greedyfirst.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     _ = path.write_text("age,dose\n30,low\n50,high\n")
    ...     frame = read_table(path)
    >>> frame["age"].tolist(), frame["dose"].tolist()
    ([30, 50], ['low', 'high'])
    """
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{file} is a directory; give the path of one file")
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; check the path")
    missing = _check_texts("na", na)
    magic, packed = _first_bytes(file)
    if magic == _PARQUET_MAGIC or file.suffix.lower() == ".parquet":
        _check_left_out("a Parquet file", separator=separator, encoding=encoding)
        frame = _as_frame(file, _read_parquet(file, magic, columns))
    elif file.name.lower().endswith((".arff", ".arff.gz")):
        _check_left_out("an ARFF file", separator=separator)
        frame = read_arff(file, encoding=encoding or "utf-8", compressed=packed)
    else:
        text = text_file(
            file, header=header, separator=separator, encoding=encoding, decimal=decimal, na=missing
        )
        frame = _as_frame(file, text.read())
        found = text.format.decimal
        decimal = decimal or (found if found != "." else None)
    _mark_missing(frame, missing)
    for name in _check_texts("numeric", numeric):
        check_known("numeric (--numeric)", name, [str(each) for each in frame.columns])
        frame[name] = as_numbers(name, frame[name], decimal=decimal)
    return frame


def text_file(
    path: Path,
    *,
    header: bool = True,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na: tuple[str, ...] = (),
) -> TextFile:
    """A file of separated cells, with how it is written: as given, else as its lines show."""
    magic, packed = _first_bytes(path)
    check_format(path, magic)
    found = find_format(
        path,
        _start(path, packed),
        separator=separator,
        encoding=encoding,
        decimal=decimal,
        na=na,
    )
    return TextFile(path, found, "gzip" if packed else None, header)


def _first_bytes(path: Path) -> tuple[bytes, bool]:
    """What a file begins with, and whether it is packed by gzip."""
    with open(path, "rb") as opened:
        magic = opened.read(len(_PARQUET_MAGIC))
    return magic, magic.startswith(_GZIP_MAGIC) or path.suffix.lower() == ".gz"


def _check_left_out(kind: str, **options: str | None) -> None:
    for option, given in options.items():
        if given is not None:
            raise wrong(f"{option} (--{option})", given, f"left out for {kind}")


def _check_texts(argument: str, value: Sequence[str]) -> tuple[str, ...]:
    texts = () if isinstance(value, str) else tuple(value)
    if isinstance(value, str) or not all(isinstance(text, str) for text in texts):
        raise wrong(argument, value, "a list of texts")
    return texts


def _start(path: Path, packed: bool) -> bytes:
    """The first bytes of a file's text."""
    try:
        with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
            return bytes(stream.read(START_BYTES))
    except OSError:
        if not packed:
            raise
        raise ValueError(f"{path} is damaged or not a gzip file; compress it again") from None


def _mark_missing(frame: pd.DataFrame, texts: tuple[str, ...]) -> None:
    """Make cells missing that are one of ``texts``, or of the numbers among them."""
    numbers = [number for text in texts if not np.isnan(number := _number(text))]
    for name in frame.columns if texts else ():
        column = frame[name]
        if column.dtype.kind in "fiu":
            found = column.isin(numbers)
        elif pd.api.types.is_bool_dtype(column.dtype):
            continue
        else:
            found = column.isin(texts)
        if found.any():
            frame[name] = column.mask(found)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


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
