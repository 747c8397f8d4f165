"""A control share in plain words."""

from __future__ import annotations

from greedyfirst.service.dashboard import wording
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.state.policy_description import Control

#: What must be so for the comparison to be right.
ASSUMPTION = (
    "Rewards that have not come yet are not compared. That is right if when a reward comes, and "
    "whether it does, has nothing to do with the group: look whether the same share of both groups "
    "has one."
)


def practice(control: Control) -> str:
    """What current practice is."""
    if control.policy is not None:
        return f"the policy {control.policy.policy}, which learns from its own share"
    return f"always {control.arm}"


def group(view: DecisionView, control: Control | None) -> str:
    """Which group a decision is in; nothing where there is no control share."""
    if control is None:
        return ""
    share = wording.percent(control.share)
    if view.answer.group == "control":
        return f"It is in the control group: {share} of decisions, drawn at random."
    if view.answer.group == "policy":
        return f"It is in the policy’s group: all but {share} of decisions, drawn at random."
    return (
        f"Current practice, {practice(control)}, was not allowed here: the policy decided, and the "
        "decision is left out of the comparison."
    )


def fate(view: DecisionView, control: Control | None) -> str:
    """What came of a decision."""
    taught = view.status in ("rewarded", "defaulted")
    if control is None or control.learn or view.answer.group != "control" or not taught:
        return wording.fate(view)
    reward = wording.number(view.learned)
    came = f"Its reward was {reward}"
    if view.status == "defaulted":
        came = f"No reward came in time, so it has the default, {reward}"
    return f"{came}: it is compared, and the policy does not learn from it."
