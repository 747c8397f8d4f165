"""Who is signed in to the dashboard: a random token in a cookie stands for a key, for a while."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from greedyfirst.service.beside import beside
from greedyfirst.service.errors import DamagedLogError, LogFailedError, UnavailableError

if TYPE_CHECKING:  # they need what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl
    from greedyfirst.service.log.postgres_sessions import SessionTable

#: Seconds after which a session ends: since it began, and since it was used last.
LONGEST, LONGEST_IDLE = 12 * 3600.0, 3600.0
#: So many are kept.
MOST = 10_000
#: Seconds that a request waits for the database, and tokens that one question may be about.
_LONGEST_WAIT, _MOST_ASKED = 3.0, 1000
_NO_ANSWER = (
    "the database does not say at the moment who is signed in; you need not sign in again: "
    "try again in a few seconds"
)
_log = logging.getLogger("greedyfirst.service")
T = TypeVar("T")


class Sessions(Protocol):
    """The sessions; methods raise UnavailableError where they cannot be reached."""

    #: What the forms of the dashboard are marked with.
    form_secret: bytes

    async def begin(self, key: bytes) -> str:
        """A new session of the key with this hash; its token."""

    async def key_of(self, token: str) -> bytes | None:
        """The hash of the session's key; None if it has ended."""

    async def end(self, token: str) -> None:
        """Signed out."""

    async def close(self) -> None:
        """The service ends."""


class SessionsInMemory:
    """The sessions of this process: a restart ends them.

    Of each, the hash of its token is kept, the hash of its key, when it began and was used last.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._open: dict[bytes, tuple[bytes, float, float]] = {}
        self.form_secret = secrets.token_bytes(32)

    async def begin(self, key: bytes) -> str:
        """A new session; of too many, the oldest ends."""
        token, now = _new_token(), self._clock()
        self._open[_hashed(token)] = (key, now, now)
        if len(self._open) > MOST:
            del self._open[next(iter(self._open))]
        return token

    async def key_of(self, token: str) -> bytes | None:
        """The hash of the session's key, which is used now."""
        known, now = _hashed(token), self._clock()
        key, began, used = self._open.get(known, (None, 0.0, 0.0))
        if key is None or now - began > LONGEST or now - used > LONGEST_IDLE:
            self._open.pop(known, None)
            return None
        self._open[known] = (key, began, now)
        return key

    async def end(self, token: str) -> None:
        """Forget it."""
        self._open.pop(_hashed(token), None)

    async def close(self) -> None:
        """Nothing: they go with the process."""


class SharedSessions:
    """The sessions of all services on a log, which a table has: any service knows them all.

    The table is asked in a thread, one question at a time. Whoever comes meanwhile waits for the
    next question, which is about all of them: a flood of tokens asks no more often.
    """

    def __init__(self, table: SessionTable, form_secret: bytes) -> None:
        self._table, self.form_secret = table, form_secret
        self._asking = asyncio.Lock()
        #: The next question: the hashes that it is about, and its answer.
        self._next: tuple[set[bytes], asyncio.Task[dict[bytes, bytes]]] | None = None
        #: Why the table could not be asked, None while it can.
        self._problem: str | None = None

    async def begin(self, key: bytes) -> str:
        """A new session; of too many, the oldest ends."""
        token = _new_token()
        await self._answer(self._begun(self._asked(self._table.begin, _hashed(token), key)))
        return token

    async def key_of(self, token: str) -> bytes | None:
        """The hash of the session's key, which is used now."""
        if self._next is None:
            hashes: set[bytes] = set()
            self._next = hashes, self._begun(self._keys_of(hashes))
        asked, answer = self._next
        if len(asked) >= _MOST_ASKED:
            raise UnavailableError(_NO_ANSWER)
        known = _hashed(token)
        asked.add(known)
        return (await self._answer(answer)).get(known)

    async def end(self, token: str) -> None:
        """Forget it."""
        await self._answer(self._begun(self._asked(self._table.end, _hashed(token))))

    async def close(self) -> None:
        """Leave the database."""
        await beside(self._table.close)

    async def _keys_of(self, hashes: set[bytes]) -> dict[bytes, bytes]:
        async with self._asking:
            self._next = None  # whoever comes from here on is in the next question
            return await beside(self._table.keys_of, hashes)

    async def _asked(self, question: Callable[..., None], *values: bytes) -> None:
        async with self._asking:
            await beside(question, *values)

    def _begun(self, asking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task of its own: the thread goes on where nobody waits for it any more."""
        task = asyncio.create_task(asking)
        task.add_done_callback(self._noted)
        return task

    async def _answer(self, asking: asyncio.Task[T]) -> T:
        """What the table answers in time."""
        try:
            return await asyncio.wait_for(asyncio.shield(asking), _LONGEST_WAIT)
        except (TimeoutError, LogFailedError, DamagedLogError):
            raise UnavailableError(_NO_ANSWER) from None

    def _noted(self, asked: asyncio.Task[Any]) -> None:
        """Log why the table cannot be asked, once for each reason."""
        error = None if asked.cancelled() else asked.exception()
        if error is not None and str(error) != self._problem:
            _log.error("sessions cannot be looked up: %s", error, extra={"event": "no_sessions"})
        self._problem = None if error is None else str(error)


def sessions_of(place: Path | PostgresUrl) -> Sessions:
    """The sessions of a service whose log is there."""
    if isinstance(place, Path):
        return SessionsInMemory()
    from greedyfirst.service.log.postgres_sessions import SessionTable, form_secret

    table = SessionTable(place, longest=LONGEST, longest_idle=LONGEST_IDLE, most=MOST)
    return SharedSessions(table, form_secret(place))


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
