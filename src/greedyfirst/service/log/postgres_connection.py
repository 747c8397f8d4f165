"""A connection to PostgreSQL on which nothing is waited for without end.

A server that is slow ends a statement itself. One that says nothing, as behind a wire that has come
to a standstill, is left by this side.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

#: Seconds that a server has beyond a statement's limit to say that it took too long.
_GRACE = 1.0
T = TypeVar("T")


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when a statement takes longer than ``longest`` seconds."""

    #: None: a statement may take as long as it needs.
    longest: float | None = None

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Run what talks to the server; while nothing comes it is asked some times a second."""
        if self.longest is not None:
            gen = self._broken_off(gen, self.longest)
        return super().wait(gen, *args, **options)

    def _broken_off(self, talk: Generator[Any, Any, T], longest: float) -> Generator[Any, Any, T]:
        """The same talk, which ends with an error after so many seconds."""
        end = time.monotonic() + longest
        try:
            wanted = next(talk)
            while True:
                came = yield wanted
                if not came and time.monotonic() > end:
                    talk.close()
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"the server has said nothing for {longest:g} s; the connection was closed"
                    )
                wanted = talk.send(came)
        except StopIteration as done:
            result: T = done.value
            return result


def limit(connection: psycopg.Connection[Any], seconds: float | None) -> None:
    """Let no statement wait, or take, longer than that; None: as long as it needs."""
    connection.execute(f"SET statement_timeout = {round(1000 * (seconds or 0))}")
    if isinstance(connection, BoundedConnection):
        connection.longest = None if seconds is None else seconds + _GRACE
