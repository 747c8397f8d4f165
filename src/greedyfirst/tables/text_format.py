"""How a text file is written: what separates its cells, its encoding, its decimal mark.

What is not given is taken from the file's first lines where they leave no doubt, and a note says
so. Where they leave a doubt nothing is assumed: what fails then names the option.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from greedyfirst.tables.findings import note
from greedyfirst.validation import wrong

#: Bytes of the file that are looked at.
START_BYTES = 2**18
_BY_ENDING = {".csv": ",", ".tsv": "\t"}
_CANDIDATES = (";", "\t", "|", ",")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
_LINES = 50  # that must agree on the number of cells
_COMMA_NUMBER, _POINT_NUMBER = r"[+-]?\d+,\d+", r"[+-]?\d+\.\d+"
_NOT_OF_FILES = {"idna", "punycode", "unicode-escape", "raw-unicode-escape"}  # but of single words
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class TextFormat:
    """How to read a text file; ``na`` are cells that mean missing, beside the usual ones."""

    separator: str
    encoding: str = "utf-8"
    decimal: str = "."
    na: tuple[str, ...] = ()


def find_format(
    path: Path,
    start: bytes,
    *,
    separator: str | None,
    encoding: str | None,
    decimal: str | None,
    na: tuple[str, ...],
) -> TextFormat:
    """The format of the file that begins with ``start``: as given, else as its lines show."""
    if decimal not in (None, ".", ","):
        raise wrong("decimal (--decimal)", decimal, "'.' or ','")
    encoding = _check_encoding(encoding) if encoding else _found_encoding(path, start)
    text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    if len(start) >= START_BYTES:
        text = text[: text.rfind("\n") + 1]  # the last line may be half of one
    separator = _check_separator(separator) if separator else _found_separator(path, text)
    if decimal is None:
        decimal = _found_decimal(path, text, separator)
    return TextFormat(separator, encoding, decimal, na)


def _check_separator(given: str) -> str:
    separator = _WORDS.get(given, given)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise wrong("separator (--separator)", given, "one character, such as ';', '|' or 'tab'")
    return separator


def _check_encoding(given: str) -> str:
    try:
        name = codecs.lookup(given).name
        "a".encode(name)  # refuses those that are not of text
    except (LookupError, UnicodeError, ValueError):
        name = ""
    if not name or name in _NOT_OF_FILES:
        expected = "the name of an encoding, such as utf-8, cp1252, latin-1 or utf-16"
        raise wrong("encoding (--encoding)", given, expected)
    return name


def _found_encoding(path: Path, start: bytes) -> str:
    if not start.startswith(_UTF_16):
        return "utf-8"
    note(f"{path.name} is read as UTF-16, as its first bytes say (--encoding says otherwise).")
    return "utf-16"


def _found_separator(path: Path, text: str) -> str:
    """That of the ending if it fits the lines, else the one that does."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    expected = _BY_ENDING.get(ending)
    if expected is not None and _cells_in_line(text, expected) > 1:
        return expected
    others = {other: _cells_in_line(text, other) for other in _CANDIDATES if other != expected}
    best = max(others, key=lambda other: others[other])
    if others[best] > 1:
        note(f"{path.name} is read as cells between {best!r} (--separator says otherwise).")
        return best
    if expected is None:
        raise ValueError(
            f"{path} has no ending that is known; name it .csv, .tsv, .parquet or .arff (text also "
            "with .gz), or say what separates its cells (--separator ';')"
        )
    return expected


def _cells_in_line(text: str, separator: str) -> int:
    """How many cells each of the first lines has; 0 where they do not agree."""
    counts = {len(row) for row in _first_rows(text, separator)}
    return counts.pop() if len(counts) == 1 else 0


def _first_rows(text: str, separator: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        return list(islice((row for row in rows if row), _LINES))
    except csv.Error:
        return []


def _found_decimal(path: Path, text: str, separator: str) -> str:
    """A comma where cells such as 1,5 leave no doubt: none has a point, one has no thousands."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in _first_rows(text, separator) for cell in row]
    numbers = [cell for cell in cells if re.fullmatch(_COMMA_NUMBER, cell)]
    if any(re.fullmatch(_POINT_NUMBER, cell) for cell in cells):
        return "."
    if all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in numbers):
        return "."
    note(
        f"Numbers in {path.name} have a decimal comma, as in {numbers[0]} (--decimal . says "
        "otherwise)."
    )
    return ","
