"""Callers: the keys in force, their roles, and what each role may do.

The outermost layer finds out who sends a request; routes ask here whether that caller may do it.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple, TypeVar

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from greedyfirst.service.errors import (
    DamagedLogError,
    LogFailedError,
    NotFoundError,
    UnavailableError,
)
from greedyfirst.service.http.sessions import Sessions, SessionsInMemory
from greedyfirst.service.log.access_keys import AccessKey

#: Each may do what those before it may.
ROLES = ("operator", "reader", "decider", "admin")
COOKIE = "greedyfirst_session"
#: Seconds for which keys stay in force that cannot be read again.
LONGEST_STALE = 5.0
#: Where a request's scope has its caller, why it has none, and why nobody can tell at the moment.
CALLER, REASON, UNKNOWN = "greedyfirst_caller", "greedyfirst_reason", "greedyfirst_unknown"
_log = logging.getLogger("greedyfirst.service")
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
    sessions
        Who is signed in; in memory if it is not given.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[AccessKey]],
        *,
        needed: bool = False,
        clock: Callable[[], float] = time.time,
        sessions: Sessions | None = None,
    ) -> None:
        self._read, self._needed, self._clock = read, needed, clock
        #: By the hash of each secret: who has it, and until when it is good.
        self._callers: dict[bytes, tuple[Caller, float]] = {}
        self.keys: list[AccessKey] = []
        self.sessions = SessionsInMemory(clock=clock) if sessions is None else sessions
        #: When each key was used last.
        self.used: dict[str, float] = {}
        #: Whether keys are read again and again, and when they were read last.
        self.is_watched = False
        self._read_at = time.monotonic()
        self.take(self._read())

    def take(self, keys: Iterable[AccessKey]) -> None:
        """These are the keys now."""
        self._read_at = time.monotonic()
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
        """Read them again; while that fails, those known before stay in force for a while."""
        try:
            self.take(self._read())
        except (LogFailedError, DamagedLogError) as error:
            self.not_read(error)

    def not_read(self, error: Exception) -> None:
        """They cannot be read at the moment."""
        _log.error(
            "the keys cannot be read (%s); those known stay in force for %g s", error, LONGEST_STALE
        )

    @property
    def stale(self) -> str | None:
        """Why nobody is let in: a key may have been removed meanwhile. None while all is well."""
        age = time.monotonic() - self._read_at
        if not self.is_watched or age < LONGEST_STALE:
            return None
        return f"the keys could not be read for {age:.0f} s, so that nobody is let in"

    def _check_fresh(self) -> None:
        stale = self.stale
        if stale is not None:
            raise UnavailableError(f"{stale}; try again")

    @property
    def in_use(self) -> bool:
        """Whether there is a key that can be used."""
        return any(self._is_good(known) for known in self._callers)

    def _is_good(self, known: bytes) -> bool:
        return known in self._callers and self._clock() < self._callers[known][1]

    def caller(self, key: str | None) -> Caller | None:
        """Who has this key; None if nobody does. UnavailableError if the keys are too old."""
        self._check_fresh()
        if not self._needed:
            return ANYONE
        return None if key is None else self._caller(hashed(key))

    def _caller(self, known: bytes) -> Caller | None:
        if not self._is_good(known):
            return None
        caller = self._callers[known][0]
        self.used[caller.name] = self._clock()
        return caller

    async def visitor(self, session: str | None) -> Caller | None:
        """Who is signed in with this session, which ends with its key.

        UnavailableError if that cannot be looked up at the moment.
        """
        self._check_fresh()
        if not self._needed:
            return ANYONE
        known = None if session is None else await self.sessions.key_of(session)
        return None if known is None else self._caller(known)

    def reason(self, key: str | None) -> str:
        """Why nobody has this key."""
        if key is None:
            return NO_KEY
        return EXPIRED_KEY if hashed(key) in self._callers else UNKNOWN_KEY


def key_in(headers: dict[bytes, bytes]) -> str | None:
    """The key that a program sends."""
    if b"authorization" in headers:
        kind, _, key = headers[b"authorization"].decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            return key.strip()
    return None


def session_in(headers: dict[bytes, bytes]) -> str | None:
    """The token of the session that a browser has."""
    try:
        cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return None if cookie is None else cookie.value


def check_known(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Refuse to take somebody for a stranger while nobody can tell who is signed in."""
    unknown: UnavailableError | None = connection.scope["state"].get(UNKNOWN)
    if unknown is not None:
        raise unknown


def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller | None:
    """Who sends this request; None for someone without a valid key."""
    caller: Caller | None = connection.scope["state"].get(CALLER)
    return caller


def seen(connection: ASGIConnection[Any, Any, Any, Any], named: Mapping[str, T]) -> list[T]:
    """What the caller's key is good for, of things that belong to policies."""
    caller = caller_of(connection)
    return [each for name, each in named.items() if caller is not None and caller.sees(name)]


def reason_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Why this request was refused: it has no valid key, or its key may not do this."""
    return str(connection.scope["state"].get(REASON, "not allowed"))


def session_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The token of the session that the request came with."""
    return session_in(dict(connection.scope["headers"]))


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
    """Refuse callers who may not do what ``role`` may, or not with the policy in the address."""
    caller = caller_of(connection)
    if caller is None:
        check_known(connection)
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

    _roles[guard] = role
    return guard


def needed_role(handler: HTTPRouteHandler) -> str | None:
    """The role that a route needs: by its guard, or as a handler says that admits by itself."""
    named = [_roles[guard] for guard in handler.resolve_guards() if guard in _roles]
    role: str | None = named[0] if named else handler.opt.get(NEEDS)
    return role
