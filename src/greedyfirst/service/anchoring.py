"""Notes the log's head elsewhere: every hour in an anchor file, every day in the process log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from greedyfirst.service.log.anchors import AnchorFile
from greedyfirst.service.log.entries import Head
from greedyfirst.service.service import DecisionService

HOUR, DAY = 3600.0, 86_400.0
_log = logging.getLogger("greedyfirst.service")


class Anchoring:
    """Looks after the anchors of a service.

    Parameters
    ----------
    service
        Whose log it is.
    file
        Where heads are noted; None for the process log alone.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        service: DecisionService,
        file: AnchorFile | None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._service, self._file, self._clock = service, file, clock
        self._noted: Head | None = None

    async def note(self) -> None:
        """Note the head, unless it is the one noted last."""
        head = self._service.head()
        if head is None or head == self._noted or self._file is None:
            return
        try:
            await asyncio.to_thread(self._file.add, head, self._clock())
            self._noted = head
        except OSError as error:
            _log.error("the log's head could not be noted in %s: %s", self._file.path, error)

    async def keep(self) -> None:
        """Note it every hour, and tell it every day."""
        told = -DAY
        while True:
            await self.note()
            head = self._service.head()
            if head is not None and time.monotonic() - told >= DAY:
                told = time.monotonic()
                _log.info("the log's head is %s", head)
            await asyncio.sleep(HOUR)
