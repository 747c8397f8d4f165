"""What the columns of a table mean, and how a row of them becomes a context."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.tables.columns import check_frame, close_names, is_missing
from greedyfirst.tables.features import Categorical, Numeric
from greedyfirst.validation import FloatArray, flag, listed, wrong

__all__ = ["Categorical", "Numeric", "Schema"]

VERSION = 1
_FORMAT = "greedyfirst schema"
_KINDS: dict[str, type[Numeric] | type[Categorical]] = {
    "numeric": Numeric,
    "categorical": Categorical,
}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Named features in order, and the encoding of rows of them as float64 arrays.

    Parameters
    ----------
    features : sequence of Numeric or Categorical
        In the order of the encoded columns; the order of a table's columns does not matter.
    intercept : bool
        Put a column of ones first. Each categorical then goes without its reference level's column,
        which would make the columns collinear.
    impute : mapping
        By a feature's name, the number or level that stands for a missing value. A feature that is
        not in it may not be missing.

    Examples
    --------
    >>> from greedyfirst.tables import Categorical, Numeric, Schema
    >>> schema = Schema(
    ...     features=[Numeric("age"), Categorical("sex", levels=["female", "male"])], intercept=True
    ... )
    >>> schema.feature_names
    ('intercept', 'age', 'sex=male')
    >>> schema.encode_row({"age": 40, "sex": "male"}).tolist()
    [1.0, 40.0, 1.0]
    """

    features: Sequence[Numeric | Categorical]
    intercept: bool = False
    impute: Mapping[str, float | str] = field(default_factory=dict, hash=False)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _known: frozenset[str] = field(init=False, repr=False, compare=False)
    #: Name, mean and scale (0 for categories), and the feature itself.
    _plan: tuple[tuple[str, float, float, Numeric | Categorical], ...] = field(
        init=False, repr=False, compare=False
    )
    _places: tuple[tuple[Numeric | Categorical, slice], ...] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        features = _check_features(self.features)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "intercept", flag("intercept", self.intercept))
        object.__setattr__(self, "impute", _check_impute(self.impute, features))
        names = ["intercept"] if self.intercept else []
        places = []
        for feature in features:
            start = len(names)
            names += feature.encoded_names(self.intercept)
            places.append((feature, slice(start, len(names))))
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two encoded columns are named {twice!r}; rename a feature")
        object.__setattr__(self, "_names", tuple(names))
        object.__setattr__(self, "_known", frozenset(feature.name for feature in features))
        plan = tuple(
            (item.name, getattr(item, "mean", 0.0), getattr(item, "scale", 0.0), item)
            for item in features
        )
        object.__setattr__(self, "_plan", plan)
        object.__setattr__(self, "_places", tuple(places))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the encoded columns: "intercept" if any, "age", "sex=female" and so on."""
        return self._names

    @property
    def n_features(self) -> int:
        """The number d of encoded columns."""
        return len(self._names)

    def __repr__(self) -> str:
        shown = ", ".join(feature.name for feature in self.features[:6])
        more = f" and {len(self.features) - 6} more" if len(self.features) > 6 else ""
        intercept = ", with an intercept" if self.intercept else ""
        return f"Schema({shown}{more}: {self.n_features} encoded columns{intercept})"

    def with_levels(self, *, other: str | None = None, missing: str | None = None) -> Schema:
        """The same schema, whose categories have levels for what its table did not have.

        Parameters
        ----------
        other
            The level of categories that are not among a feature's own. Features that have such a
            level keep it.
        missing
            The level of missing values. Features that have a value to impute keep it.

        Examples
        --------
        >>> from greedyfirst.tables import Categorical, Schema
        >>> schema = Schema(features=[Categorical("city", ["Oslo", "Rome"])])
        >>> wide = schema.with_levels(other="elsewhere", missing="unknown")
        >>> wide.feature_names
        ('city=Oslo', 'city=Rome', 'city=elsewhere', 'city=unknown')
        >>> wide.encode_row({"city": "Lima"}).tolist(), wide.encode_row({"city": None}).tolist()
        ([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0])
        """
        features, impute = [], dict(self.impute)
        for feature in self.features:
            if isinstance(feature, Categorical):
                new = None if feature.other is not None else other
                fill = None if feature.name in impute else missing
                added = [level for level in (new, fill) if level is not None]
                levels = dict.fromkeys([*feature.levels, *added])
                kept = new if feature.other is None else feature.other
                feature = replace(feature, levels=list(levels), other=kept)
                if fill is not None:
                    impute[feature.name] = fill
            features.append(feature)
        return replace(self, features=features, impute=impute)

    def encode(self, frame: pd.DataFrame) -> FloatArray:
        """The contexts (n, d) of the frame's rows; columns that are no features are not looked at.

        Works column by column: apart from the result, a few columns' memory is needed.
        """
        check_frame(frame)
        columns = [str(name) for name in frame.columns]
        for feature in self.features:
            if feature.name not in columns:
                raise ValueError(
                    f"column {feature.name!r} is missing from the table"
                    + close_names(feature.name, columns)
                )
        encoded = np.empty((len(frame), self.n_features))
        encoded[:, : self.intercept] = 1
        for feature, place in self._places:
            fill = self.impute.get(feature.name)
            out = encoded[:, place]
            feature.encode_column(frame[feature.name], fill, self.intercept, out)
        return encoded

    def encode_row(self, row: Mapping[str, Any]) -> FloatArray:
        """The context (d,) of one row, a value for each feature by its name."""
        if not isinstance(row, Mapping):
            raise wrong("row", row, "a mapping from feature names to values")
        if not row.keys() <= self._known:
            name = next(name for name in row if name not in self._known)
            known = [feature.name for feature in self.features]
            raise wrong("each name of row", name, "a feature" + close_names(name, known))
        encoded = [1.0] * self.intercept
        for name, mean, scale, feature in self._plan:
            value = row.get(name)
            if scale and type(value) is float and math.isfinite(x := (value - mean) / scale):
                encoded.append(x)  # the usual case, without detours
            else:
                encoded += self._encode_value(row, feature)
        return np.array(encoded)

    def _encode_value(self, row: Mapping[str, Any], feature: Numeric | Categorical) -> list[float]:
        name = feature.name
        if name not in row:
            raise ValueError(f"feature {name!r} is missing from row, which has {_listed(row)}")
        value = row[name]
        if name in self.impute and is_missing(value):
            value = self.impute[name]
        return feature.encode_value(value, self.intercept)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data that JSON can hold."""
        return {
            "format": _FORMAT,
            "version": VERSION,
            "intercept": self.intercept,
            "features": [feature.to_dict() for feature in self.features],
            "impute": dict(self.impute),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The schema that :meth:`to_dict` described."""
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
            raise wrong("data", data, f"a mapping with the format {_FORMAT!r}")
        if data.get("version") != VERSION:
            raise wrong("version", data.get("version"), f"{VERSION}, which this release reads")
        wanted = {"format", "version", "intercept", "features", "impute"}
        if set(data) != wanted:
            raise wrong("entries of data", sorted(map(str, data)), ", ".join(sorted(wanted)))
        features = data["features"]
        if not isinstance(features, Sequence) or isinstance(features, str):
            raise wrong("features", features, "a list of features")
        return cls(
            features=[_feature(item) for item in features],
            intercept=data["intercept"],
            impute=data["impute"],
        )

    def save(self, path: str | Path) -> None:
        """Write the schema as JSON; readers see the old file or the new one, never half of it."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        with atomic_write(Path(path)) as temporary:
            temporary.write_bytes(text.encode())

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a file of :meth:`save`; a damaged or foreign file raises ValueError."""
        content = Path(path).read_bytes()
        try:
            return cls.from_dict(json.loads(content))
        except (ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"{path} is not a greedyfirst schema file, or it is damaged ({reason})"
            ) from None


def _check_features(value: Any) -> tuple[Numeric | Categorical, ...]:
    expected = "a sequence of Numeric and Categorical, at least one"
    items = listed(value)
    if not items:
        raise wrong("features", value, expected)
    for item in items:
        if not isinstance(item, (Numeric, Categorical)):
            raise wrong("features", item, expected)
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise wrong("features", name, "of different names")
    return tuple(items)


def _check_impute(
    value: Any, features: tuple[Numeric | Categorical, ...]
) -> dict[str, float | str]:
    if not isinstance(value, Mapping):
        raise wrong("impute", value, "a mapping from feature names to values")
    by_name = {feature.name: feature for feature in features}
    for name in value:
        if name not in by_name:
            raise wrong("each name of impute", name, "a feature" + close_names(name, [*by_name]))
    return {
        name: by_name[name].check_value(f"impute of {name!r}", filled)
        for name, filled in value.items()
    }


def _listed(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name in list(row)[:8]) if row else "no entries"


def _feature(item: Any) -> Numeric | Categorical:
    kind = item.get("kind") if isinstance(item, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise wrong("each feature", item, "a mapping of kind 'numeric' or 'categorical'")
    options = {str(name): value for name, value in item.items() if name != "kind"}
    try:
        return _KINDS[kind](**options)
    except TypeError:
        raise wrong(f"entries of a {kind} feature", sorted(options), "its options") from None
