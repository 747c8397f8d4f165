"""The policies that a replay plays, unless it is told others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from greedyfirst.policies import (
    OFUL,
    FixedArm,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    Oracle,
    Policy,
    ThompsonSampling,
)
from greedyfirst.validation import wrong

GREEDY, GREEDY_FIRST, GLM_GREEDY = "Greedy", "Greedy-First", "GLM Greedy"
ALL_ROWS, FIXED = "Least squares on all rows", "Always the same arm"
#: The first pulls of each arm that a verdict is tried with.
FIRST_PULLS = (1, 2, 5)
#: Rows × features² up to which maximum likelihood takes seconds, and the rows that it keeps.
MOST_GLM_WORK, GLM_MEMORY = 20_000_000, 512

#: What each is, in words.
MEANINGS = {
    GREEDY: "always the arm that looks best so far; never explores",
    GREEDY_FIRST: "greedy, but an arm that starves gets the benefit of the doubt",
    GLM_GREEDY: "greedy with logistic regressions, for rewards of 0 and 1; never explores",
    "LinUCB": "the arm with the highest upper confidence bound of a ridge regression",
    "OLS Bandit": "every arm is forced now and then, on a schedule; greedy in between",
    "OFUL": "the highest upper confidence bound, by a proved but wide bound",
    "Thompson sampling": "the arm with the highest draw from what is known of each",
    ALL_ROWS: "knows all rows beforehand: the arm that their least squares fit predicts",
    FIXED: "the arm that is best on average over all rows, known beforehand",
}


def default_policies(
    n_rows: int, n_features: int, best_arm: int, *, yes_no: bool, initial_pulls: int = 1
) -> dict[str, Policy]:
    """Policies that are right on any table: what has a unit is learned.

    Examples
    --------
    >>> from greedyfirst.replay import default_policies
    >>> "Greedy-First" in default_policies(500, 4, best_arm=0, yes_no=True)
    True
    """
    played: dict[str, Policy] = {
        GREEDY: Greedy(initial_pulls=initial_pulls),
        GREEDY_FIRST: GreedyFirst(initial_pulls=initial_pulls),
        GLM_GREEDY: GLMGreedy(initial_pulls=initial_pulls, memory=GLM_MEMORY),
        "LinUCB": LinUCB(regularization="auto"),
        "OLS Bandit": OLSBandit(h="auto", initial_pulls=initial_pulls),
        "OFUL": OFUL(regularization="auto"),
        "Thompson sampling": ThompsonSampling(prior_covariance="auto"),
        ALL_ROWS: Oracle(),
        FIXED: FixedArm(arm=best_arm),
    }
    if not yes_no or n_rows * n_features**2 > MOST_GLM_WORK:
        del played[GLM_GREEDY]
    return played


def chosen_policies(played: Mapping[str, Policy], names: Sequence[str]) -> dict[str, Policy]:
    """Those of these names, and what they are measured by."""
    unknown = [name for name in names if name not in played]
    if unknown:
        raise wrong("policies", unknown[0], f"names of {', '.join(played)}")
    return {name: each for name, each in played.items() if name in (*names, ALL_ROWS, FIXED)}


def pulls_first(policy: Policy) -> bool:
    """Whether it has first pulls of each arm to make."""
    return any(option.name == "initial_pulls" for option in fields(policy))


def with_first_pulls(policy: Policy, pulls: int) -> Policy:
    """The same with other first pulls."""
    changed: dict[str, Any] = {"initial_pulls": pulls}
    return replace(policy, **changed)


def variant(name: str, pulls: int) -> str:
    """The name of a policy with other first pulls."""
    return f"{name}, {pulls} first pulls"
