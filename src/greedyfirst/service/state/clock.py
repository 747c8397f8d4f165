"""The service's time, which no jump of the machine's clock can move.

It is the machine's (wall) clock once, at the start, and from then on the seconds that have passed
since. Waits for rewards run on it. How far the wall clock has moved away from it is looked at every
second; a difference that lasts is a question to a person, who alone can say which of the two is
right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

#: Seconds that pass, those of a suspended machine included where the system counts them.
if hasattr(time, "CLOCK_BOOTTIME"):
    passing: Callable[[], float] = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
else:
    passing = time.monotonic

#: Seconds by which the two may differ before it is told.
TOLERANCE = 5.0
#: Looks in a row, a second apart, that must find a difference before it is told.
LOOKS = 2
#: Differences within the tolerance are followed at the rate at which NTP moves clocks: 500 ppm.
SLEW = 5e-4


class Clock:
    """The service's time is ``base + passing()``: a request reads it so, without a call more.

    Parameters
    ----------
    wall
        Seconds since 1970, as the machine has them; may jump.
    passing
        Seconds since some moment; never jumps.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        passing: Callable[[], float] = passing,
    ) -> None:
        self._wall, self.passing = wall, passing
        self.base = wall() - passing()
        #: Whether a person has to say which clock is right; and whether no wait ends before.
        self.asks = self.holds = False
        #: The difference that was told last.
        self.told = 0.0
        self._found = 0
        self._looked = passing()

    @property
    def offset(self) -> float:
        """Seconds by which the machine's clock is ahead of the service's."""
        return self._wall() - self.base - self.passing()

    def begin(self, last: float, longest_pause: float, ends: Callable[[float], bool]) -> bool:
        """Start after an entry of the time ``last``; whether a person has to be asked.

        Time goes on from that entry, and no wait ends, if the machine's clock is far behind it, or
        if it is more than ``longest_pause`` seconds ahead and a wait would end by that: ``ends``
        says whether one would at a time.
        """
        now = self._wall()
        self.base = now - self.passing()
        behind = now < last
        ahead = now - last > longest_pause and ends(now)
        if last and (behind or ahead):
            self.base = last - self.passing()
        self.asks = self.holds = abs(self.offset) > TOLERANCE
        self.told = self.offset if self.asks else 0.0
        return self.asks

    def look(self) -> bool:
        """Compare the two clocks; whether there is a difference, or its end, to be told."""
        elapsed = self.passing() - self._looked
        self._looked += elapsed
        offset = self.offset
        if abs(offset - self.told) <= TOLERANCE:
            self._found = 0
            if not self.told:
                most = SLEW * elapsed
                self.base += min(max(offset, -most), most)
            return False
        self._found += 1
        if self._found < LOOKS:
            return False
        self._found = 0
        self.asks = abs(offset) > TOLERANCE
        self.holds = self.holds and self.asks
        self.told = offset if self.asks else 0.0
        return True

    def steady(self) -> bool:
        """Whether the difference is still the one that was told."""
        return abs(self.offset - self.told) <= TOLERANCE

    def undo(self) -> Callable[[], None]:
        """What makes the clock again as it is now, and goes on asking."""
        base, told, asks, holds = self.base, self.told, self.asks, self.holds

        def back() -> None:
            self.base, self.told, self.asks, self.holds = base, told, asks, holds

        return back

    def follow(self) -> float:
        """Take over the machine's clock; the seconds by which that moved the service's."""
        moved = self.offset
        self.base += moved
        self.told, self.asks, self.holds = 0.0, False, False
        return moved

    def keep(self) -> None:
        """Go on as before, and ask again only when the difference changes."""
        self.asks = self.holds = False
