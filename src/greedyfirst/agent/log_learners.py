"""Copies of an agent's state that take in a log: a policy's, or the linear part of a likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from greedyfirst.agent import stored_state
from greedyfirst.agent.loops import Workspace, learn_many
from greedyfirst.agent.noise_sums import no_noise
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import member_of
from greedyfirst.compiling.records import allocate, parts_of
from greedyfirst.models import adding_sums
from greedyfirst.models.generalized_linear import LINEAR_WARMUP
from greedyfirst.models.likelihood import GeneralizedLinear
from greedyfirst.models.row_sums import Expected, RowSums
from greedyfirst.policies import learning_by_sums
from greedyfirst.policies.glm_greedy import EXACT, GLMGreedy
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.tables.log_rows import LogRows
from greedyfirst.validation import wrong

if TYPE_CHECKING:
    from greedyfirst.agent.running_policy import RunningPolicy


class Learner(Protocol):
    """What takes in rows by their sums where it can, else one by one."""

    #: Whether it can at all.
    adds_up: bool

    def expected(self) -> Expected:
        """What is known of rows to come."""

    def can_add(self, sums: RowSums) -> bool:
        """Whether nothing happens in these rows that their sums do not tell."""

    def add(self, sums: RowSums) -> None:
        """Take in rows by their sums."""

    def learn_rows(self, rows: LogRows) -> None:
        """Take in one row after the other."""


def copied_state(agent: RunningPolicy) -> Any:
    """The agent's state, in memory of its own."""
    _, state = new_state(agent.options, agent.n_arms, agent.n_features, agent.room)
    stored_state.fill(state, dict(agent.state.arrays()))
    watch = agent.policy.watch(state)
    if watch is not None:
        watch.decided = agent.decisions
    return state


class PolicyLearner:
    """A policy's state that takes in rows which it has not decided."""

    def __init__(self, agent: RunningPolicy) -> None:
        self.state, self._options = copied_state(agent), agent.options
        self.adds_up = learning_by_sums.adds_up(agent.options)
        _, noise = no_noise()
        parts = {"policy": agent.options, "state": self.state, "noise": noise}
        sizes = {"n_arms": agent.n_arms, "d": agent.n_features}
        _, self._work = allocate(lambda memory: Workspace(memory, **parts, **sizes))
        self._loop = loop_for(learn_many, agent.policy, agent.options, self.state)

    def expected(self) -> Expected:
        """What is known of rows to come."""
        return learning_by_sums.expected(self.state)

    def can_add(self, sums: RowSums) -> bool:
        """Whether nothing happens in these rows that their sums do not tell."""
        return learning_by_sums.can_add(self._options, self.state, sums)

    def add(self, sums: RowSums) -> None:
        """Take in rows by their sums."""
        learning_by_sums.add(self._options, self.state, sums)

    def learn_rows(self, rows: LogRows) -> None:
        """Take in one row after the other."""
        steps = np.full(len(rows.arms), FOREIGN, np.int64)
        contexts = np.ascontiguousarray(rows.columns.T)
        run(self._loop, self._work, 0, steps, contexts, rows.arms, rows.rewards)


class LinearPartLearner:
    """The Gram matrices, counts and ranks beside a likelihood's estimates."""

    adds_up = True

    def __init__(self, agent: RunningPolicy) -> None:
        self.state = copied_state(agent)
        self.model: GeneralizedLinear = self.state.model

    def expected(self) -> Expected:
        """What is known of rows to come."""
        linear = self.model.linear
        return Expected(
            reference=np.zeros(linear.estimate.shape[1]),
            complements=adding_sums.complements(linear),
        )

    def can_add(self, sums: RowSums) -> bool:
        """Whether no row has a direction that none had before."""
        return adding_sums.can_add(self.model.linear, sums)

    def add(self, sums: RowSums) -> None:
        """Take in rows by their sums."""
        adding_sums.add(self.model.linear, sums, LINEAR_WARMUP)

    def learn_rows(self, rows: LogRows) -> None:
        """Take in one row after the other."""
        contexts = np.ascontiguousarray(rows.columns.T)
        adding_sums.add_one_by_one(
            self.model.linear, LINEAR_WARMUP, contexts, rows.arms, rows.rewards
        )


def fits_likelihood(agent: RunningPolicy) -> bool:
    """Whether the policy is one of maximum likelihood; refused if it would keep every row."""
    if not _has_likelihood(agent.state):
        return False
    if member_of(agent.options).update is not GLMGreedy.update:
        expected = (
            "one for linear rewards, or GLMGreedy: others of maximum likelihood learn no logs"
        )
        raise wrong("policy", agent.policy, expected)
    if getattr(agent.policy, "memory", None) == EXACT:
        expected = "a number of rows that are kept, for logs: 'exact' would keep every row of them"
        raise wrong("memory", EXACT, expected)
    return True


def _has_likelihood(record: Any) -> bool:
    return isinstance(record, GeneralizedLinear) or any(map(_has_likelihood, parts_of(record)))
