"""The record of a deployment's alarms: their numbers, which are open, how the others ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.log.events import (
    Alarmed,
    AnyEvent,
    ArmRetired,
    Fed,
    Resolved,
    SchemaChanged,
)

#: "answered": by a person, or by the policy itself where ``who`` is None; "fed": its arm has enough
#: samples again; "left out": its arm is not in use any more; "relearned": it was not there when the
#: policy had learned its past again; "superseded": its arm raised another one.
How = Literal["answered", "fed", "left out", "relearned", "superseded"]


class Ending(Struct, frozen=True, kw_only=True):
    """How an alarm came to its end."""

    arm: str
    at: float
    how: How
    answer: str | None = None
    who: str | None = None

    def sentence(self, number: int) -> str:
        """What happened to the alarm of this number."""
        when = datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        by = "the policy itself" if self.who is None else self.who
        match self.how:
            case "answered":
                return f"alarm {number} was answered by {by} on {when}: {self.answer}"
            case "fed":
                return f"alarm {number} was closed on {when}: the arm holds its share again"
            case "left out":
                return f"alarm {number} was closed on {when}: {by} took the arm out of use"
            case "relearned":
                return f"alarm {number} was closed on {when}: the policy learned its past again"
            case _:
                return f"alarm {number} was superseded on {when} by a newer one of the same arm"


class AlarmRecord(Struct):
    """All alarms so far, numbered 1, 2, …"""

    raised: int = 0
    #: Those that nobody has answered yet, by arm.
    open: dict[str, Alarmed] = field(default_factory=dict)
    #: The number of each arm's newest alarm, and how those ended that did.
    newest: dict[str, int] = field(default_factory=dict)
    ended: dict[int, Ending] = field(default_factory=dict)

    def add(self, alarm: Alarmed, at: float, *, leave_open: bool) -> Alarmed:
        """Take in an alarm; it comes back with its number.

        One from the log may be here already, since what raised it was done again. Older logs do not
        have its number: then it is its arm's newest.
        """
        arm = alarm.arm
        number = alarm.number or self.newest.get(arm) or self.raised + 1
        alarm = replace(alarm, number=number)
        self.raised = max(self.raised, number)
        before = self.open.get(arm)
        if before is not None and (before.number or 0) < number:
            self.end(arm, "superseded", at)
        self.newest[arm] = max(number, self.newest.get(arm, 0))
        if leave_open:
            self.open[arm] = alarm
            self.ended.pop(number, None)
        else:
            self.ended[number] = Ending(arm=arm, at=at, how="answered", answer=alarm.answered)
        return alarm

    def end(
        self, arm: str, how: How, at: float, *, answer: str | None = None, who: str | None = None
    ) -> None:
        """The arm's open alarm, if it has one, comes to its end."""
        alarm = self.open.pop(arm, None)
        if alarm is not None and alarm.number is not None:
            self.ended[alarm.number] = Ending(arm=arm, at=at, how=how, answer=answer, who=who)

    def change(self, resolved: Resolved, at: float) -> None:
        """A person's answer stands from now on, if the alarm that it is about has one."""
        number = resolved.alarm or self.newest.get(resolved.arm, 0)
        ending = self.ended.get(number)
        if ending is not None and ending.how == "answered":
            answer, who = resolved.resolution, resolved.who
            self.ended[number] = replace(ending, at=at, answer=answer, who=who)

    def copied(self) -> AlarmRecord:
        """A copy that later changes leave alone."""
        return AlarmRecord(
            raised=self.raised,
            open=dict(self.open),
            newest=dict(self.newest),
            ended=dict(self.ended),
        )


def recounted(past: Iterable[tuple[float, AnyEvent]], left: dict[str, Alarmed]) -> AlarmRecord:
    """The record after a deployment's audited events, of which the alarms ``left`` are open."""
    record, relearned_at = AlarmRecord(), 0.0
    for at, event in past:
        match event:
            case Alarmed():
                number = event.number or record.raised + 1
                leave_open = ANSWERS[event.answered].leaves_open
                record.add(replace(event, number=number), at, leave_open=leave_open)
            case Fed():
                record.end(event.arm, "fed", at)
            case ArmRetired():
                record.end(event.arm, "left out", at, who=event.who)
            case Resolved():
                name, who = event.resolution, event.who
                settled = [*record.open] if ANSWERS[name].begins_exploring else [event.arm]
                for arm in settled:
                    record.end(arm, "answered", at, answer=name, who=who)
                record.change(event, at)
            case SchemaChanged():
                relearned_at = at
    for arm in record.open.keys() - left:
        record.end(arm, "relearned", relearned_at)
    for arm, alarm in left.items():
        record.open[arm] = replace(alarm, number=record.newest.get(arm))
    return record
