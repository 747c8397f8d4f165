"""What every request passes first: host, origin, access key, rate limit; its answer's headers.

Access keys have a role, which says what their callers may do.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple, TypeVar

import msgspec
from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler

from greedyfirst.service.errors import DamagedLogError, LogFailedError, NotFoundError
from greedyfirst.service.http.bodies import BodyTimeout
from greedyfirst.service.http.messages import Problem
from greedyfirst.service.http.sessions import Sessions
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.entries import Head

#: Each may do what those before it may.
ROLES = ("reader", "decider", "admin")
_log = logging.getLogger("greedyfirst.service")
COOKIE = "greedyfirst_session"
_CALLER, _REASON = "greedyfirst_caller", "greedyfirst_reason"
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
_NOT_KEPT = (b"cache-control", b"no-store")

ASGI = Callable[[Any, Any, Any], Any]
T = TypeVar("T")


class Caller(NamedTuple):
    """Who sends a request."""

    name: str
    role: str
    #: The policies that the key is good for; None for all of them.
    policies: frozenset[str] | None = None

    def may(self, role: str) -> bool:
        """Whether what needs ``role`` is allowed."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, policy: str) -> bool:
        """Whether the key is good for this policy."""
        return self.policies is None or policy in self.policies


#: Everyone, where there never was a key: only a service that nobody else can reach is without.
ANYONE = Caller("", "admin")
NO_KEY, UNKNOWN_KEY, EXPIRED_KEY = "no key", "unknown key", "expired key"


def new_key() -> str:
    """A key that nobody can guess."""
    return "gf_" + secrets.token_urlsafe(32)


def hashed(key: str) -> bytes:
    """How a key is kept. It has 256 random bits, so a plain hash cannot be searched."""
    return hashlib.sha256(key.encode()).digest()


class Access:
    """The keys in force.

    Once there was a key, nobody may do anything without one, also after all were removed.

    Parameters
    ----------
    read
        Where they are read, removed ones too.
    needed
        Whether a key is needed even where there never was one.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[AccessKey]],
        *,
        needed: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._read, self._needed, self._clock = read, needed, clock
        #: By the hash of each secret: who has it, and until when it is good.
        self._callers: dict[bytes, tuple[Caller, float]] = {}
        self.keys: list[AccessKey] = []
        self.sessions = Sessions(clock=clock)
        #: When each key was used last.
        self.used: dict[str, float] = {}
        self._take(self._read())

    def _take(self, keys: Iterable[AccessKey]) -> None:
        callers = {}
        self.keys = list(keys)
        for key in self.keys:
            policies = None if key.policies is None else frozenset(key.policies)
            caller = Caller(key.name, key.role, policies)
            until = math.inf if key.expires is None else key.expires
            if key.removed is None:
                callers[key.hashed] = caller, until
                if key.before is not None:
                    callers[key.before] = caller, min(until, key.before_until or 0.0)
        self._callers = callers
        self._needed = self._needed or bool(self.keys)

    def refresh(self) -> None:
        """Read them again; while that fails, those known before stay in force."""
        try:
            self._take(self._read())
        except (LogFailedError, DamagedLogError) as error:
            _log.error("the keys cannot be read (%s); those known stay in force", error)

    @property
    def in_use(self) -> bool:
        """Whether there is a key that can be used."""
        return any(self._is_good(known) for known in self._callers)

    def _is_good(self, known: bytes) -> bool:
        return known in self._callers and self._clock() < self._callers[known][1]

    def caller(self, key: str | None) -> Caller | None:
        """Who has this key; None if nobody does."""
        if not self._needed:
            return ANYONE
        return None if key is None else self._caller(hashed(key))

    def _caller(self, known: bytes) -> Caller | None:
        if not self._is_good(known):
            return None
        caller = self._callers[known][0]
        self.used[caller.name] = self._clock()
        return caller

    def visitor(self, session: str | None) -> Caller | None:
        """Who is signed in with this session: it ends with its key."""
        if not self._needed:
            return ANYONE
        known = None if session is None else self.sessions.key_of(session)
        return None if known is None else self._caller(known)

    def reason(self, key: str | None) -> str:
        """Why nobody has this key."""
        if key is None:
            return NO_KEY
        return EXPIRED_KEY if hashed(key) in self._callers else UNKNOWN_KEY


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
    ) -> None:
        self._refused, self._head = refused, head
        self._app, self._access, self._rate = app, access, rate
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        self._timeout = BodyTimeout(body_seconds)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on with the caller known."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = [*message.get("headers", ())]
                kept = any(name.lower() == b"cache-control" for name, _ in given)
                more = [*_HEADERS, *(() if kept else (_NOT_KEPT,))]
                if scope["method"] in _WRITES and message["status"] < 300:
                    more.append((b"x-log-head", str(self._head() or "").encode()))
                message["headers"] = [*given, *more]
            await send(message)

        headers = dict(scope["headers"])
        host = _host(headers.get(b"host", b""))
        if self._hosts is not None and host not in self._hosts:
            sentence = f"this service is not known as {host[:100]!r}; see serve --name"
            await _refuse(send_with_headers, headers, 421, sentence)
            return
        if scope["method"] not in _READS and not _same_origin(headers):
            # A page of another site, open in a browser beside this service.
            self._refused(_client(scope), "other site", None)
            await _refuse(send_with_headers, headers, 403, "requests from other sites are refused")
            return
        key = _key(headers)
        if key is None and b"cookie" in headers:
            caller = self._access.visitor(_session(headers))
        else:
            caller = self._access.caller(key)
        client = _client(scope) if caller is None else caller.name
        if not self._rate.admits(client):
            await _refuse(send_with_headers, headers, 429, "too many requests; wait a second")
            return
        state = scope.setdefault("state", {})
        state[_CALLER] = caller
        if caller is None:
            state[_REASON] = self._access.reason(key)
        if scope["method"] not in _READS:
            receive = self._timeout.limited(receive)
        await self._app(scope, receive, send_with_headers)


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


def _key(headers: dict[bytes, bytes]) -> str | None:
    if b"authorization" in headers:
        kind, _, key = headers[b"authorization"].decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            return key.strip()
    return None


def _session(headers: dict[bytes, bytes]) -> str | None:
    """The token of the session that a browser has."""
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


def seen(connection: ASGIConnection[Any, Any, Any, Any], named: Mapping[str, T]) -> list[T]:
    """What the caller's key is good for, of things that belong to policies."""
    caller = caller_of(connection)
    return [each for name, each in named.items() if caller is not None and caller.sees(name)]


def reason_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Why this request was refused: it has no valid key, or its key may not do this."""
    return str(connection.scope["state"].get(_REASON, "not allowed"))


def session_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The token of the session that the request came with."""
    return _session(dict(connection.scope["headers"]))


def signed(connection: ASGIConnection[Any, Any, Any, Any], who: str) -> str:
    """The person, and the key that was used in their name."""
    caller = caller_of(connection)
    return f"{who} (key {caller.name})" if caller and caller.name else who


Guard = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], Awaitable[None]]


def admit(connection: ASGIConnection[Any, Any, Any, Any], role: str) -> None:
    """Refuse callers who may not do what ``role`` may, or not with the policy in the address."""
    caller = caller_of(connection)
    if caller is None:
        raise NotAuthorizedException("a valid key is needed: Authorization: Bearer KEY")
    if not caller.may(role):
        raise PermissionDeniedException(f"the key {caller.name!r} may not do this: {role} only")
    if caller.policies is not None:
        admit_to_policy(caller, connection.scope.get("path_params", {}))


def admit_to_policy(caller: Caller, asked: dict[str, Any]) -> None:
    """Hide what the key is not good for: the answers are those for what is not there."""
    if "policy" in asked and not caller.sees(asked["policy"]):
        raise NotFoundError(f"there is no policy {asked['policy']!r}")
    if "decision_id" in asked and not caller.sees(asked["decision_id"].rpartition(":")[0]):
        raise NotFoundError(f"there is no decision {asked['decision_id']!r}")


def needs(role: str, *, of_all_policies: bool = False) -> Guard:
    """:func:`admit` as a guard of a route; a coroutine, so that it needs no thread.

    With ``of_all_policies``, keys that are good for some policies only are refused.
    """

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        admit(connection, role)
        caller = caller_of(connection)
        if of_all_policies and caller is not None and caller.policies is not None:
            named = ", ".join(sorted(caller.policies))
            raise PermissionDeniedException(
                f"the key {caller.name!r} may not do this: it is good for {named} only"
            )

    return guard
