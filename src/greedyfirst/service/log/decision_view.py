"""A decision and what came of it, from its entries in the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import (
    Decided,
    Decision,
    Effect,
    Erased,
    Expired,
    Reduced,
    RewardCorrected,
    Rewarded,
    Status,
)
from greedyfirst.service.log.log import ReadableLog


class CorrectionView(Struct, frozen=True, kw_only=True):
    """What a person said about a reward; ``value`` None: it is void."""

    at: float
    value: float | None
    before: float | None
    effect: Effect
    who: str
    why: str


class RewardView(Struct, frozen=True, kw_only=True):
    """A reward that came for a decision, as it came, and what stands of it; None if it is void."""

    at: float
    part: str
    value: float
    outcome: Literal["counted", "late", "held"]
    stands: float | None
    corrections: tuple[CorrectionView, ...] = ()


class ErasureView(Struct, frozen=True, kw_only=True):
    """Who had a person's features erased, when and why."""

    at: float
    who: str
    why: str
    #: Other entries from which what follows from the features was removed.
    reduced: int = 0
    #: How many of all these entries had no nonce, so that their seals still confirm a guess of what
    #: was in them; null in logs from before there were any. Copies from before still have all.
    guessable: int | None = None


class DecisionView(Struct, frozen=True, kw_only=True):
    """A decision and what came of it."""

    answer: Decision
    context: dict[str, Any]
    eligible_arms: tuple[str, ...] | None
    rewards: tuple[RewardView, ...]
    status: Status
    #: The reward that counts, which the model learned, None if there is none (yet). A policy does
    #: not learn from its control group unless it was asked to.
    learned: float | None
    #: The context and what follows from it are empty then.
    erased: ErasureView | None = None


def decision_views(
    log: ReadableLog, policy: str, *, summed: bool, last: int | None = None
) -> Iterator[tuple[Entry, DecisionView]]:
    """All decisions of a deployment in order, as they stand after entry ``last``."""
    end = log.last()[0] if last is None else last
    for entry in log.read(policy, before=end + 1):
        if entry.kind == "decided" and entry.step is not None:
            about = [each for each in log.about(policy, entry.step) if each.seq <= end]
            yield entry, decision_view(about, summed=summed)


def decision_view(entries: list[Entry], *, summed: bool) -> DecisionView:
    """A decision and what came of it; ``summed`` if rewards come in parts."""
    decided = entries[0].event
    assert isinstance(decided, Decided)
    rewards = _rewards(entries)
    expired = next((e.event for e in entries if isinstance(e.event, Expired)), None)
    status, learned = _fate(rewards, expired, summed=summed)
    erased = None
    for entry in entries:
        if isinstance(entry.event, Erased):
            reduced = sum(e.event.count for e in entries if isinstance(e.event, Reduced))
            event = entry.event
            erased = ErasureView(
                at=entry.at,
                who=event.who,
                why=event.why,
                reduced=reduced,
                guessable=event.guessable,
            )
            learned = None
            if status not in ("missing", "late"):
                status = "voided"
    return DecisionView(
        answer=decided.answer,
        context=decided.context,
        eligible_arms=decided.eligible_arms,
        rewards=rewards,
        status=status,
        learned=learned,
        erased=erased,
    )


def _rewards(entries: list[Entry]) -> tuple[RewardView, ...]:
    """The rewards in the order in which they came, each with its corrections."""
    corrections: dict[str, list[CorrectionView]] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, RewardCorrected):
            corrections.setdefault(event.part, []).append(
                CorrectionView(
                    at=entry.at,
                    value=event.value,
                    before=event.before,
                    effect=event.effect,
                    who=event.who,
                    why=event.why,
                )
            )
    found = []
    for entry in entries:
        event = entry.event
        if isinstance(event, Rewarded):
            made = tuple(corrections.get(event.part, ()))
            found.append(
                RewardView(
                    at=entry.at,
                    part=event.part,
                    value=event.value,
                    outcome=event.outcome,
                    stands=made[-1].value if made else event.value,
                    corrections=made,
                )
            )
    return tuple(found)


def _fate(
    rewards: tuple[RewardView, ...], expired: Expired | None, *, summed: bool
) -> tuple[Status, float | None]:
    """What came of a decision, and what was learned from it."""
    in_time = [reward for reward in rewards if reward.outcome != "late"]
    if expired is None and (summed or not in_time):
        return "pending", None
    if any(each.outcome == "held" and not each.corrections for each in in_time):
        return "held", None
    if in_time:
        left = [each.stands for each in in_time if each.stands is not None]
        return ("rewarded", sum(left)) if left else ("voided", None)
    if expired is not None and expired.learned is not None:
        return "defaulted", expired.learned
    return ("late", None) if rewards else ("missing", None)
