"""What happens with keys, for the log: changes of them, sign-ins, and requests that are refused.

A flood of refused requests makes one entry a minute for each client and reason, with their number.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from greedyfirst.service.errors import DamagedLogError, LogFailedError, RequestError
from greedyfirst.service.http.key_watch import KeyWatch
from greedyfirst.service.log.events import Refused, SignedIn
from greedyfirst.service.service import DecisionService

_MINUTE = 60.0
_PAUSE = 1.0
#: So many clients and reasons are told apart; the others are counted together.
_MOST = 1000
_OTHERS = "other clients"

#: A client, why it was refused, and the name of its key.
Who = tuple[str, str, str | None]


class AccessTrail:
    """Records what happens with keys, as entries that belong to no policy.

    Parameters
    ----------
    service
        Where it is recorded.
    watch
        Notices changes of the keys.
    clock
        Seconds that only go forward.
    """

    def __init__(
        self,
        service: DecisionService,
        watch: KeyWatch,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service, self._watch, self._clock = service, watch, clock
        #: When each was recorded last, and how many have come since then.
        self._refused: dict[Who, tuple[float, int]] = {}

    def refused(self, client: str, reason: str, key: str | None) -> None:
        """A request was refused."""
        who = (client, reason, key)
        if who not in self._refused and len(self._refused) >= _MOST:
            who = (_OTHERS, reason, None)
        recorded, count = self._refused.get(who, (-_MINUTE, 0))
        self._refused[who] = recorded, count + 1
        self._record_refused(who)

    def signed_in(self, key: str, client: str) -> None:
        """Somebody began a session."""
        self._service.record(SignedIn(key=key, client=client))

    def _record_refused(self, who: Who) -> None:
        """Once a minute, unless nothing can be recorded."""
        now = self._clock()
        recorded, count = self._refused[who]
        if now - recorded < _MINUTE:
            return
        if not count:
            del self._refused[who]
            return
        client, reason, key = who
        if self._service.record(Refused(client=client, reason=reason, key=key, count=count)):
            self._refused[who] = now, 0

    async def flush(self) -> None:
        """Record what is due."""
        for who in list(self._refused):
            self._record_refused(who)
        while self._watch.changes:
            number, changed = self._watch.changes[0]
            try:
                recorded = await self._service.record_once(changed, f"key-change-{number}")
            except (RequestError, LogFailedError, DamagedLogError):  # later, when it can be
                recorded = False
            if not recorded:
                return
            self._watch.changes.popleft()

    async def keep(self) -> None:
        """Record what is due, every second."""
        while True:
            await self.flush()
            await asyncio.sleep(_PAUSE)
