"""How many long jobs a caller may have under way at a time, by role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from litestar import Request

from greedyfirst.service.errors import TooManyError
from greedyfirst.service.http.access import caller_of

#: Decisions made again, exports, subgroups, and reports of wide policies.
MOST = {"operator": 2, "reader": 2, "decider": 2, "admin": 4}


class LongJobs:
    """Counts each caller's jobs."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def job(self, request: Request[Any, Any, Any]) -> Iterator[None]:
        """Have a job under way; refused if the caller has as many as the role allows."""
        caller = caller_of(request)
        name, role = ("", "reader") if caller is None else caller[:2]
        if self._under_way[name] >= MOST[role]:
            raise TooManyError(
                f"a {role} may have {MOST[role]} long jobs under way at a time; "
                "try again when one has ended"
            )
        self._under_way[name] += 1
        try:
            yield
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]


def long_job(request: Request[Any, Any, Any]) -> Any:
    """A job of this request's caller, as a context."""
    return request.app.state.long_jobs.job(request)
