"""How long a client may take to send a body: nobody is to be held up for ever.

A timer for each request would cost more than a decision. Requests that wait are noted instead, and
one timer for all of them looks now and then whether one has waited too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.exceptions import ClientException

Receive = Callable[[], Awaitable[Any]]
#: How often the timer looks, as a share of the time that a body may take.
LOOKS = 8


class Patience:
    """Ends the wait for bodies that take longer than ``seconds``, give or take an eighth."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        #: Until when each waiting request may wait.
        self._until: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._looking = False

    def limited(self, receive: Receive) -> Receive:
        """``receive``, with a 408 if the body does not come in time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        complete = False

        async def receive_in_time() -> Any:
            nonlocal complete
            if complete:  # the answer may take its time
                return await receive()
            task = asyncio.current_task(loop)
            assert task is not None
            self._until[task] = end
            if not self._looking:
                self._look_later(loop)
            try:
                message = await receive()
            except asyncio.CancelledError:
                if task not in self._overdue:
                    raise
                self._overdue.discard(task)
                task.uncancel()
                sentence = f"the body did not come within {self._seconds:g} seconds; send it again"
                raise ClientException(sentence, status_code=408) from None
            finally:
                del self._until[task]
            complete = not message.get("more_body", False)
            return message

        return receive_in_time

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = True
        loop.call_later(self._seconds / LOOKS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task, end in self._until.items():
            if end <= now and task not in self._overdue:
                self._overdue.add(task)
                task.cancel()
        self._looking = False
        if self._until:
            self._look_later(loop)
