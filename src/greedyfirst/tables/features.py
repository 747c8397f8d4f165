"""One feature of a context: a number, or one of several categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from greedyfirst.tables.columns import CodeArray, factorise, first_row, is_missing, level_of
from greedyfirst.validation import FloatArray, listed, number, wrong


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise wrong("the name of a feature", name, "non-empty text")


@dataclass(frozen=True)
class Numeric:
    """A number x, encoded as (x − mean) / scale.

    Examples
    --------
    >>> from greedyfirst.tables import Numeric
    >>> Numeric("age", mean=50.0, scale=10.0).encode_value(70, intercept=False)
    [2.0]
    """

    name: str
    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "mean", number(f"mean of {self.name!r}", self.mean))
        object.__setattr__(self, "scale", number(f"scale of {self.name!r}", self.scale, above=0))

    def encoded_names(self, intercept: bool) -> list[str]:
        """The encoded column: the feature's own name."""
        return [self.name]

    def check_value(self, where: str, value: Any) -> float:
        """``value`` as the feature takes it; ``where`` begins the error."""
        return number(where, value)

    def encode_value(self, value: Any, intercept: bool) -> list[float]:
        """The encoded column of one ``value``."""
        value = self.check_value(f"feature {self.name!r}", value)
        encoded = (value - self.mean) / self.scale
        if not math.isfinite(encoded):
            raise wrong(f"feature {self.name!r}", value, self._in_range())
        return [encoded]

    def encode_column(self, column: pd.Series, fill: Any, intercept: bool, out: FloatArray) -> None:
        """Write a column of n cells into ``out`` (n, 1), with ``fill`` where one is missing."""
        values = self.numbers(column)
        missing = np.isnan(values)
        if missing.any():
            if fill is None:
                raise _missing(self.name, first_row(missing), "a finite number")
            values = np.where(missing, fill, values)
        with np.errstate(over="ignore", invalid="ignore"):
            encoded = (values - self.mean) / self.scale
        finite = np.isfinite(encoded)
        if not finite.all():
            row = first_row(~finite)
            where = f"column {self.name!r}, data row {row}"
            raise wrong(where, float(values[row - 1]), self._in_range())
        out[:, 0] = encoded  # strided, so once only

    def _in_range(self) -> str:
        plain = (self.mean, self.scale) == (0, 1)
        return "a finite number" if plain else "a finite number, also once standardised"

    def numbers(self, column: pd.Series) -> FloatArray:
        """The cells as float64, NaN where missing; no copy if they are float64."""
        if column.dtype.kind in "fiu":
            missing = {} if isinstance(column.dtype, np.dtype) else {"na_value": np.nan}
            values: FloatArray = column.to_numpy(dtype=np.float64, **missing)
            return values
        where = f"column {self.name!r}, data row "
        cells = (
            np.nan if is_missing(cell) else self.check_value(where + str(row), cell)
            for row, cell in enumerate(column, start=1)
        )
        return np.fromiter(cells, np.float64, len(column))

    def to_dict(self) -> dict[str, Any]:
        """The feature as plain data."""
        return {"kind": "numeric", "name": self.name, "mean": self.mean, "scale": self.scale}


@dataclass(frozen=True)
class Categorical:
    """One of ``levels``, encoded as 1 in the column of its level and 0 in the others.

    Parameters
    ----------
    name : str
        The column's name.
    levels : sequence of str
        All categories, as text: 1 and 1.0 are "1", True is "true".
    reference : str or None
        With an intercept this level has no column, and coefficients are differences from it; None
        is the first level. Without an intercept every level has a column.
    other : str or None
        The level that stands for categories not among ``levels``; None refuses them.

    Examples
    --------
    >>> from greedyfirst.tables import Categorical
    >>> sex = Categorical("sex", levels=["female", "male"])
    >>> sex.encoded_names(intercept=False), sex.encode_value("male", intercept=False)
    (['sex=female', 'sex=male'], [0.0, 1.0])
    """

    name: str
    levels: Sequence[str]
    reference: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        given = listed(self.levels) or []
        different = all(isinstance(level, str) for level in given) and len(set(given)) == len(given)
        if not given or not different:
            raise wrong(f"levels of {self.name!r}", self.levels, "different texts, at least one")
        levels = tuple(str(level) for level in given)
        object.__setattr__(self, "levels", levels)
        for option in ("reference", "other"):
            level = getattr(self, option)
            if level is not None and level not in levels:
                raise wrong(f"{option} of {self.name!r}", level, self._one_of() + " or None")

    def __repr__(self) -> str:
        more = f" and {len(self.levels) - 8} more" if len(self.levels) > 8 else ""
        return f"Categorical({self.name!r}, {list(self.levels[:8])}{more})"

    def encoded_names(self, intercept: bool) -> list[str]:
        """The encoded columns, "name=level"."""
        dropped = self._dropped(intercept)
        return [f"{self.name}={level}" for i, level in enumerate(self.levels) if i != dropped]

    def check_value(self, where: str, value: Any) -> str:
        """``value`` as one of the levels; ``where`` begins the error."""
        level = level_of(value)
        unseen = level not in self.levels and self.other is None
        if level is None or unseen or is_missing(value):
            raise wrong(where, value, self._one_of())
        return level if level in self.levels else str(self.other)

    def encode_value(self, value: Any, intercept: bool) -> list[float]:
        """The encoded columns of one ``value``."""
        level = self.check_value(f"feature {self.name!r}", value)
        encoded = [0.0] * len(self.levels)
        encoded[self.levels.index(level)] = 1.0
        if intercept:
            del encoded[self._dropped(intercept)]
        return encoded

    def encode_column(self, column: pd.Series, fill: Any, intercept: bool, out: FloatArray) -> None:
        """Write a column of n cells into ``out`` (n, width), with ``fill`` where one is missing."""
        codes, found = factorise(self.name, column)
        if len(codes) and codes.min() < 0 and fill is None:
            raise _missing(self.name, first_row(codes < 0), self._one_of())
        places = self._places(intercept)
        index = {level: int(place) for level, place in zip(self.levels, places, strict=True)}
        of_code = np.full(len(found) + 1, -1)  # the last one, at index -1, is of missing cells
        for code, level in enumerate(found):
            if level not in index and self.other is None:
                where = f"column {self.name!r}, data row {first_row(codes == code)}"
                raise wrong(where, level, self._one_of())
            of_code[code] = index[level if level in index else str(self.other)]
        if fill is not None:
            of_code[-1] = index[fill]
        at = of_code[codes]
        out[:] = 0
        rows = np.flatnonzero(at >= 0)
        out[rows, at[rows]] = 1

    def to_dict(self) -> dict[str, Any]:
        """The feature as plain data."""
        return {
            "kind": "categorical",
            "name": self.name,
            "levels": list(self.levels),
            "reference": self.reference,
            "other": self.other,
        }

    def _dropped(self, intercept: bool) -> int:
        """The index of the level without a column, or -1."""
        if not intercept:
            return -1
        return 0 if self.reference is None else self.levels.index(self.reference)

    def _places(self, intercept: bool) -> CodeArray:
        """The encoded column of each level, -1 of the one that has none."""
        places = np.arange(len(self.levels))
        dropped = self._dropped(intercept)
        if dropped >= 0:
            places[dropped:] -= 1
            places[dropped] = -1
        return places

    def _one_of(self) -> str:
        shown = ", ".join(repr(level) for level in self.levels[:8])
        more = len(self.levels) - 8
        return f"one of {shown}" + (f" and {more} more" if more > 0 else "")


def _missing(name: str, row: int, expected: str) -> ValueError:
    return ValueError(
        f"column {name!r}, data row {row} must be {expected}, got a missing value "
        "(the schema has no value to impute)"
    )
