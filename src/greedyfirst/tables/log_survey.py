"""What a log's columns hold, in one pass of bounded memory: arms, levels, means and scales."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Unpack

import numpy as np
import pyarrow as pa

from greedyfirst.engines.calls import calls_on, results_in_order
from greedyfirst.engines.engine import Where
from greedyfirst.tables.columns import check_known, counted_rows, level_of, sort_levels
from greedyfirst.tables.findings import note
from greedyfirst.tables.inference import MISSING_LEVEL, MOST_LEVELS
from greedyfirst.tables.labels import MOST_CLASSES
from greedyfirst.tables.log_files import LogFiles, Shard, batches, is_amount, is_number, is_text
from greedyfirst.tables.log_rows import BLOCK_ROWS
from greedyfirst.tables.schema import Categorical, Numeric, Schema

# Shards that are looked at ahead.
AHEAD = 32


@dataclass
class ColumnSurvey:
    """What one column holds: how often each level, or the moments of its numbers."""

    levels: Counter[str] = field(default_factory=Counter)
    count: int = 0
    missing: int = 0
    mean: float = 0.0
    #: The sum of squares about the mean.
    squares: float = 0.0
    lowest: float = math.inf
    highest: float = -math.inf

    @property
    def only_value(self) -> float | str | None:
        """The value of a column that is the same in every row, else None."""
        if self.missing:
            return None
        if len(self.levels) == 1:
            return next(iter(self.levels))
        return self.lowest if self.lowest == self.highest else None

    def add_levels(self, column: pa.Array) -> None:
        """Count the levels of these cells."""
        for entry in column.value_counts():
            value, count = (each.as_py() for each in entry.values())
            level = None if value is None else level_of(value)
            if level is None:
                self.missing += count
            else:
                self.levels[level] += count
                self.count += count

    def add_numbers(self, column: pa.Array) -> None:
        """Take in the moments of these cells."""
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        present = values[~np.isnan(values)]
        self.missing += len(values) - len(present)
        if len(present):
            mean = float(present.mean())
            self.merge(
                ColumnSurvey(
                    count=len(present),
                    mean=mean,
                    squares=float(((present - mean) ** 2).sum()),
                    lowest=float(present.min()),
                    highest=float(present.max()),
                )
            )

    def merge(self, other: ColumnSurvey) -> None:
        """Take in what another part of the column holds (Chan, Golub and LeVeque)."""
        self.levels.update(other.levels)
        self.missing += other.missing
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        if other.count:
            total = self.count + other.count
            deviation = other.mean - self.mean
            self.mean += deviation * other.count / total
            self.squares += other.squares + deviation**2 * self.count * other.count / total
            self.count = total


def survey_shard(
    shard: Shard, numbers: Collection[str], categories: Collection[str]
) -> dict[str, ColumnSurvey]:
    """What a shard's columns hold: plain data in and out."""
    found = {name: ColumnSurvey() for name in (*numbers, *categories)}
    for batch in batches(shard, [*found], BLOCK_ROWS):
        for name in numbers:
            found[name].add_numbers(batch.column(name))
        for name in categories:
            found[name].add_levels(_plain(batch.column(name)))
    return found


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def survey(
    log: LogFiles, numbers: Collection[str], categories: Collection[str], **where: Unpack[Where]
) -> dict[str, ColumnSurvey]:
    """What the log's columns hold, merged in the order of its shards."""
    found = {name: ColumnSurvey() for name in (*numbers, *categories)}

    def call(shard: Shard) -> Callable[[], dict[str, ColumnSurvey]]:
        return partial(survey_shard, shard, numbers, categories)

    with calls_on(**where) as calls:
        for _, part in results_in_order(calls, log.shards, call, ahead=AHEAD):
            for name, each in part.items():
                found[name].merge(each)
                _check_levels(name, found[name])
    return found


def _check_levels(name: str, found: ColumnSurvey) -> None:
    if len(found.levels) > MOST_LEVELS:
        raise ValueError(
            f"column {name!r} has more than {MOST_LEVELS} different values; if it is an "
            f"identifier, drop it with drop=[{name!r}] (--drop {name})"
        )


def infer_log_schema(
    log: LogFiles,
    *,
    arm: str,
    contexts: Sequence[str],
    categorical: Iterable[str] = (),
    intercept: bool = True,
    standardise: bool = False,
    **where: Unpack[Where],
) -> tuple[Schema, tuple[str, ...]]:
    """How a log's columns become contexts, and its arms.

    As :func:`greedyfirst.tables.infer_schema` would of the whole table: numbers are Numeric, text
    and true/false Categorical. Only what is asked for is read: columns of numbers just to
    ``standardise`` them. Missing values are refused.
    """
    if not contexts:
        raise ValueError("no column is left as a feature; add columns, or drop fewer")
    texts = categories_of(log, contexts, categorical)
    numbers = [name for name in contexts if name not in texts] if standardise else []
    found = survey(log, numbers, [*dict.fromkeys([arm, *texts])], **where)
    arms = sort_levels(found[arm].levels)
    check_complete(found, [arm, *numbers])
    if len(arms) > MOST_CLASSES:
        raise ValueError(
            f"column {arm!r} has {len(arms)} different values, expected at most {MOST_CLASSES} arms"
        )
    schema = schema_of(found, contexts, texts, intercept=intercept, standardise=standardise)
    return schema, arms


def categories_of(log: LogFiles, contexts: Sequence[str], declared: Iterable[str]) -> list[str]:
    """The columns that are categories: by their type, or because they are declared so."""
    known = list(declared)
    for name in known:
        check_known("categorical", name, contexts)
    return [name for name in contexts if name in known or not _is_numeric(log, name)]


def check_complete(found: dict[str, ColumnSurvey], names: Iterable[str]) -> None:
    """Refuse missing values in these columns."""
    for name in names:
        each = found[name]
        if each.missing:
            rows = counted_rows(each.missing)
            raise ValueError(
                f"column {name!r} has missing values in {rows}; fill them, or leave such rows out"
            )


def schema_of(
    found: dict[str, ColumnSurvey],
    contexts: Sequence[str],
    categories: Collection[str],
    *,
    intercept: bool,
    standardise: bool,
) -> Schema:
    """The schema of these columns; missing categories are a category of their own."""
    features: list[Numeric | Categorical] = []
    fills = {}
    for name in contexts:
        if name not in categories:
            features.append(_numeric(name, found[name] if standardise else None))
            continue
        levels = [level for level in sort_levels(found[name].levels) if level != MISSING_LEVEL]
        if found[name].missing:
            levels.append(MISSING_LEVEL)
            fills[name] = MISSING_LEVEL
            rows = counted_rows(found[name].missing)
            note(f"Missing values of {name!r} ({rows}) are a category of their own.")
        features.append(Categorical(name, levels))
    return Schema(features=features, intercept=intercept, impute=fills)


def _is_numeric(log: LogFiles, name: str) -> bool:
    """Whether a column holds numbers; what is neither that nor categories is refused."""
    kind = log.schema.field(name).type
    if not (is_amount(kind) or is_text(kind)):
        raise ValueError(
            f"column {name!r} holds {kind}, expected numbers, text or true/false; convert it, or "
            f"drop it with drop=[{name!r}] (--drop {name})"
        )
    return is_number(kind)


def _numeric(name: str, found: ColumnSurvey | None) -> Numeric:
    """A column of numbers, as it is or standardised."""
    if found is None:
        return Numeric(name)
    scale = math.sqrt(found.squares / found.count)
    usable = math.isfinite(found.mean) and math.isfinite(scale) and scale > 0.0
    if not usable or found.lowest == found.highest:
        raise ValueError(
            f"column {name!r} is constant or not finite, and cannot be standardised; drop it with "
            f"drop=[{name!r}] (--drop {name})"
        )
    return Numeric(name, found.mean, scale)
