"""What an agent learns from a log of any size, as if each row had been given to ``update``.

Shards of the log are summed on threads or a cluster's workers, block by block
(:mod:`greedyfirst.models.row_sums`), and the sums are added to the state in the log's order. A
block in which more can happen than its sums tell is read again and learned row by row: a prior that
is learned again, a look at the arms, a new direction of the contexts, or a switch test that its
bounds do not settle (:mod:`greedyfirst.policies.learning_by_sums`). Nothing depends on where shards
are summed.

Maximum likelihood takes a pass over the log for each step of Newton's method:
:mod:`greedyfirst.agent.likelihood_passes`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from greedyfirst.agent.likelihood_passes import fit_log
from greedyfirst.agent.log_learners import LinearPartLearner, PolicyLearner, fits_likelihood
from greedyfirst.agent.log_reading import LogReading, compile_sums
from greedyfirst.engines.calls import calls_on
from greedyfirst.engines.engine import Where
from greedyfirst.models.likelihood_sums import LikelihoodSums
from greedyfirst.tables.log_files import open_log
from greedyfirst.tables.log_rows import LogColumns
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from greedyfirst.agent.running_policy import RunningPolicy


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A state that has learned a log, and what that took."""

    state: Any
    rows: int
    #: Rows that were learned one by one, since their sums did not tell enough.
    one_by_one: int


def learn_from(
    agent: RunningPolicy,
    dataset: Any,
    *,
    arm: str,
    reward: str,
    rewarded_only: bool = False,
    progress: bool | None = None,
    **where: Unpack[Where],
) -> Learned:
    """A copy of the agent's state after all rows of a log; the agent itself is not changed."""
    columns = LogColumns(
        contexts=_context_columns(agent),
        arm=arm,
        reward=reward,
        arm_names=agent.arm_names,
        schema=agent.schema,
        rewarded_only=rewarded_only,
    )
    learner = LinearPartLearner(agent) if fits_likelihood(agent) else PolicyLearner(agent)
    link = agent.policy.reward_link() if isinstance(learner, LinearPartLearner) else None
    prepare = partial(compile_sums, agent.n_arms, link) if learner.adds_up else None
    with (
        open_log(dataset) as log,
        calls_on(prepare=prepare, **where) as calls,
        _Shown(progress, log.rows) as shown,
    ):
        columns.check(log.schema)
        reading = LogReading(columns, log.shards, calls, shown.advance)
        reading.learn(learner)
        if not reading.rows:
            raise ValueError(f"no row of the log has a reward in column {reward!r}")
        if isinstance(learner, LinearPartLearner):
            _fit(agent, learner, reading, shown)
    return Learned(state=learner.state, rows=reading.rows, one_by_one=reading.one_by_one)


def _fit(
    agent: RunningPolicy, learner: LinearPartLearner, reading: LogReading, shown: _Shown
) -> None:
    """Maximum likelihood, a pass for each step; counts and Gram matrices are there already."""
    model, link = learner.model, agent.policy.reward_link()
    rows = model.linear.pulls - agent.state.model.linear.pulls
    model.squares[:] = np.einsum("aii->ai", model.gram)

    def read_log(points: FloatArray, squared: bool) -> LikelihoodSums:
        shown.begin()
        return reading.sum_likelihood(link, points, squared)

    fit_log(model, agent.options.warmup, rows, read_log)


def _context_columns(agent: RunningPolicy) -> tuple[str, ...]:
    """The columns that contexts are made of."""
    if agent.schema is None:
        return agent.feature_names
    return tuple(feature.name for feature in agent.schema.features)


class _Shown:
    """A progress bar for each pass, where one is wanted."""

    def __init__(self, wanted: bool | None, rows: int) -> None:
        self._rows, self._passes = rows, 0
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        hidden = wanted is False or (wanted is None and not sys.stderr.isatty())
        self._bar = (
            None
            if hidden
            else Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
        )
        self._task: Any = None

    def __enter__(self) -> _Shown:
        if self._bar is not None:
            self._bar.start()
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self) -> None:
        """Another pass over all rows."""
        self._passes += 1
        if self._bar is not None:
            self._task = self._bar.add_task(f"pass {self._passes}", total=self._rows)

    def advance(self, rows: int) -> None:
        """So many rows are done."""
        if self._bar is not None:
            self._bar.advance(self._task, rows)
