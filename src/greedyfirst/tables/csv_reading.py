"""Files of separated cells as Arrow tables, typed column by column.

Types are guessed from the file's first block and the whole file is then read with types given:
Arrow keeps no text of a column whose type it need not guess, so the peak is the table and a few
blocks. Only if the guess fails are the types of all columns settled by a pass over the whole file.
Whole numbers with leading zeros, such as 007, are text, for 01 is not 1 where they are codes; the
guess sees those in the first block.
"""

from __future__ import annotations

import re
from csv import reader as csv_lines
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from greedyfirst.tables.text_format import TextFormat

BLOCK_BYTES = 4 * 2**20
_TRUTHS = ["true", "True", "TRUE", "false", "False", "FALSE", "1", "0"]  # Arrow's own


@dataclass(frozen=True)
class TextFile:
    """A text file of separated cells; ``compression`` is None or "gzip".

    Without a header, columns are named f0, f1, … .
    """

    path: Path
    format: TextFormat
    compression: str | None
    header: bool = True

    def read(self) -> pa.Table:
        """The table; a file that is not one raises ValueError with the row and column at fault."""
        names = self._names()
        try:
            table = self._read(self._guess())
        except (pa.ArrowInvalid, OSError, UnicodeError):
            types = _settle(self, names)  # says what is wrong, if the text itself is
            table = self._read_settled(types)
        if table.num_rows == 0:
            raise ValueError(f"{self.path} has a header but no rows; add the rows of data")
        self._check_last_quote(table)
        return table

    def copy_to(self, path: Path) -> None:
        """Write the table as an Arrow file, a batch per block of text: bounded memory."""
        names = self._names()
        try:
            self._copy(path, self._guess())
        except (pa.ArrowInvalid, OSError):
            types = _settle(self, names)
            try:
                self._copy(path, types)
            except (pa.ArrowInvalid, OSError) as error:
                raise self.refusal(error, 0, names) from None

    def _copy(self, path: Path, types: dict[str, pa.DataType]) -> None:
        with (
            self.open(types) as rows,
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, rows.schema) as writer,
        ):
            for batch in rows:
                writer.write_batch(batch)

    def stream(self) -> pa.NativeFile:
        """The file's text, decompressed, as UTF-8."""
        stream = pa.input_stream(str(self.path), compression=self.compression)
        if self.format.encoding == "utf-8":
            return stream
        return pa.transcoding_input_stream(stream, self.format.encoding, "utf-8")

    def open(self, types: dict[str, pa.DataType] | None) -> csv.CSVStreamingReader:
        """Batches of rows, one block at a time, so that errors carry row numbers."""
        return csv.open_csv(
            self.stream(),
            read_options=self._read_options(threads=False),
            parse_options=self._parse_options(),
            convert_options=self._convert_options(types),
        )

    def _read_options(self, *, threads: bool) -> csv.ReadOptions:
        return csv.ReadOptions(
            use_threads=threads,
            block_size=BLOCK_BYTES,
            autogenerate_column_names=not self.header,
        )

    def _parse_options(self) -> csv.ParseOptions:
        return csv.ParseOptions(delimiter=self.format.separator, newlines_in_values=True)

    def _convert_options(self, types: dict[str, pa.DataType] | None) -> csv.ConvertOptions:
        return csv.ConvertOptions(
            column_types=types,
            null_values=[*csv.ConvertOptions().null_values, *self.format.na],
            decimal_point=self.format.decimal,
            strings_can_be_null=True,
        )

    def _read(self, types: dict[str, pa.DataType]) -> pa.Table:
        return csv.read_csv(
            self.stream(),
            read_options=self._read_options(threads=True),
            parse_options=self._parse_options(),
            convert_options=self._convert_options(types),
        )

    def _read_settled(self, types: dict[str, pa.DataType]) -> pa.Table:
        try:
            return self._read(types)
        except (pa.ArrowInvalid, OSError, UnicodeError) as error:
            raise self.refusal(error, 0, list(types)) from None

    def _names(self) -> list[str]:
        """The header's names, all different and not empty."""
        try:
            with self.stream() as stream:
                start = stream.read(2 * BLOCK_BYTES).lstrip(b"\xef\xbb\xbf")
        except (OSError, UnicodeError) as error:
            raise self.refusal(error, 0, []) from None
        if not start.strip():
            raise ValueError(f"{self.path} is empty; expected a header and rows of data")
        lines = start.lstrip().splitlines()
        if b"\0" in lines[0] or not _is_utf8(lines[0]):
            raise ValueError(f"the header of {self.path} is not UTF-8 text; {_ENCODING_ADVICE}")
        if self.header and len(lines) == 1 and len(start) < BLOCK_BYTES:
            raise ValueError(f"{self.path} has a header but no rows; add the rows of data")
        if len(lines[0]) >= BLOCK_BYTES:
            raise ValueError(f"{self.path} has a header of more than {_MEGABYTES} MB; shorten it")
        try:
            names = [str(name) for name in self.open(None).schema.names]
        except (pa.ArrowInvalid, OSError, UnicodeError) as error:
            names = _split_header(lines[0], self.format.separator)
            if _settles_nothing(error):
                raise self.refusal(error, 0, names) from None
        check_names(self.path, names)
        return names

    def _guess(self) -> dict[str, pa.DataType]:
        schema = self.open(None).schema
        types = {field.name: _kept(field.type) for field in schema}
        whole = [name for name, kind in types.items() if pa.types.is_integer(kind)]
        first = next(iter(self.open(dict.fromkeys(whole, pa.string()))), None)
        padded = [name for name in whole if first and _is_padded(first.column(name))]
        return types | dict.fromkeys(padded, pa.string())

    def refusal(self, error: Exception, rows: int, names: list[str]) -> ValueError:
        """One sentence for Arrow's ``error`` that came after ``rows`` good rows."""
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        found = re.search(r"Row #(\d+)", text)
        row = int(found[1]) - self.header if found else rows + 1  # Arrow counts the header
        if counts := re.search(r"Expected (\d+) columns, got (\d+)", text):
            return ValueError(
                f"{self.path}: data row {row} has {_cells(int(counts[2]))}, the first line has "
                f"{counts[1]}; correct the row, quote a cell that contains the separator "
                f"{self.format.separator!r}, or give another one (--separator)"
            )
        if "straddl" in text:
            return ValueError(
                f"{self.path}: data row {row} has more than {_MEGABYTES} MB, so no table of "
                "features; shorten its cells or close an open quotation mark"
            )
        if isinstance(error, UnicodeError):
            return ValueError(
                f"{self.path} is not {self.format.encoding} text; name its encoding (--encoding)"
            )
        if "UTF8" in text:
            column = re.search(r"column #(\d+)", text)
            name = f"column {names[int(column[1])]!r}, " if column else ""
            return ValueError(
                f"{self.path}: {name}data row {row} is not UTF-8 text; {_ENCODING_ADVICE}"
            )
        if self.compression and isinstance(error, OSError):
            return ValueError(f"{self.path} is damaged or not a gzip file; compress it again")
        return ValueError(f"{self.path} cannot be read as a table ({text}); correct the file")

    def _check_last_quote(self, table: pa.Table) -> None:
        """A quotation mark left open swallows the rest of the file into the last cell."""
        column = table.column(table.num_columns - 1)
        if not pa.types.is_string(column.type):
            return
        if "\n" not in (column[-1].as_py() or ""):
            return
        tail = b""
        with self.stream() as stream:
            while block := stream.read(BLOCK_BYTES):
                tail = (tail + block)[-BLOCK_BYTES:]
        if not tail.rstrip(b"\r\n \t").endswith(b'"'):
            raise ValueError(
                f"{self.path}: column {table.column_names[-1]!r}, data row {table.num_rows} has a "
                "quotation mark that is never closed; close or remove it"
            )


_MEGABYTES = BLOCK_BYTES // 2**20
_ENCODING_ADVICE = (
    "name its encoding (--encoding cp1252 for most files of Windows programs) or save it as UTF-8"
)


def check_names(path: Path, names: list[str]) -> None:
    """Refuse a table with a nameless column or two columns of one name."""
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise ValueError(
                f"{path}: column {place} has no name; name it in the header or remove it"
            )
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise ValueError(
                f"{path}: columns {first} and {place} are both named {name!r}; rename one of them"
            )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _kept(guessed: pa.DataType) -> pa.DataType:
    """The type to read a column as: numbers and truths as guessed, dates and the rest as text."""
    if pa.types.is_null(guessed):
        return pa.float64()
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return guessed if any(is_kind(guessed) for is_kind in plain) else pa.string()


def _settles_nothing(error: Exception) -> bool:
    """Whether a pass over the file with all columns as text cannot say more about ``error``."""
    return not re.search(r"Expected \d+ columns|straddl|UTF8", str(error))


def _split_header(line: bytes, delimiter: str) -> list[str]:
    return next(csv_lines([line.decode()], delimiter=delimiter))


def _settle(file: TextFile, names: list[str]) -> dict[str, pa.DataType]:
    """The narrowest type that takes every cell, for each column; or the file's first fault."""
    possible = {name: [pa.int64(), pa.float64(), pa.bool_()] for name in names}
    filled: set[str] = set()
    padded: set[str] = set()
    rows = 0
    try:
        for batch in file.open(dict.fromkeys(names, pa.string())):
            for name, cells in zip(names, batch.columns, strict=True):
                possible[name] = [
                    kind for kind in possible[name] if _takes(kind, cells, file.format.decimal)
                ]
                if cells.null_count < len(cells):
                    filled.add(name)
                if _is_padded(cells):
                    padded.add(name)
            rows += batch.num_rows
    except (pa.ArrowInvalid, OSError, UnicodeError) as error:
        raise file.refusal(error, rows, names) from None
    for name in padded:
        if pa.int64() in possible[name]:
            possible[name] = []
    return {
        name: (kinds or [pa.string()])[0] if name in filled else pa.float64()
        for name, kinds in possible.items()
    }


def _is_padded(cells: pa.Array) -> bool:
    """Whether some cell begins with a zero and another digit: a code such as 007, not a number."""
    return bool(pc.any(pc.match_substring_regex(cells, r"^\s*0\d")).as_py())


def _takes(kind: pa.DataType, cells: pa.Array, decimal: str) -> bool:
    trimmed = pc.utf8_trim_whitespace(cells)
    if decimal != "." and pa.types.is_floating(kind):
        if pc.any(pc.match_substring(trimmed, ".")).as_py():
            return False
        trimmed = pc.replace_substring(trimmed, decimal, ".")
    if pa.types.is_boolean(kind):
        known = pc.is_in(trimmed, value_set=pa.array([*_TRUTHS, None], pa.string()))
        return bool(pc.all(known).as_py() is not False)
    try:
        pc.cast(trimmed, kind)
    except pa.ArrowInvalid:
        return False
    return True
