"""How a policy compares with current practice, as answers and pages show it."""

from __future__ import annotations

from msgspec import Struct

from greedyfirst.evaluation.control import Method, Rewards, Verdict
from greedyfirst.service.state.deployment import Deployment

LEVEL = 0.95


class GroupView(Struct, frozen=True, kw_only=True):
    """The decisions of a group, how many of them have a reward, and how many wait for it.

    The others have none that counts: it is missing, late, held or void.
    """

    decisions: int
    rewards: int
    awaited: int
    mean_reward: float | None


class ControlView(Struct, frozen=True, kw_only=True):
    """A policy beside current practice, which a random share of decisions goes to."""

    policy: GroupView
    control: GroupView
    #: Decisions in which current practice was not allowed: they are not compared.
    left_out: int
    #: By how much the policy was better, on average per decision, and its interval, which holds at
    #: all looks together with probability ``level``; None while it is too soon.
    advantage: float | None
    low: float | None
    high: float | None
    level: float
    #: "bounded": the level is proved; "asymptotic": it is approached with many rewards.
    method: Method
    verdict: Verdict
    #: All that in plain words.
    sentence: str


def control_view(deployment: Deployment) -> ControlView | None:
    """The comparison of a deployment; None where it has no control share."""
    control = deployment.control
    if control is None:
        return None
    counts, comparison = control.counts, control.comparison
    in_control, neither = len(counts.waiting_in_control), len(counts.waiting_left_out)
    found = comparison.advantage(level=LEVEL)
    return ControlView(
        policy=_group(
            counts.policy, comparison.policy, len(deployment.pending) - in_control - neither
        ),
        control=_group(counts.control, comparison.control, in_control),
        left_out=counts.left_out,
        advantage=None if found is None else found.value,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        level=LEVEL,
        method=comparison.method,
        verdict=comparison.verdict(level=LEVEL),
        sentence=comparison.sentence(level=LEVEL),
    )


def _group(decisions: int, rewards: Rewards, awaited: int) -> GroupView:
    return GroupView(
        decisions=decisions, rewards=rewards.count, awaited=awaited, mean_reward=rewards.mean
    )
