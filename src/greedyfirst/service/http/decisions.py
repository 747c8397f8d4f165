"""Bodies in and answers out without Litestar's objects, for the requests that are asked most."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request
from litestar.exceptions import ClientException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

_encoder = msgspec.json.Encoder()


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """The whole body, if it is not longer than the application allows."""
    most = request.app.request_max_body_size
    body, more = b"", True
    while more:
        message: Any = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientException("the connection ended before the body did")
        body = body + message["body"] if body else message["body"]
        more = message.get("more_body", False)
        if isinstance(most, int) and len(body) > most:
            raise RequestEntityTooLarge
    return body


class Answer:
    """A struct as the answer to a request."""

    __slots__ = ("_body", "_status")

    def __init__(self, content: msgspec.Struct, status: int) -> None:
        self._body, self._status = _encoder.encode(content), status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self._body)),
        ]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})
