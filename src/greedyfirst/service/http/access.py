"""Who may do what: keys with a role, kept as hashes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple

from greedyfirst.service.errors import Damaged
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.log import LogFailed

#: Each may do what those before it may.
ROLES = ("reader", "decider", "admin")
_READ_EVERY = 1.0
_log = logging.getLogger("greedyfirst.service")


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
        except (LogFailed, Damaged) as error:
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
