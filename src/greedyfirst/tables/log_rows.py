"""The rows of a log as numbers: contexts, arms and rewards, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from greedyfirst.tables.columns import check_known, first_row
from greedyfirst.tables.log_files import Shard, batches, is_amount, is_text
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import BoolArray, FloatArray, IntArray, wrong

# Numbers of a block of rows, and the most rows of one: part of what makes results the same
# wherever they are computed.
BLOCK_NUMBERS, BLOCK_ROWS = 2**21, 2**14


class LogRows(NamedTuple):
    """A block of rows: features by column (d, n), arms by number (n,) and rewards (n,)."""

    columns: FloatArray
    arms: IntArray
    rewards: FloatArray


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """Which columns of a log are what: plain data, for any process that reads a shard.

    Attributes
    ----------
    contexts
        The columns of the context, in its order; with a ``schema`` those that it encodes.
    arm, reward
        The columns of the arm that was taken and of its reward.
    arm_names
        The arms. A column of text names them. A column of whole numbers names them too where all
        names are whole numbers, such as "1" and "2"; else it counts them from 0.
    schema
        How named columns become contexts; None takes them as the numbers that they are.
    rewarded_only
        Whether rows without a reward are left out; else they are refused.
    """

    contexts: Sequence[str]
    arm: str
    reward: str
    arm_names: Sequence[str]
    schema: Schema | None = None
    rewarded_only: bool = False

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.contexts) if self.schema is None else self.schema.n_features

    @property
    def block_rows(self) -> int:
        """Rows that are read and summed at a time."""
        return min(BLOCK_ROWS, BLOCK_NUMBERS // self.width + 1)

    def check(self, log: pa.Schema) -> None:
        """Refuse a log without these columns, or of other kinds."""
        for argument, name in (("arm", self.arm), ("reward", self.reward)):
            check_known(argument, name, log.names)
            if name in self.contexts:
                raise wrong(argument, name, "no column of the context")
        if self.arm == self.reward:
            raise wrong("reward", self.reward, "another column than the arm's")
        for name in self.contexts:
            if name not in log.names:
                raise ValueError(f"the log has no column {name!r}, a feature of the agent")
        numbers = [self.reward, *(() if self.schema else self.contexts)]
        for name in numbers:
            kind = log.field(name).type
            if not is_amount(kind):
                raise ValueError(f"column {name!r} must hold numbers, got {kind}")
        kind = log.field(self.arm).type
        if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"column {self.arm!r} must hold names or numbers of arms, got {kind}")

    def read(self, shard: Shard) -> Iterator[LogRows]:
        """The shard's rows, a block at a time; none is empty."""
        names = [*dict.fromkeys([*self.contexts, self.arm, self.reward])]
        first = 0
        for batch in batches(shard, names, self.block_rows):
            if self.rewarded_only:
                rewarded = ~np.isnan(_numbers(batch.column(self.reward)))
                batch = batch.filter(pa.array(rewarded))
                if batch.num_rows == 0:
                    continue
            columns = self._contexts(batch, shard, first)
            arms, rewards = self._arms(batch, shard), np.empty(batch.num_rows)
            _fill(rewards, batch.column(self.reward), self.reward, shard)
            yield LogRows(columns, arms, rewards)
            first += batch.num_rows

    def _contexts(self, batch: pa.RecordBatch, shard: Shard, first: int) -> FloatArray:
        if self.schema is not None:
            frame = batch.select([*self.contexts]).to_pandas()
            try:
                return np.ascontiguousarray(self.schema.encode(frame).T)
            except ValueError as error:
                where = f"{shard.name}, after its row {first}" if first else shard.name
                raise ValueError(f"{where}: {error}; correct such rows or leave them out") from None
        columns = np.empty((len(self.contexts), batch.num_rows))
        for place, name in enumerate(self.contexts):
            _fill(columns[place], batch.column(name), name, shard)
        return columns

    def _arms(self, batch: pa.RecordBatch, shard: Shard) -> IntArray:
        taken = batch.column(self.arm)
        if pa.types.is_floating(taken.type):  # in a file that is not the first
            raise ValueError(
                f"{shard.name}: column {self.arm!r} must hold names or numbers of arms, got "
                f"{taken.type}"
            )
        arms = self.arms_in(taken)
        if arms.min() < 0:
            raise self._no_arm(shard)
        return arms

    def arms_in(self, taken: pa.Array) -> IntArray:
        """The arms' numbers, -1 for what is none."""
        if pa.types.is_boolean(taken.type):
            taken = taken.cast(pa.string())  # "true" and "false", as everywhere in tables
        if is_text(taken.type) or all(_is_whole(name) for name in self.arm_names):
            if pa.types.is_dictionary(taken.type):
                taken = taken.dictionary_decode()
            known = pa.array(self.arm_names, pa.string())
            taken = pc.index_in(taken.cast(pa.string()), known)
        arms: IntArray = taken.cast(pa.int64()).fill_null(-1).to_numpy()
        return np.where(arms < len(self.arm_names), arms, -1)

    def _no_arm(self, shard: Shard) -> ValueError:
        shown = ", ".join(self.arm_names[:8]) + (", …" if len(self.arm_names) > 8 else "")
        fault = f"are none of the arms {shown}", f"is none of the arms {shown}"
        return _refusal(shard, self.arm, lambda column: self.arms_in(column) < 0, fault)


def _refusal(
    shard: Shard, name: str, bad: Callable[[pa.Array], BoolArray], fault: tuple[str, str]
) -> ValueError:
    """One sentence: which column of which shard, how many cells, and the first of them.

    ``fault`` says what is wrong with several cells, and with one.
    """
    found = [
        (batch.column(name), bad(batch.column(name)))
        for batch in batches(shard, [name], BLOCK_ROWS)
    ]
    flags = np.concatenate([each for _, each in found])
    value = next(column[int(np.argmax(each))].as_py() for column, each in found if each.any())
    count = int(flags.sum())
    return ValueError(
        f"{shard.name}: column {name!r} has {'a cell' if count == 1 else f'{count} cells'} that "
        f"{fault[count == 1]}, the first in its row {first_row(flags)} ({value!r}); correct such "
        "rows or leave them out"
    )


def _numbers(column: pa.Array) -> np.ndarray:
    """A column's numbers, NaN where one is missing."""
    tests = (pa.types.is_null, pa.types.is_decimal, pa.types.is_boolean)
    if any(test(column.type) for test in tests):
        column = column.cast(pa.float64())
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False)
    return numbers


def _fill(out: FloatArray, column: pa.Array, name: str, shard: Shard) -> None:
    """Copy a column's numbers, all of them finite."""
    out[:] = _numbers(column)
    # A sum is finite unless a term is not, or it overflows; only then is each number looked at.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(out.sum())
    if suspect and not np.isfinite(out).all():
        fault = "are missing or not finite", "is missing or not finite"
        raise _refusal(shard, name, lambda column: ~np.isfinite(_numbers(column)), fault)


def _is_whole(name: str) -> bool:
    return name.isascii() and name.removeprefix("-").isdigit()
