"""Looks at who owns policies, for requests that cannot wait for the next renewal of the leases."""

from __future__ import annotations

import asyncio
import time

from greedyfirst.service.beside import beside
from greedyfirst.service.log.ownership import Ownership

#: Seconds between the beginnings of two looks.
_EVERY = 0.2


class LeaseLooks:
    """A few looks a second at most, each for all requests that wait when it begins."""

    def __init__(self) -> None:
        self._next: asyncio.Task[None] | None = None
        self._began = -_EVERY

    async def look(self, leases: Ownership) -> None:
        """See who owns the policies now, or a little later."""
        if self._next is None:
            self._next = asyncio.create_task(self._look(leases))
        await asyncio.shield(self._next)

    async def _look(self, leases: Ownership) -> None:
        await asyncio.sleep(self._began + _EVERY - time.monotonic())
        self._next, self._began = None, time.monotonic()  # who comes now waits for the next one
        await beside(leases.see)
