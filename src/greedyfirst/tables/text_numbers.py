"""Text that stands for numbers: amounts, percentages, grouped digits and dates.

Nothing is converted unless it is asked for by the column's name: 1,200 is 1200 to some and 1.2 to
others, 01/02/2020 is in January to some and in February to others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from greedyfirst.tables.columns import factorise, first_row
from greedyfirst.tables.findings import note
from greedyfirst.validation import FloatArray

NUMBER, AMOUNT, PERCENTAGE, GROUPED, DATE, OTHER = (
    *("number", "amount", "percentage", "grouped", "date", "other"),
)
_CURRENCY = (
    r"(?:[$€£¥₹₽₩₺₪₫₴₦]|(?:US|A|C)\$|kr|zł|Kč|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN"
    r"|CZK|HUF|BRL|MXN|ZAR)"
)
_SPACES = " \u00a0\u202f"
_DIGITS = rf"\d{{1,3}}(?:[.,'’{_SPACES}]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+"
_AMOUNT = re.compile(
    rf"(?P<sign>[-−+]?)\s*(?P<before>{_CURRENCY}?)\s*(?P<inner>[-−]?)(?P<digits>{_DIGITS})"
    rf"\s*(?P<after>{_CURRENCY}|%)?"
)
_CLOCK = r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm]|Z|[+-]\d{2}:?\d{2})?)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_YEAR_FIRST = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(?:\d{{4}}|\d{{2}}){_CLOCK}")
_NAMED_MONTH = re.compile(
    rf"(?:\d{{1,2}}[- ]{_MONTH}[- ,]+\d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}){_CLOCK}", re.IGNORECASE
)


def kind_of(text: str) -> str:
    """What a cell stands for: a number as programs write it, an amount, a date, or other text."""
    cell = text.strip()
    try:
        if math.isfinite(float(cell)) and "_" not in cell:  # Python reads 1_000, tables do not
            return NUMBER
    except ValueError:
        pass
    if found := _AMOUNT.fullmatch(cell):
        if found["after"] == "%":
            return PERCENTAGE
        return AMOUNT if found["before"] or found["after"] else GROUPED
    day = _YEAR_LAST.fullmatch(cell)
    if day and max(int(day[1]), int(day[3])) <= 31 and min(int(day[1]), int(day[3])) <= 12:
        return DATE
    return DATE if _YEAR_FIRST.fullmatch(cell) or _NAMED_MONTH.fullmatch(cell) else OTHER


def as_numbers(name: str, column: pd.Series, *, decimal: str | None) -> pd.Series:
    """A column of text as numbers (dates as days since 1970-01-01), with a note on how.

    ``decimal`` is the decimal mark; None takes the one that the cells show without doubt.
    """
    if column.dtype.kind in "fiu":
        return column
    codes, levels = factorise(name, column)
    kinds = [kind_of(level) for level in levels]
    for code, kind in enumerate(kinds):
        if kind == OTHER or (kind == DATE) != (kinds[0] == DATE):
            row = first_row(codes == code)
            raise ValueError(
                f"column {name!r}, data row {row} is {levels[code][:80]!r}, which is not a "
                f"{'date' if kinds[0] == DATE else 'number'}; correct it, or make it missing (--na)"
            )
    if not levels:
        return pd.Series(np.full(len(column), np.nan), index=column.index)
    read = _days(name, levels) if kinds[0] == DATE else _amounts(name, levels, decimal)
    unit = "days since 1970-01-01" if kinds[0] == DATE else "numbers"
    note(f"Column {name!r} is read as {unit}: {levels[0]!r} is {read[0]:.15g}.")
    return pd.Series(np.append(read, np.nan)[codes], index=column.index)


def _amounts(name: str, levels: Sequence[str], decimal: str | None) -> FloatArray:
    found = [_AMOUNT.fullmatch(level.strip()) for level in levels]
    _check_units(name, levels, ["" if each is None else _unit(each) for each in found])
    if decimal is None:
        decimal = _decimal_mark(name, [each["digits"] for each in found if each])
    point, group = re.escape(decimal), "," if decimal == "." else "."
    strict = re.compile(
        rf"\d{{1,3}}(?:[{group}'’{_SPACES}]\d{{3}})+(?:{point}\d+)?|\d*(?:{point}\d+)?"
    )
    read = np.empty(len(levels))
    for place, (level, each) in enumerate(zip(levels, found, strict=True)):
        if each is None:  # such as 1e-5 among amounts
            read[place] = float(level)
            continue
        if not strict.fullmatch(each["digits"]):
            raise ValueError(
                f"column {name!r} has {level!r}, which is no number with the decimal mark "
                f"{decimal!r}; correct it, or give the other mark (--decimal)"
            )
        plain = re.sub(rf"[^\d{point}]", "", each["digits"]).replace(decimal, ".")
        minus = each["sign"] in ("-", "−") or each["inner"] in ("-", "−")
        read[place] = -float(plain) if minus else float(plain)
    return read


def _unit(found: re.Match[str]) -> str:
    return found["after"] or found["before"] or ""


def _check_units(name: str, levels: Sequence[str], units: Sequence[str]) -> None:
    """Refuse two currencies in one column, and percentages beside other numbers."""
    example = dict(zip(units, levels, strict=True))
    if "%" not in example:
        example.pop("", None)
    if len(example) > 1:
        one, other = [*example.values()][:2]
        raise ValueError(
            f"column {name!r} has both {one!r} and {other!r}: its unit is not the same in every "
            "row; correct the cells"
        )


def _decimal_mark(name: str, digits: Iterable[str]) -> str:
    """The decimal mark that these digits show; refused where they leave a doubt."""
    shown: dict[str, str] = {}
    doubtful = None
    for text in digits:
        marks = re.findall(r"[.,]", text)
        if not marks:
            continue
        before, after = re.split(r"[.,]", text, maxsplit=1)
        if len(set(marks)) == 2:
            shown[marks[-1]] = text
        elif len(marks) > 1:
            shown["," if marks[0] == "." else "."] = text
        elif len(after) != 3 or not 1 <= len(before) <= 3 or before == "0":
            shown[marks[0]] = text
        else:
            doubtful = text
    if len(shown) == 2:
        raise ValueError(
            f"column {name!r} has both {shown['.']!r} and {shown[',']!r}: its decimal mark is not "
            "the same in every row; correct the cells"
        )
    if not shown and doubtful:
        raise ValueError(
            f"column {name!r}: {doubtful!r} may have a decimal mark or thousands; say which mark "
            "is decimal (--decimal . or --decimal ,)"
        )
    return next(iter(shown), ".")


def _days(name: str, levels: Sequence[str]) -> FloatArray:
    """Days since 1970-01-01, with the time of the day as a fraction."""
    found = [_YEAR_LAST.fullmatch(level.strip()) for level in levels]
    day_first = any(each is not None and (each[2] == "." or int(each[1]) > 12) for each in found)
    month_first = any(each is not None and int(each[3]) > 12 for each in found)
    if any(found) and day_first == month_first:
        raise ValueError(
            f"column {name!r}: {levels[0]!r} may begin with the day or with the month; write dates "
            "as 2020-12-31"
        )
    try:
        read = pd.to_datetime(
            pd.Series(levels).str.strip(), format="mixed", dayfirst=day_first, utc=True
        )
    except (ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"column {name!r} has a date that cannot be read ({reason})") from None
    since = read - pd.Timestamp("1970-01-01", tz="UTC")
    days: FloatArray = (since / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    return days
