"""A decision and what came of it, from its entries in the log."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Decided, Decision, Expired, Rewarded


class RewardView(Struct, frozen=True, kw_only=True):
    """A reward that came for a decision."""

    at: float
    part: str
    value: float
    outcome: Literal["counted", "late"]


class DecisionView(Struct, frozen=True, kw_only=True):
    """A decision and what came of it."""

    answer: Decision
    context: dict[str, Any]
    eligible_arms: tuple[str, ...] | None
    rewards: tuple[RewardView, ...]
    status: Literal["pending", "rewarded", "defaulted", "missing"]
    #: What the model learned from it, None if nothing (yet).
    learned: float | None


def decision_view(entries: list[Entry], *, summed: bool) -> DecisionView:
    """A decision and what came of it; ``summed`` if rewards come in parts."""
    decided = entries[0].event
    assert isinstance(decided, Decided)
    rewards, status, learned = [], "pending", None
    for entry in entries[1:]:
        event = entry.event
        if isinstance(event, Rewarded):
            rewards.append(
                RewardView(at=entry.at, part=event.part, value=event.value, outcome=event.outcome)
            )
            if event.outcome == "counted" and not summed:
                status, learned = "rewarded", event.value
        elif isinstance(event, Expired):
            learned = event.learned
            status = "rewarded" if rewards else "missing" if learned is None else "defaulted"
    final: Any = status
    return DecisionView(
        answer=decided.answer,
        context=decided.context,
        eligible_arms=decided.eligible_arms,
        rewards=tuple(rewards),
        status=final,
        learned=learned,
    )
