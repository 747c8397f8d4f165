"""The requests that are under way."""

from __future__ import annotations

import asyncio
from typing import Any

from greedyfirst.service.http.middleware import ASGI


class RequestsInFlight:
    """The tasks of requests that an application has not answered yet."""

    def __init__(self, app: ASGI) -> None:
        self._app = app
        self.tasks: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._app(scope, receive, send)
        finally:
            self.tasks.discard(task)
