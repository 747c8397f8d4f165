"""Contexts as people have them: numbers in order, or values by the features' names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.validation import FloatArray, amounts, wrong

if TYPE_CHECKING:
    from greedyfirst.tables.schema import Schema

_BOOLEANS = (bool, np.bool_)


class ContextReader:
    """Makes arrays of contexts for one agent.

    Parameters
    ----------
    names
        The features, in the order of a context's numbers.
    named
        Whether the names were chosen. Else the first row that is given by name fixes them.
    schema
        What makes numbers of raw values. Then every row must be given by name.
    """

    def __init__(self, names: tuple[str, ...], *, named: bool, schema: Schema | None) -> None:
        self.names, self.named, self.schema = names, named, schema
        #: What encodes rows by name: the schema, or one of numbers that is made when it is needed.
        self._by_name = schema

    def row(self, argument: str, value: Any) -> FloatArray:
        """One context (d,): numbers in order, a mapping, a Series, or a frame of one row."""
        if _is_frame(value):
            if len(value) != 1:
                many = f"{len(value)} rows"
                raise ValueError(f"{argument} must be one row, got a frame of {many}")
            (row,) = self.table(argument, value)
            return np.asarray(row)
        cells = _cells(argument, value, len(self.names))
        if cells is None:
            self._refuse_unnamed(argument, value)
            return amounts(argument, value, (len(self.names),))
        schema = self._schema_for(argument, list(cells))
        encoded = schema.encode_row(cells if self.schema else _without_booleans(cells))
        self._remember(schema)
        return encoded

    def table(self, argument: str, value: Any) -> FloatArray:
        """Several contexts (n, d): rows of numbers, a frame, or a list of mappings."""
        if _is_frame(value):
            if not _in_order(argument, value.columns, len(self.names)):
                return self._frame(argument, value)
            value = value.to_numpy()
        elif isinstance(value, Sequence) and len(value) and _has_names(value[0]):
            rows = [self.row(f"{argument}[{place}]", each) for place, each in enumerate(value)]
            return np.array(rows)
        self._refuse_unnamed(argument, value)
        return amounts(argument, value, (None, len(self.names)))

    def _frame(self, argument: str, frame: Any) -> FloatArray:
        from greedyfirst.tables.columns import check_frame

        check_frame(frame)
        schema = self._schema_for(argument, list(frame.columns))
        if not self.schema:
            booleans = [name for name in frame.columns if frame[name].dtype.kind == "b"]
            frame = frame.astype(dict.fromkeys(booleans, float)) if booleans else frame
        encoded = schema.encode(frame)
        self._remember(schema)
        return encoded

    def _schema_for(self, argument: str, given: list[Any]) -> Schema:
        """What encodes rows with these names; names that do not fit are refused."""
        schema = self._by_name
        if schema is None:
            fixed = self.names if self.named else _first_names(argument, given, len(self.names))
            schema = _schema_of_numbers(fixed)
        known = [feature.name for feature in schema.features]
        if given != known and (len(given) != len(known) or set(given) != set(known)):
            raise _misfit(argument, given, known)
        return schema

    def _remember(self, schema: Schema) -> None:
        self._by_name = schema
        if not self.named:
            self.names, self.named = schema.feature_names, True

    def _refuse_unnamed(self, argument: str, value: Any) -> None:
        """Refuse numbers without names where a schema waits for raw values."""
        for other in ("columns", "column_names"):
            if hasattr(value, other):
                raise wrong(
                    argument, type(value).__name__, "a pandas frame, or numbers in an array"
                )
        if self.schema is not None:
            columns = ", ".join(repr(feature.name) for feature in self.schema.features[:8])
            expected = f"given by name ({columns}), as a dict, Series or frame, for the schema"
            raise wrong(argument, value, expected)


def is_table(value: Any) -> bool:
    """Whether a method that takes one context or many was given many."""
    if _is_frame(value):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    first = value[0] if isinstance(value, Sequence) and len(value) else None
    rows = isinstance(first, np.ndarray) or _has_names(first)
    return rows or (isinstance(first, Sequence) and not isinstance(first, str))


def _is_frame(value: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _is_series(value: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)


def _has_names(value: Any) -> bool:
    """Whether a row may have names: a mapping, a Series, a named tuple."""
    return isinstance(value, Mapping) or hasattr(value, "_asdict") or _is_series(value)


def _cells(argument: str, value: Any, length: int) -> dict[Any, Any] | None:
    """The values by name, where a row has names."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    if not _is_series(value) or _in_order(argument, value.index, length):
        return None
    if not value.index.is_unique:
        twice = value.index[value.index.duplicated()][0]
        raise wrong(argument, twice, "a Series with different names")
    return dict(value)


def _in_order(argument: str, labels: Iterable[Any], length: int) -> bool:
    """Whether these are no names but the numbers 0, 1, … in order; False for names."""
    found = list(labels)
    if all(isinstance(label, str) for label in found):
        return not found
    if found != list(range(len(found))):
        expected = f"labelled by the features' names, or by 0 to {length - 1} in order"
        raise wrong(argument, found[:8], expected)
    return True


def _first_names(argument: str, given: list[Any], length: int) -> list[str]:
    """The names that the first row by name fixes."""
    texts = [name for name in given if isinstance(name, str) and name]
    if len(texts) != length or len(given) != length:
        raise ValueError(f"{argument} must have {length} features by name, got {given[:8]}")
    return texts


def _schema_of_numbers(names: Sequence[str]) -> Schema:
    from greedyfirst.tables.schema import Numeric, Schema  # pandas takes half a second to import

    return Schema(features=[Numeric(name) for name in names])


def _misfit(argument: str, given: list[Any], known: list[str]) -> ValueError:
    """Which feature is missing, or not known."""
    from greedyfirst.tables.columns import close_names

    shown = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
    missing = next((name for name in known if name not in given), None)
    if missing is not None:
        texts = [name for name in given if isinstance(name, str)]
        close = close_names(missing, texts) if texts else ""
        said = f"{argument} must have the features {shown}, but {missing!r} is missing{close}"
        return ValueError(said)
    unknown = next(name for name in given if name not in known)
    close = close_names(unknown, known)
    return ValueError(f"{argument} must have the features {shown} alone, got {unknown!r}{close}")


def _without_booleans(cells: dict[Any, Any]) -> dict[Any, Any]:
    return {
        name: float(value) if isinstance(value, _BOOLEANS) else value
        for name, value in cells.items()
    }
