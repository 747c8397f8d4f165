"""What an agent learns from a log of any size, as if each row had been given to ``update``.

Shards of the log are summed on threads, block by block (:mod:`greedyfirst.models.row_sums`), and
the sums are added to the state in the log's order. A block in which more can happen than its sums
tell is read again and learned row by row: a prior that is learned again, a look at the arms, a new
direction of the contexts, or a switch test that its bounds do not settle
(:mod:`greedyfirst.policies.learning_by_sums`). Nothing depends on the number of threads.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from greedyfirst.agent import stored_state
from greedyfirst.agent.loops import Workspace, learn_many
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.records import allocate, parts_of
from greedyfirst.models.likelihood import GeneralizedLinear
from greedyfirst.models.row_sums import Expected, RowSums, add_up
from greedyfirst.policies import learning_by_sums
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.tables.log_files import Shard, open_log
from greedyfirst.tables.log_rows import LogColumns, LogRows
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import whole_number, wrong

if TYPE_CHECKING:
    from greedyfirst.agent.agent import Agent


# Shards that are summed ahead of the state, and what their sums may take: each is summed with what
# the state expects when this many before it have been added, whatever the number of threads.
AHEAD, AHEAD_BYTES = 32, 2**28


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A state that has learned a log, and what that took."""

    state: Any
    rows: int
    #: Rows that were learned one by one, since their sums did not tell enough.
    one_by_one: int


def learn_from(
    agent: Agent,
    dataset: Any,
    *,
    arm: str,
    reward: str,
    schema: Schema | None = None,
    rewarded_only: bool = False,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Learned:
    """A copy of the agent's state after all rows of a log; the agent itself is not changed."""
    n_jobs = whole_number("n_jobs", n_jobs, at_least=-1)
    if n_jobs == 0:
        raise wrong("n_jobs", n_jobs, "at least 1, or -1 for one per processor")
    n_jobs = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    columns = LogColumns(
        contexts=_context_columns(agent, schema),
        arm=arm,
        reward=reward,
        arm_names=agent.arm_names,
        schema=schema,
        rewarded_only=rewarded_only,
    )
    learner, learned = Learner(agent, columns), 0
    with open_log(dataset) as log, _progress(progress) as bar:
        columns.check(log.schema)
        task = None if bar is None else bar.add_task("rows", total=log.rows)
        for rows in learner.learn(log.shards, n_jobs):
            learned += rows
            if bar is not None:
                bar.update(task, completed=learned)
    if not learned:
        raise ValueError(f"no row of the log has a reward in column {reward!r}")
    return Learned(state=learner.state, rows=learned, one_by_one=learner.one_by_one)


def sum_shard(shard: Shard, columns: LogColumns, expected: Expected, skip: int) -> list[RowSums]:
    """The sums of a shard's blocks but for the first ``skip``: plain data in and out."""
    blocks = islice(columns.read(shard), skip, None)
    return [add_up(*rows, len(columns.arm_names), expected) for rows in blocks]


class Learner:
    """A copy of an agent's state that takes in a log."""

    def __init__(self, agent: Agent, columns: LogColumns) -> None:
        n_arms, n_features = agent.n_arms, agent.n_features
        self.columns, self.options, self.one_by_one = columns, agent.options, 0
        self._buffer, self.state = new_state(self.options, n_arms, n_features, agent.room)
        _check_bounded(agent)
        stored_state.fill(self.state, dict(agent.state.arrays()))
        watch = agent.policy.watch(self.state)
        if watch is not None:
            watch.decided = agent.decisions
        parts = {"policy": self.options, "state": self.state}
        sizes = {"n_arms": n_arms, "d": n_features}
        _, self._work = allocate(lambda memory: Workspace(memory, **parts, **sizes))
        self._loop = loop_for(learn_many, agent.policy, self.options, self.state)

    def learn(self, shards: Sequence[Shard], n_jobs: int) -> Iterator[int]:
        """Take in all shards in their order; the rows that are done, as they are."""
        if not learning_by_sums.adds_up(self.options):
            for shard in shards:
                for rows in self.columns.read(shard):
                    yield self._learn_rows(rows)
            return
        # The first block has most of what happens only once, and tells what to expect of others.
        first = next(self.columns.read(shards[0]), None)
        if first is not None:
            yield self._learn_rows(first)
        done = int(first is not None)
        for shard, blocks in self._summed(shards, done, n_jobs):
            reader = _Reader(self.columns, shard)
            for number, sums in enumerate(blocks, start=done):
                if learning_by_sums.can_add(self.options, self.state, sums):
                    learning_by_sums.add(self.options, self.state, sums)
                else:
                    self._learn_rows(reader.block(number))
                yield sums.rows
            done = 0

    def _summed(
        self, shards: Sequence[Shard], done: int, n_jobs: int
    ) -> Iterator[tuple[Shard, list[RowSums]]]:
        """Each shard with the sums of its blocks, those aside that are ``done`` in the first."""
        n_arms, d = len(self.columns.arm_names), len(self._work.context)
        blocks = max(shard.rows for shard in shards) // self.columns.block_rows + 1
        ahead = max(1, min(AHEAD, AHEAD_BYTES // (8 * n_arms * d * d * blocks)))
        to_come = iter((shard, done if shard is shards[0] else 0) for shard in shards)
        with ThreadPoolExecutor(n_jobs) as pool:
            waiting: deque[tuple[Shard, Future[list[RowSums]]]] = deque()

            def submit(count: int) -> None:
                expected = learning_by_sums.expected(self.state)
                for shard, skip in islice(to_come, count):
                    task = pool.submit(sum_shard, shard, self.columns, expected, skip)
                    waiting.append((shard, task))

            try:
                submit(ahead)
                while waiting:
                    shard, task = waiting.popleft()
                    yield shard, task.result()
                    submit(1)
            finally:
                for _, task in waiting:
                    task.cancel()

    def _learn_rows(self, rows: LogRows) -> int:
        """Learn one row after the other, none of them decided here."""
        steps = np.full(len(rows.arms), FOREIGN, np.int64)
        contexts = np.ascontiguousarray(rows.columns.T)
        run(self._loop, self._work, steps, contexts, rows.arms, rows.rewards)
        self.one_by_one += len(steps)
        return len(steps)


class _Reader:
    """The blocks of a shard that are read again, in their order."""

    def __init__(self, columns: LogColumns, shard: Shard) -> None:
        self._blocks = enumerate(columns.read(shard))

    def block(self, wanted: int) -> LogRows:
        """The rows of this block; none before the last one that was asked for."""
        return next(rows for number, rows in self._blocks if number == wanted)


def _check_bounded(agent: Agent) -> None:
    """Refuse a policy that would keep every row."""
    if any(isinstance(each, GeneralizedLinear) for each in _records(agent.state)):
        expected = "one for linear rewards: maximum likelihood keeps the rows that it learns from"
        raise wrong("policy", agent.policy, expected)


def _records(record: Any) -> Iterator[Any]:
    yield record
    for each in parts_of(record):
        yield from _records(each)


def _context_columns(agent: Agent, schema: Schema | None) -> tuple[str, ...]:
    """The columns that contexts are made of."""
    if schema is None:
        return agent.feature_names
    if schema.feature_names != agent.feature_names:
        expected = f"one whose encoded columns are the agent's: {', '.join(agent.feature_names)}"
        raise wrong("schema", schema.feature_names, expected)
    return tuple(feature.name for feature in schema.features)


def _progress(wanted: bool | None) -> Any:
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return nullcontext()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
