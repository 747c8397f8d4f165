"""The requests that are under way."""

from __future__ import annotations

import asyncio
from typing import Any

from greedyfirst.service.http.middleware import ASGI


class RequestsInFlight:
    """The tasks of requests that an application has not answered yet, with their peers."""

    def __init__(self, app: ASGI) -> None:
        self._app = app
        self.tasks: dict[asyncio.Task[Any], tuple[str, int] | None] = {}

    def peers(self) -> list[tuple[str, int] | None]:
        """Address and port of those who wait for an answer; any thread may ask."""
        return list(self.tasks.values())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        self.tasks[task] = scope.get("client")
        try:
            await self._app(scope, receive, send)
        finally:
            del self.tasks[task]
