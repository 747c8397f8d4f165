"""Who is signed in to the dashboard: a random token in a cookie stands for a key, for a while."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable

#: Seconds after which a session ends: since it began, and since it was used last.
LONGEST, LONGEST_IDLE = 12 * 3600.0, 3600.0
_MOST = 10_000


class Sessions:
    """The sessions of this process, in memory: a restart ends them.

    Of each, the hash of its token is kept, the hash of its key, when it began and was used last.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._open: dict[bytes, tuple[bytes, float, float]] = {}

    def begin(self, key: bytes) -> str:
        """A new session of the key with this hash; its token."""
        token, now = secrets.token_urlsafe(32), self._clock()
        self._open[_hashed(token)] = (key, now, now)
        if len(self._open) > _MOST:
            del self._open[next(iter(self._open))]
        return token

    def key_of(self, token: str) -> bytes | None:
        """The hash of the session's key; None if it has ended."""
        known, now = _hashed(token), self._clock()
        key, began, used = self._open.get(known, (None, 0.0, 0.0))
        if key is None or now - began > LONGEST or now - used > LONGEST_IDLE:
            self._open.pop(known, None)
            return None
        self._open[known] = (key, began, now)
        return key

    def end(self, token: str) -> None:
        """Signed out."""
        self._open.pop(_hashed(token), None)


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
