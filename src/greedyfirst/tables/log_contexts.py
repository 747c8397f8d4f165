"""The contexts of a data set that fits in no memory, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from greedyfirst.tables.log_files import LogFiles, batches
from greedyfirst.tables.log_rows import BLOCK_ROWS
from greedyfirst.tables.log_survey import categories_of, check_complete, schema_of, survey
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class LogContexts:
    """Encoded contexts that can be read as often as need be."""

    log: LogFiles
    schema: Schema
    #: Columns that are the same in every row, with their value; those that are 0 in every row.
    constant: dict[str, object]
    zero: list[str]

    def chunks(self) -> Iterator[FloatArray]:
        """All rows, encoded (·, d)."""
        names = [feature.name for feature in self.schema.features]
        for shard in self.log.shards:
            for batch in batches(shard, names, BLOCK_ROWS):
                yield self.schema.encode(batch.to_pandas())


def log_contexts(
    log: LogFiles,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    intercept: bool = False,
    standardise: bool = False,
) -> LogContexts:
    """How the columns of a data set become contexts: constant ones are one column, or none."""
    contexts = [name for name in log.schema.names if name not in drop]
    texts = categories_of(log, contexts, [name for name in categorical if name not in drop])
    numbers = [name for name in contexts if name not in texts]
    found = survey(log, numbers, texts)
    check_complete(found, numbers)
    values = {name: found[name].only_value for name in contexts}
    constant = {name: value for name, value in values.items() if value is not None and value != 0}
    zero = [name for name, value in values.items() if value == 0]
    left = [name for name in contexts if values[name] is None]
    if not left:
        raise ValueError(
            "every column is the same in every row, so that there is no diversity to measure; "
            "expected a column that varies"
        )
    schema = schema_of(
        found, left, texts, intercept=intercept or bool(constant), standardise=standardise
    )
    return LogContexts(log=log, schema=schema, constant=dict(constant), zero=zero)
