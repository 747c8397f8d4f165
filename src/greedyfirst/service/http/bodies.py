"""Request bodies: received in time, read up to a size, parsed from JSON into checked structs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from litestar import Request
from litestar.exceptions import ClientException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from greedyfirst.service.errors import BadRequestError, InvalidError
from greedyfirst.service.http.messages import DecisionRequest
from greedyfirst.service.state.names import EXPECTED, READABLE

Receive = Callable[[], Awaitable[Any]]
T = TypeVar("T")
#: How often the timer looks, as a share of the time that a body may take.
LOOKS = 8

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


class BodyTimeout:
    """Ends the wait for bodies that take longer than ``seconds``, give or take an eighth.

    A timer for each request would cost more than a decision. Requests that wait are noted instead,
    and one timer for all of them looks now and then whether one has waited too long.
    """

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


def parse(body: bytes, kind: type[T]) -> T:
    """The body as a ``kind``, or an error that says what is wrong with it."""
    try:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        content: T = _decoders[kind].decode(body)
    except msgspec.ValidationError as error:
        if str(error).startswith("Number out of range"):  # without the name of the feature
            return _lenient(body, kind)
        raise InvalidError(_sentence(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _lenient(body, kind)
    # Colons are between names and values, or in texts: usually this needs no second look.
    colons = body.count(b":")
    likely = colons < 2 or colons == _names_asked(content)
    if not likely and colons != _names_in(msgspec.json.decode(body)):
        _read(body)
    return content


def _names_asked(content: Any) -> int | None:
    """How many names a request for a decision has if none is there twice; None for others."""
    if not isinstance(content, DecisionRequest):
        return None
    return 1 + len(content.context) + (content.eligible_arms is not None)


def _names_in(content: Any) -> int:
    """How many names its objects have."""
    if isinstance(content, dict):
        return len(content) + sum(
            _names_in(each) for each in content.values() if isinstance(each, (dict, list))
        )
    if isinstance(content, list):
        return sum(map(_names_in, content))
    return 0


def _read(body: bytes) -> Any:
    """The body as plain data; an error if an object has a name twice."""
    try:
        return json.loads(body, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise BadRequestError("the body must be JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRequestError(f"the body has the name {twice!r} twice in one object")
    return found


def _lenient(body: bytes, kind: type[T]) -> T:
    """Read NaN, Infinity and 1e400 too, as many send them, so that errors name a field."""
    content = _read(body)
    try:
        msgspec.json.encode(content)  # halves of a character would fail only when they are logged
    except (ValueError, RecursionError):
        raise BadRequestError("the body must be JSON") from None
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InvalidError(_sentence(error)) from None


def _sentence(error: msgspec.ValidationError) -> str:
    said = str(error).replace(f"`str` matching regex {READABLE!r}", EXPECTED)
    what, _, where = said.partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    return f"{place or 'the body'}: {what[:1].lower()}{what[1:]}".replace("`", "")
