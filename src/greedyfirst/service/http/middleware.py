"""What every request passes first: host, origin, access key, rate limit; its answer's headers.

Access keys have a role, which says what their callers may do.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple

import msgspec
from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.http.bodies import BodyTimeout
from greedyfirst.service.http.messages import Problem
from greedyfirst.service.http.observations import Observations
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.log.access_keys import AccessKey

#: Each may do what those before it may.
ROLES = ("reader", "decider", "admin")
_READ_EVERY = 1.0
_log = logging.getLogger("greedyfirst.service")
COOKIE = "greedyfirst_key"
_CALLER = "greedyfirst_caller"
_MOST_CLIENTS = 10_000
_READS = ("GET", "HEAD", "OPTIONS")
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
_NOT_KEPT = (b"cache-control", b"no-store")

ASGI = Callable[[Any, Any, Any], Any]


class Caller(NamedTuple):
    """Who sends a request."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether what needs ``role`` is allowed."""
        return ROLES.index(self.role) >= ROLES.index(role)


#: Everyone, where there are no keys: only a service that listens on loopback is without.
ANYONE = Caller("", "admin")


def new_key() -> str:
    """A key that nobody can guess."""
    return "gf_" + secrets.token_urlsafe(32)


def hashed(key: str) -> bytes:
    """How a key is kept. It has 256 random bits, so a plain hash cannot be searched."""
    return hashlib.sha256(key.encode()).digest()


class Access:
    """The keys in force.

    Parameters
    ----------
    read
        Where they are read.
    needed
        Whether nobody may do anything without a key, even where there is none.
    """

    def __init__(self, read: Callable[[], Iterable[AccessKey]], *, needed: bool = False) -> None:
        self._read, self._needed = read, needed
        self._callers = self._read_callers()

    def _read_callers(self) -> dict[bytes, Caller]:
        return {key.hashed: Caller(key.name, key.role) for key in self._read()}

    def refresh(self) -> None:
        """Read them again; while that fails, those known before stay in force."""
        try:
            self._callers = self._read_callers()
        except (LogFailedError, DamagedLogError) as error:
            _log.error("the keys cannot be read (%s); those known stay in force", error)

    async def keep_fresh(self) -> None:
        """Read them every second: one that was removed is soon of no use.

        In a thread, since a read beside the writer would keep requests waiting.
        """
        while True:
            await asyncio.sleep(_READ_EVERY)
            await asyncio.to_thread(self.refresh)

    @property
    def empty(self) -> bool:
        """Whether there is no key."""
        return not self._callers

    def caller(self, key: str | None) -> Caller | None:
        """Who has this key; None if nobody does."""
        if self.empty and not self._needed:
            return ANYONE
        return None if key is None else self._callers.get(hashed(key))


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
        observations: Observations,
        proxies: Proxies | None,
    ) -> None:
        self._app, self._access, self._rate = app, access, rate
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        self._timeout = BodyTimeout(body_seconds)
        self._observations, self._proxies = observations, proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on with the caller known; note how long it took."""
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
                message["headers"] = [*given, *_HEADERS, *(() if kept else (_NOT_KEPT,))]
            await send(message)

        headers = dict(scope["headers"])
        client = (scope.get("client") or ("", 0))[0]
        if self._proxies is not None:
            client = self._proxies.client(scope, headers)
        caller = self._access.caller(_key(headers))
        scope.setdefault("state", {})[_CALLER] = caller
        observed.in_flight += 1
        try:
            await self._answer(scope, receive, send_with_headers, headers, caller, client)
        finally:
            observed.in_flight -= 1
            ended = time.perf_counter()
            route = scope.get("path_template", "")
            name = "" if caller is None else caller.name
            noted = time.time(), ended - began, scope["method"], route, status, name, client
            observed.seen.append(noted)

    async def _answer(
        self,
        scope: Any,
        receive: Any,
        send: Any,
        headers: dict[bytes, bytes],
        caller: Caller | None,
        client: str,
    ) -> None:
        host = _host(headers.get(b"host", b""))
        if self._hosts is not None and host not in self._hosts:
            sentence = f"this service is not known as {host[:100]!r}; see serve --name"
            await _refuse(send, headers, 421, sentence)
            return
        if scope["method"] not in _READS and not _same_origin(headers):
            # A page of another site, open in a browser beside this service.
            await _refuse(send, headers, 403, "requests from other sites are refused")
            return
        if not self._rate.admits(client if caller is None else caller.name):
            await _refuse(send, headers, 429, "too many requests; wait a second")
            return
        if scope["method"] not in _READS:
            receive = self._timeout.limited(receive)
        await self._app(scope, receive, send)


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


def _key(headers: dict[bytes, bytes]) -> str | None:
    if b"authorization" in headers:
        kind, _, key = headers[b"authorization"].decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            return key.strip()
    if b"cookie" not in headers:
        return None
    try:
        cookie = SimpleCookie(headers[b"cookie"].decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return None if cookie is None else cookie.value


async def _refuse(send: Any, asked: dict[bytes, bytes], status: int, sentence: str) -> None:
    """A sentence for people, JSON for programs."""
    if b"text/html" in asked.get(b"accept", b""):
        headers, body = [(b"content-type", b"text/plain; charset=utf-8")], sentence.encode()
    else:
        headers = [(b"content-type", b"application/json")]
        body = msgspec.json.encode(Problem(status=status, detail=sentence))
    if status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller | None:
    """Who sends this request; None for someone without a valid key."""
    caller: Caller | None = connection.scope["state"].get(_CALLER)
    return caller


def signed(connection: ASGIConnection[Any, Any, Any, Any], who: str) -> str:
    """The person, and the key that was used in their name."""
    caller = caller_of(connection)
    return f"{who} (key {caller.name})" if caller and caller.name else who


#: The option of a handler that calls :func:`admit` itself: the role.
NEEDS = "needs"
#: The roles of the guards that :func:`needs` has made.
_roles: dict[Any, str] = {}
Guard = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], Awaitable[None]]


def admit(connection: ASGIConnection[Any, Any, Any, Any], role: str) -> None:
    """Refuse callers who may not do what ``role`` may."""
    caller = caller_of(connection)
    if caller is None:
        raise NotAuthorizedException("a valid key is needed: Authorization: Bearer KEY")
    if not caller.may(role):
        raise PermissionDeniedException(f"the key {caller.name!r} may not do this: {role} only")


def needs(role: str) -> Guard:
    """:func:`admit` as a guard of a route; a coroutine, so that it needs no thread."""

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        admit(connection, role)

    _roles[guard] = role
    return guard


def needed_role(handler: HTTPRouteHandler) -> str | None:
    """The role that a route needs: by its guard, or as a handler says that admits by itself."""
    named = [_roles[guard] for guard in handler.resolve_guards() if guard in _roles]
    role: str | None = named[0] if named else handler.opt.get(NEEDS)
    return role
