"""What every request passes first: host, origin, access key, rate limit; its answer's headers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import CALLER, REASON, UNKNOWN, Access, key_in, session_in
from greedyfirst.service.http.bodies import BodyTimeout
from greedyfirst.service.http.messages import Problem
from greedyfirst.service.http.observations import Observations
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.log.entries import Head

_MOST_CLIENTS = 10_000
_READS = ("GET", "HEAD", "OPTIONS")
#: Their answers have the log's head: that of the commit which they waited for, or a later one.
_WRITES = ("POST", "PUT")
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not "no-referrer": browsers would then send their own forms here without an origin.
    (b"referrer-policy", b"same-origin"),
]
#: Headers that a request may have once.
_ONCE = (
    b"authorization",
    b"idempotency-key",
    b"host",
    b"origin",
    b"content-length",
    b"transfer-encoding",
)
_NOT_KEPT = (b"cache-control", b"no-store")

ASGI = Callable[[Any, Any, Any], Any]


class RateLimit:
    """At most ``per_second`` requests of a client in the long run, a few seconds' worth at once."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = 2.0 * per_second
        self._clock = clock
        self._clients: dict[str, tuple[float, float]] = {}

    def admits(self, client: str) -> bool:
        """Whether the client may send one more now."""
        now = self._clock()
        left, then = self._clients.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._per_second)
        admitted = left >= 1.0
        self._clients[client] = (left - 1.0 if admitted else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return admitted


class Middleware:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGI,
        access: Access,
        hosts: frozenset[str] | None,
        rate: RateLimit,
        body_seconds: float,
        refused: Callable[[str, str, str | None], None],
        head: Callable[[], Head | None],
        observations: Observations,
        proxies: Proxies | None,
    ) -> None:
        self._refused, self._head = refused, head
        self._app, self._access, self._rate = app, access, rate
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        self._timeout = BodyTimeout(body_seconds)
        self._observations, self._proxies = observations, proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, with headers that all answers have, and note how long it took."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        observed = self._observations

        async def send_with_headers(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = [*message.get("headers", ())]
                kept = any(name.lower() == b"cache-control" for name, _ in given)
                more = [*_HEADERS, *(() if kept else (_NOT_KEPT,))]
                told = any(name.lower() == b"x-log-head" for name, _ in given)  # by the owner
                if scope["method"] in _WRITES and message["status"] < 300 and not told:
                    caller = scope["state"].get(CALLER)
                    if caller is not None and caller.policies is None:
                        more.append((b"x-log-head", str(self._head() or "").encode()))
                message["headers"] = [*given, *more]
            await send(message)

        headers = dict(scope["headers"])
        if self._proxies is not None:
            self._proxies.believe(scope, headers)
        observed.in_flight += 1
        try:
            await self._answer(scope, receive, send_with_headers, headers)
        finally:
            observed.in_flight -= 1
            seconds = time.perf_counter() - began
            caller = scope.get("state", {}).get(CALLER)
            who = "" if caller is None else caller.name
            route, client = scope.get("path_template", ""), _client(scope)
            noted = time.time(), seconds, scope["method"], route, status, who, client
            observed.seen.append(noted)

    async def _answer(
        self, scope: Any, receive: Any, send: Any, headers: dict[bytes, bytes]
    ) -> None:
        """Refuse, or pass on with the caller known."""
        if len(headers) < len(scope["headers"]) or b"transfer-encoding" in headers:
            sentence = _contradiction(scope["headers"])
            if sentence is not None:
                await refuse(send, headers, 400, sentence, ends_connection=True)
                return
        host = _host(headers.get(b"host", b""))
        if self._hosts is not None and host not in self._hosts:
            sentence = f"this service is not known as {host[:100]!r}; see serve --name"
            await refuse(send, headers, 421, sentence)
            return
        if scope["method"] not in _READS and not _same_origin(headers):
            # A page of another site, open in a browser beside this service.
            self._refused(_client(scope), "other site", None)
            await refuse(send, headers, 403, "requests from other sites are refused")
            return
        key, state = key_in(headers), scope.setdefault("state", {})
        try:
            if key is None and b"cookie" in headers:
                caller = await self._access.visitor(session_in(headers))
            else:
                caller = self._access.caller(key)
        except UnavailableError as error:  # told by what needs to know
            caller, state[UNKNOWN] = None, error
        state[CALLER] = caller
        if not self._rate.admits(_client(scope) if caller is None else caller.name):
            await refuse(send, headers, 429, "too many requests; wait a second")
            return
        if caller is None:
            state[REASON] = self._access.reason(key)
        if scope["method"] not in _READS:
            receive = self._timeout.limited(receive)
        await self._app(scope, receive, send)


def _contradiction(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """What is said twice of which only one can be meant: a proxy may have taken the other."""
    names = [name for name, _ in headers]
    for once in _ONCE:
        if names.count(once) > 1:
            return f"the header {once.decode().title()} must be given once"
    if b"transfer-encoding" in names and b"content-length" in names:
        return "a body has a Content-Length or a Transfer-Encoding, not both"
    return None


def _client(scope: Any) -> str:
    return str((scope.get("client") or ("", 0))[0])


@lru_cache(1000)
def _host(header: bytes) -> str:
    name = header.decode("latin-1").lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _same_origin(headers: dict[bytes, bytes]) -> bool:
    """Whether no browser sends this, or a page of this service; its port counts too."""
    origin = headers.get(b"origin")
    return (
        origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    )


async def refuse(
    send: Any,
    asked: dict[bytes, bytes],
    status: int,
    sentence: str,
    *,
    ends_connection: bool = False,
) -> None:
    """A sentence for people, JSON for programs."""
    if b"text/html" in asked.get(b"accept", b""):
        headers, body = [(b"content-type", b"text/plain; charset=utf-8")], sentence.encode()
    else:
        headers = [(b"content-type", b"application/json")]
        body = msgspec.json.encode(Problem(status=status, detail=sentence))
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if ends_connection:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
