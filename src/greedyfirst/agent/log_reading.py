"""Passes over a log of any size: shards are summed elsewhere, and taken in in their order.

What a shard's sums are does not depend on where. Each is summed with what the learner expects when
a fixed number of shards before it have been taken in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import numpy as np

from greedyfirst.agent.log_learners import Learner
from greedyfirst.compiling.families import options_of
from greedyfirst.engines.calls import Calls, results_in_order
from greedyfirst.links.link import Link, check_rewards
from greedyfirst.models.likelihood_sums import LikelihoodSums, sum_likelihood
from greedyfirst.models.row_sums import Expected, RowSums, add_up
from greedyfirst.tables.log_files import Shard
from greedyfirst.tables.log_rows import LogColumns, LogRows
from greedyfirst.validation import FloatArray

# Shards that are summed ahead; the bytes that their sums may take, and those of one shard: part of
# what makes results the same wherever they are computed.
AHEAD, AHEAD_BYTES, SHARD_BYTES = 32, 2**28, 2**25


def sum_shard(shard: Shard, columns: LogColumns, expected: Expected, skip: int) -> list[RowSums]:
    """The sums of a shard's blocks but for the first ``skip``: plain data in and out.

    Where they would take too much memory, those of neighbours are added.
    """
    found: list[RowSums] = []
    for rows in islice(columns.read(shard), skip, None):
        found.append(add_up(*rows, len(columns.arm_names), expected))
        if len(found) == 2 * most_sums(columns):
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [first.merged(second) for first, second in pairs]
    return found


def most_sums(columns: LogColumns) -> int:
    """How many sums there is room for in a shard."""
    return max(1, SHARD_BYTES // bytes_of_sums(columns))


def bytes_of_sums(columns: LogColumns) -> int:
    """What the sums of one block take."""
    return 8 * len(columns.arm_names) * columns.width**2


def sum_shard_likelihood(
    shard: Shard, columns: LogColumns, link: type[Link], points: FloatArray, squared: bool
) -> LikelihoodSums:
    """The sums of a shard for a step of Newton's method: plain data in and out."""
    total, options = LikelihoodSums.zero(*points.shape), options_of(link)
    for rows in columns.read(shard):
        check_rewards(f"{shard.name}: {columns.reward}", link, rows.rewards)
        total.add(sum_likelihood(options, *rows, points, squared=squared))
    return total


def compile_sums(n_arms: int, link: type[Link] | None) -> None:
    """Have what sums shards compiled; with a link, what sums for a step of Newton's method too."""
    none, zeros = np.zeros((1, 0)), np.zeros((n_arms, 1))
    rows = none, np.zeros(0, np.int64), np.zeros(0)
    add_up(*rows, n_arms, Expected(reference=zeros[0], complements=()))
    if link is not None:
        sum_likelihood(options_of(link), *rows, zeros, squared=False)


class LogReading:
    """A log that is read in shards.

    Parameters
    ----------
    columns, shards
        What is read.
    calls
        Where shards are summed.
    advance
        Called with the number of rows that are done.
    """

    def __init__(
        self,
        columns: LogColumns,
        shards: Sequence[Shard],
        calls: Calls,
        advance: Callable[[int], None],
    ) -> None:
        self._columns, self._shards = columns, shards
        self._calls, self._advance = calls, advance
        #: Rows taken in by :meth:`learn`, and those of them that were taken in one by one.
        self.rows = self.one_by_one = 0

    def learn(self, learner: Learner) -> None:
        """Let the learner take in all rows in their order."""
        if not learner.adds_up:
            for shard in self._shards:
                for rows in self._columns.read(shard):
                    self._learn_rows(learner, rows)
            return
        # The first block has most of what happens only once, and tells what to expect of others.
        first = next(self._columns.read(self._shards[0]), None)
        if first is not None:
            self._learn_rows(learner, first)
        done = int(first is not None)

        def work(shard: Shard) -> Callable[[], list[RowSums]]:
            skip = done if shard is self._shards[0] else 0
            return partial(sum_shard, shard, self._columns, learner.expected(), skip)

        for shard, blocks in results_in_order(self._calls, self._shards, work, ahead=self._ahead()):
            again = enumerate(self._columns.read(shard))
            for sums in blocks:
                if learner.can_add(sums):
                    learner.add(sums)
                    self._count(sums.rows)
                else:
                    last = done + sums.blocks - 1
                    for number, rows in again:
                        if number >= done:
                            self._learn_rows(learner, rows)
                        if number == last:
                            break
                done += sums.blocks
            done = 0

    def sum_likelihood(self, link: type[Link], points: FloatArray, squared: bool) -> LikelihoodSums:
        """The sums of all rows for a step of Newton's method, at ``points`` (n_arms, d)."""
        total = LikelihoodSums.zero(*points.shape)

        def work(shard: Shard) -> Callable[[], LikelihoodSums]:
            return partial(sum_shard_likelihood, shard, self._columns, link, points, squared)

        for shard, sums in results_in_order(self._calls, self._shards, work, ahead=AHEAD):
            total.add(sums)
            self._advance(shard.rows)
        return total

    def _ahead(self) -> int:
        """Shards whose sums there is room for."""
        blocks = max(shard.rows for shard in self._shards) // self._columns.block_rows + 1
        each = bytes_of_sums(self._columns) * min(blocks, 2 * most_sums(self._columns))
        return max(1, min(AHEAD, AHEAD_BYTES // each))

    def _learn_rows(self, learner: Learner, rows: LogRows) -> None:
        learner.learn_rows(rows)
        self.one_by_one += len(rows.arms)
        self._count(len(rows.arms))

    def _count(self, rows: int) -> None:
        self.rows += rows
        self._advance(rows)
