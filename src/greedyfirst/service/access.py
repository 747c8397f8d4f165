"""Who may do what: keys with a role, kept as hashes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import NamedTuple

#: Each may do what those before it may.
ROLES = ("reader", "decider", "admin")


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
    """The keys in force."""

    def __init__(self, keys: Iterable[tuple[str, str, bytes]]) -> None:
        self._callers = {kept: Caller(name, role) for name, role, kept in keys}

    @property
    def open(self) -> bool:
        """Whether no key is needed."""
        return not self._callers

    def caller(self, key: str | None) -> Caller | None:
        """Who has this key; None if nobody does."""
        if self.open:
            return ANYONE
        return None if key is None else self._callers.get(hashed(key))
