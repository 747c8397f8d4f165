"""A policy that learns along a log, from the rows in which it would have done the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.agent import Agent
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.policies import Policy
from greedyfirst.validation import IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class LogReplay:
    """Which rows a policy agreed with, and what these earned.

    Examples
    --------
    >>> from greedyfirst import FixedArm
    >>> from greedyfirst.evaluation import LoggedData, replay_log
    >>> log = LoggedData(contexts=[[1.0]] * 4, arms=[0, 1, 1, 0], rewards=[0.0, 1.0, 3.0, 0.0],
    ...                  arm_names=["old", "new"])
    >>> replay = replay_log(log, FixedArm(arm=1))
    >>> replay.agreement, replay.value
    (0.5, 2.0)
    """

    #: The arm that the policy would have taken in each row (n,).
    arms: IntArray
    #: The share of rows in which that is the log's.
    agreement: float
    #: The mean reward of these rows, each over its propensity; NaN where there is none.
    value: float
    #: The agent at the end, which has learned these rows.
    agent: Agent

    def __repr__(self) -> str:
        return f"LogReplay({len(self.arms)} rows, agreement {self.agreement:.4g}: {self.value:.4g})"


def replay_log(
    log: LoggedData, policy: Policy, *, seed: int = 0, learn_all: bool = False
) -> LogReplay:
    """Let a policy decide along the log, from its first row to its last.

    Where it takes the arm that was taken it learns the reward, and the row counts. On a log whose
    arms were drawn at random, whatever the context, that is what the policy would have lived
    through, in fewer rows. A policy on the log that it made itself, with its own seed, agrees in
    every row.

    Parameters
    ----------
    log
        Decisions in their order.
    policy, seed
        What decides, and its randomness.
    learn_all
        Learn also the rows in which the log took another arm. They do not count.

    Examples
    --------
    A policy that always takes the first arm agrees with half of this log:

    >>> from greedyfirst import FixedArm
    >>> from greedyfirst.evaluation import LoggedData, replay_log
    >>> log = LoggedData(contexts=[[1.0]] * 4, arms=[0, 1, 1, 0], rewards=[2.0, 1.0, 3.0, 4.0],
    ...                  arm_names=["old", "new"])
    >>> replay_log(log, FixedArm(arm=0)).value
    3.0
    """
    agent = Agent(policy, n_arms=log.n_arms, n_features=log.contexts.shape[1], seed=seed)
    arms = np.zeros(len(log), np.int64)
    for row, context in enumerate(log.contexts):
        arms[row] = agent.choose(context)
        if arms[row] == log.arms[row] or learn_all:
            agent.update(context, int(log.arms[row]), float(log.rewards[row]), step=agent.decisions)
    same = arms == log.arms
    weights = same if log.propensities is None else same / log.propensities
    total = float(weights.sum())
    value = float((weights * log.rewards).sum()) / total if total else float("nan")
    return LogReplay(arms=arms, agreement=float(same.mean()), value=value, agent=agent)
