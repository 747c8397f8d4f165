"""Who is signed in to the dashboard, in the database of the log: every service knows all sessions.

Hashes of tokens and keys are kept, never the tokens. Times are the database's, so that services
whose clocks differ agree on when a session ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import psycopg

from greedyfirst.service.log.postgres_database import (
    PostgresUrl,
    connect,
    database,
    statements,
)

#: Seconds that a statement may take, and between two notes of when a session was used.
_LONGEST, _NOTED_EVERY = 2.0, 60.0
_BEGIN = "INSERT INTO sessions VALUES (%s, %s, now(), now()) ON CONFLICT (token) DO NOTHING"
_IS_OPEN = "began >= now() - %(longest)s::interval AND used >= now() - %(idle)s::interval"
# Rows that another service has locked are passed over: it notes, or removes, the same.
_REMOVE_OLD = f"""
DELETE FROM sessions WHERE token IN (
    SELECT token FROM sessions WHERE NOT ({_IS_OPEN})
        OR token IN (SELECT token FROM sessions ORDER BY began DESC, token OFFSET %(most)s)
    FOR UPDATE SKIP LOCKED
)
"""
_KEYS_OF = f"""
WITH noted AS (
    UPDATE sessions SET used = now() WHERE token IN (
        SELECT token FROM sessions
        WHERE token = ANY(%(tokens)s) AND {_IS_OPEN} AND used < now() - %(pause)s::interval
        FOR UPDATE SKIP LOCKED
    )
)
SELECT token, key FROM sessions WHERE token = ANY(%(tokens)s) AND {_IS_OPEN}
"""
Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")


def form_secret(url: PostgresUrl) -> bytes:
    """What all services on the log mark the dashboard's forms with."""
    with statements(url) as execute:
        ((secret,),) = execute("SELECT value FROM meta WHERE name = 'form secret'", ())
    return bytes.fromhex(secret)


class SessionTable:
    """The sessions, on a connection of its own that is made when it is needed, and made again.

    Parameters
    ----------
    url
        The database, which has the tables of a log.
    longest, longest_idle
        Seconds after which a session ends: since it began, and since it was used last, which is
        noted once a minute.
    most
        So many are kept, the newest.
    """

    def __init__(self, url: PostgresUrl, *, longest: float, longest_idle: float, most: int) -> None:
        self._url = url
        self._limits = {
            "longest": f"{longest} seconds",
            "idle": f"{longest_idle} seconds",
            "pause": f"{_NOTED_EVERY} seconds",
            "most": most,
        }
        self._connection: Connection | None = None
        #: One thread at a time asks.
        self._asking = threading.Lock()

    def begin(self, token: bytes, key: bytes) -> None:
        """A session of the key with this hash, by its token's hash; old ones are removed."""

        def work(connection: Connection) -> None:
            connection.execute(_BEGIN, (token, key))
            connection.execute(_REMOVE_OLD, self._limits)

        self._run(work)

    def keys_of(self, tokens: Collection[bytes]) -> dict[bytes, bytes]:
        """The hash of the key of each session that has not ended, by its token's hash."""
        asked = self._limits | {"tokens": [*tokens]}
        return dict(self._run(lambda connection: connection.execute(_KEYS_OF, asked).fetchall()))

    def end(self, token: bytes) -> None:
        """End the session whose token has this hash."""
        sql = "DELETE FROM sessions WHERE token = %s"
        self._run(lambda connection: connection.execute(sql, (token,)))

    def _run(self, work: Callable[[Connection], T]) -> T:
        """Do it, once more on a new connection if the last one was cut; it does no harm twice."""
        with self._asking, database(self._url):
            if self._connection is not None:
                try:
                    return work(self._connection)
                except psycopg.OperationalError:
                    if not self._connection.closed:
                        raise
            self._connection = connect(self._url, longest=_LONGEST)
            return work(self._connection)

    def close(self) -> None:
        """Leave the database."""
        if self._asking.acquire(timeout=_LONGEST):  # else a server that says nothing has it
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._asking.release()
