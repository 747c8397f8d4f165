"""What follows when the machine's clock has jumped: the question to a person, and the answer."""

from __future__ import annotations

import logging
from collections.abc import Callable

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import (
    SERVICE,
    ClockAnswer,
    ClockAnswered,
    ClockJumped,
    WaitsMoved,
)
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.state.clock import Clock
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.deployments import Deployments

#: Seconds: a service that was down for longer asks before waits end by that.
LONGEST_PAUSE = 7 * 86_400.0
#: The newest entries of the service itself, among which one that was just added must be.
_LATEST = 1000
_log = logging.getLogger("greedyfirst.service")
#: Adds an event of a deployment to the journal.
Record = Callable[[Journal, Deployment, float, list[WaitsMoved]], None]


class Timekeeping:
    """Watches the clock of a service and takes people's answers about it."""

    def __init__(
        self,
        clock: Clock,
        running: Deployments,
        *,
        now: Callable[[], float],
        longest_pause: float,
    ) -> None:
        self.clock, self._running = clock, running
        self._now, self._longest_pause = now, longest_pause
        self._begun = False
        #: An answer on its way to the log: its entry, and what to go back to without it.
        self._answered: tuple[Entry, Callable[[], None]] | None = None

    async def opened(self, journal: Journal) -> None:
        """Set the clock when the log has been opened, for the first time or again."""
        if self._answered is not None:
            entry, undo = self._answered
            recorded = await journal.ahead.run(journal.log.audit, SERVICE, None, _LATEST)
            if entry[1:] not in [each[1:] for each in recorded]:
                undo()
                latest = max(journal.latest, self.clock.base + self.clock.passing())
                self._running.latest = latest
            self._answered = None
        if self._begun:
            return
        self._begun = True

        def ends(at: float) -> bool:
            # Where each policy is restored only when it is taken, one of them may have such a wait.
            if journal.log.leases is not None:
                return bool(journal.log.leases.policies)
            return any(deployment.overdue(at) for deployment in self._running.by_name.values())

        if self.clock.begin(journal.latest, self._longest_pause, ends):
            self._tell(journal)

    def look(self, journal: Journal) -> None:
        """Compare the clocks; a difference that lasts goes into the log."""
        if self.clock.look():
            self._tell(journal)

    def _tell(self, journal: Journal) -> None:
        clock = self.clock
        jumped = ClockJumped(offset=clock.told, holds=clock.holds)
        journal.add(jumped, at=self._now(), policy=SERVICE)
        fields = {"offset_seconds": round(clock.told, 3), "waits_held": clock.holds}
        sentence = self.question or "the machine's clock agrees with the service's again"
        _log.warning("%s", sentence, extra={"event": "clock_jumped", "fields": fields})

    @property
    def question(self) -> str | None:
        """What a person has to decide, None if nothing."""
        clock = self.clock
        if not clock.asks:
            return None
        where = "ahead of" if clock.told > 0 else "behind"
        held = "; no wait for a reward ends before" if clock.holds else ""
        return (
            f"the machine's clock is {duration(abs(clock.told))} {where} the service's, which goes "
            f"on as before: answer whether to follow it{held}"
        )

    def answer(
        self, journal: Journal, answer: ClockAnswer, who: str, why: str, record: Record
    ) -> None:
        """Do what a person says about the difference.

        ``follow`` moves the waits with the stamps, so that none ends or lengthens by it; after
        ``passed`` they count the difference as time that they have waited.
        """
        clock = self.clock
        if not clock.asks:
            raise ConflictError("the clock needs no answer: it agrees, or somebody has answered")
        if not clock.steady():
            raise ConflictError("the machine's clock has changed again just now; look again")
        if answer == "passed" and clock.told < 0:
            raise ConflictError("no time can have passed: the machine's clock is behind")
        undo, moved = clock.undo(), 0.0
        if answer == "keep":
            clock.keep()
        else:
            moved = clock.follow()
            self._running.latest = clock.base + clock.passing()
        at = self._now()
        if answer == "follow":
            for deployment in self._running.by_name.values():
                if deployment.pending:
                    deployment.pending.move(moved)
                    record(journal, deployment, at, [WaitsMoved(seconds=moved, who=who, why=why)])
        answered = ClockAnswered(answer=answer, moved=moved, who=who, why=why)
        self._answered = journal.add(answered, at=at, policy=SERVICE), undo

    def recorded(self) -> None:
        """The answer is on disk."""
        self._answered = None


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    for unit, length in (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}s".replace(".0 ", " ")
    return f"{seconds:.0f} seconds"
