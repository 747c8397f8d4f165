"""The policies whose value is asked for: the probability of each arm in each context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.agent import Agent
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.policies import Policy
from greedyfirst.tables.columns import check_known
from greedyfirst.validation import FloatArray, array, wrong

if TYPE_CHECKING:
    import pandas

#: A policy that learns from other rows of the log; an agent as it is; probabilities (n, n_arms), or
#: a function that gives them.
Target = Policy | Agent | ArrayLike | Callable[[FloatArray], ArrayLike]


def learns(target: Target) -> bool:
    """Whether the target has to learn from the log first."""
    return isinstance(target, Policy)


def probabilities(target: Target, log: LoggedData, others: LoggedData | None) -> FloatArray:
    """What the target would do in each row (n, n_arms), a policy once it has learned ``others``."""
    if isinstance(target, Policy):
        if others is None:
            raise ValueError("a policy needs other rows to learn from")
        return _of_agent(learned_agent(target, others), log)
    if isinstance(target, Agent):
        if (target.n_arms, target.n_features) != (log.n_arms, log.contexts.shape[1]):
            raise wrong(
                "target",
                target,
                f"an agent with {log.n_arms} arms and {log.contexts.shape[1]} features, as the log",
            )
        return _of_agent(target if target.schema is None else target.without_schema(), log)
    given = target(log.contexts) if callable(target) else target
    return checked(given, log)


def learned_agent(policy: Policy, log: LoggedData) -> Agent:
    """An agent that has learned every row of a log, and goes on from there."""
    agent = Agent(policy, n_arms=log.n_arms, n_features=log.contexts.shape[1], seed=0)
    agent.update_many(log.contexts, log.arms, log.rewards)
    agent.decisions = len(log)  # forced samples and first pulls that depend on time are due no more
    return agent


def _of_agent(agent: Agent, log: LoggedData) -> FloatArray:
    return agent.probabilities(log.contexts)


def checked(given: ArrayLike, log: LoggedData) -> FloatArray:
    """Probabilities that are some: not below 0, and 1 in each row."""
    found = array("target", given, (len(log), log.n_arms))
    sums = found.sum(axis=1)
    wrong_rows = np.flatnonzero((found < 0).any(axis=1) | (abs(sums - 1) > 1e-6))
    if len(wrong_rows):
        row = int(wrong_rows[0])
        raise wrong(f"target[{row}]", found[row].tolist(), "probabilities that add up to 1")
    return found


def always(log: LoggedData, arm: str) -> FloatArray:
    """Always the same arm.

    Examples
    --------
    >>> from greedyfirst.evaluation import LoggedData, always
    >>> log = LoggedData(contexts=[[1.0], [1.0]], arms=[0, 1], rewards=[0.0, 1.0],
    ...                  arm_names=["old", "new"])
    >>> always(log, "new").tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if arm not in log.arm_names:
        raise wrong("arm", arm, f"one of {', '.join(log.arm_names)}")
    found = np.zeros((len(log), log.n_arms))
    found[:, log.arm_names.index(arm)] = 1.0
    return found


def shares_of(
    frame: pandas.DataFrame,
    other: pandas.DataFrame,
    log: LoggedData,
    *,
    arm: str,
    by: Sequence[str] = (),
) -> FloatArray:
    """What another log did: the shares of its arms, for each combination of the columns ``by``.

    ``frame`` is the table of ``log``. A combination that the other log does not have is refused.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedyfirst.evaluation import LoggedData, shares_of
    >>> frame = pd.DataFrame({"age": [30, 50], "arm": ["old", "new"], "reward": [0.0, 1.0]})
    >>> log = LoggedData.from_table(frame, arm="arm", reward="reward")
    >>> other = pd.DataFrame({"arm": ["old", "new", "new", "new"]})
    >>> log.arm_names, shares_of(frame, other, log, arm="arm").tolist()
    (('new', 'old'), [[0.75, 0.25], [0.75, 0.25]])
    """
    for name in (arm, *by):
        check_known("by" if name in by else "arm", name, [str(column) for column in other.columns])
    unknown = sorted({*other[arm].astype(str)} - {*log.arm_names})
    if unknown:
        raise ValueError(f"arm {unknown[0]!r} of the other log is not among those of this one")
    keys = [str(column) for column in by]
    own, theirs = _groups(frame, keys), _groups(other, keys)
    names = {name: number for number, name in enumerate(log.arm_names)}
    counts: dict[tuple[str, ...], FloatArray] = {}
    for group, taken in zip(theirs, other[arm].astype(str), strict=True):
        counts.setdefault(group, np.zeros(log.n_arms))[names[taken]] += 1
    missing = next((group for group in own if group not in counts), None)
    if missing is not None:
        described = ", ".join(f"{key} = {value}" for key, value in zip(keys, missing, strict=True))
        raise ValueError(f"the other log has no row with {described}")
    return np.array([counts[group] / counts[group].sum() for group in own])


def _groups(frame: pandas.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    columns = [frame[key].astype(str) for key in keys]
    return list(zip(*columns, strict=True)) if columns else [()] * len(frame)
