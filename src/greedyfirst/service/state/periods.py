"""The periods of a deployment's life: the decisions between two changes."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from greedyfirst.service.log.events import Alarmed
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state.answers import LEAVE_OPEN
from greedyfirst.service.state.protocol import shown

#: What begins a period.
_CHANGES = ("arm_added", "arm_retired", "arm_reinstated", "schema_changed", "resolved")


class Period(Struct, frozen=True, kw_only=True):
    """The decisions between two changes of arms, features or answers; the first has number 1."""

    number: int
    #: The first and the last decision; the last is below the first if there are none.
    first: int
    last: int
    #: When it began, and the event that began it.
    at: float
    event: dict[str, Any]


class Start(NamedTuple):
    """Where a period begins: the entry, and the decisions before it."""

    seq: int
    at: float
    before: int
    event: dict[str, Any]


def starts_of(log: ReadableLog, policy: str, last: int) -> list[Start]:
    """Where all periods begin, up to entry ``last``; the first with the policy's creation."""
    found = []
    for entry in log.audit(policy, last + 1, limit=10**6)[::-1]:
        event = entry.event if entry.kind == "alarmed" else None
        acted = isinstance(event, Alarmed) and event.answered != LEAVE_OPEN
        if entry.kind == "created" or entry.kind in _CHANGES or acted:
            before = log.decisions_before(policy, entry.seq)
            found.append(Start(entry.seq, entry.at, before, shown(entry)))
    return found


def periods_of(starts: list[Start], decisions: int) -> tuple[Period, ...]:
    """The periods, of which the last ends with the last decision."""
    ends = [start.before for start in starts[1:]] + [decisions]
    return tuple(
        Period(number=number, first=start.before + 1, last=end, at=start.at, event=start.event)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    )
