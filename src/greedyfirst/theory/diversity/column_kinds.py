"""Kinds of columns: constants, dummies, numbers that never change sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity.row_summary import RowSummary


@dataclass(frozen=True, kw_only=True)
class ColumnKinds:
    """The places of columns, by kind; columns that change sign are in none."""

    #: 0 in every row.
    zero: tuple[int, ...]
    #: The same number, not 0, in every row: an intercept.
    constant: tuple[int, ...]
    #: Category -> the columns of its levels.
    dummies: dict[str, tuple[int, ...]]
    #: Other columns of 0 and 1.
    indicators: tuple[int, ...]
    #: Other columns that never change sign.
    one_signed_numbers: tuple[int, ...]

    @property
    def all_dummies(self) -> tuple[int, ...]:
        """The columns of all categories."""
        return tuple(j for places in self.dummies.values() for j in places)

    @property
    def varying_one_signed(self) -> tuple[int, ...]:
        """All columns that vary and never change sign."""
        return (*self.all_dummies, *self.indicators, *self.one_signed_numbers)

    @property
    def one_signed(self) -> tuple[int, ...]:
        """All columns that never change sign and are not 0 in every row."""
        return (*self.constant, *self.varying_one_signed)

    @property
    def has_one_sign_by_nature(self) -> bool:
        """Whether a column can have but one sign: a constant, or one of 0 and 1."""
        return bool(self.constant or self.dummies or self.indicators)


def sort_columns(summary: RowSummary, names: tuple[str, ...]) -> ColumnKinds:
    """Which column is of which kind.

    A dummy is a column named "category=level", as `greedyfirst.tables.Schema` names them, that is 0
    in some rows and above 0 in the others.
    """
    zero: list[int] = []
    constant: list[int] = []
    indicators: list[int] = []
    numbers: list[int] = []
    dummies: dict[str, list[int]] = {}
    squares = np.diagonal(summary.second_moment)
    for j, name in enumerate(names):
        low, high = float(summary.lowest[j]), float(summary.highest[j])
        category = name.partition("=")[0] if "=" in name else ""
        if low == high:
            (zero if low == 0.0 else constant).append(j)
        elif low == 0.0 and category:
            dummies.setdefault(category, []).append(j)
        # Numbers from 0 to 1 are their own squares only if they are 0 and 1.
        elif low == 0.0 and high == 1.0 and summary.mean[j] == squares[j]:
            indicators.append(j)
        elif low >= 0.0 or high <= 0.0:
            numbers.append(j)
    return ColumnKinds(
        zero=tuple(zero),
        constant=tuple(constant),
        dummies={category: tuple(places) for category, places in dummies.items()},
        indicators=tuple(indicators),
        one_signed_numbers=tuple(numbers),
    )
