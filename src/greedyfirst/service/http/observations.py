"""Requests that were answered: how long each took, for metrics and the access log.

The middleware only notes them, which costs a decision next to nothing; they are counted and
written a little later, many at a time.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

#: Upper ends of the histogram's buckets, in seconds.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}
#: Daily work, whose good answers are in the access log only if all are.
_QUIET = {
    "/v1/policies/{policy}/decisions",
    "/v1/decisions/{decision_id}/reward",
    "/healthz",
    "/readyz",
    "/peer",
    "/metrics",
    "/static/{name}",
}
_PAUSE = 0.2
#: Noted and not counted yet; beyond that the oldest are left out.
_MOST = 200_000
_log = logging.getLogger("greedyfirst.access")


class Seen(NamedTuple):
    """A request and its answer; status 0 if there was none."""

    at: float
    seconds: float
    method: str
    route: str
    status: int
    caller: str
    client: str


class Observations:
    """Counts requests, and writes the access log; ``all_requests`` those of daily work too."""

    def __init__(self, *, all_requests: bool = False) -> None:
        self.all_requests = all_requests
        #: The middleware adds to these.
        self.seen: deque[tuple[float, float, str, str, int, str, str]] = deque(maxlen=_MOST)
        self.in_flight = 0
        self._counts: dict[tuple[str, str, str], list[int]] = {}
        self._sums: dict[tuple[str, str, str], float] = {}

    async def keep_counting(self) -> None:
        """Count what was noted, several times a second, until cancelled."""
        try:
            while True:
                await asyncio.sleep(_PAUSE)
                self.count()
        finally:
            self.count()

    def count(self) -> None:
        """Count what was noted, and write it to the access log."""
        while self.seen:
            one = Seen(*self.seen.popleft())
            method = one.method if one.method in _METHODS else "other"
            labels = method, one.route, str(one.status or "none")
            counts = self._counts.setdefault(labels, [0] * (len(BUCKETS) + 1))
            counts[bisect_left(BUCKETS, one.seconds)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + one.seconds
            if self.all_requests or not (200 <= one.status < 300 and one.route in _QUIET):
                _write(one)

    def metrics(self) -> Iterator[Metric]:
        """For Prometheus."""
        self.count()
        labels = ["method", "route", "status"]
        seconds = HistogramMetricFamily(
            "greedyfirst_request_seconds", "Seconds until a request was answered", labels=labels
        )
        failed = CounterMetricFamily(
            "greedyfirst_failed_requests",
            "Requests that the service failed to answer: status 5xx, or none",
            labels=labels,
        )
        ends = [*map(str, BUCKETS), "+Inf"]
        for key, counts in self._counts.items():
            summed = list(zip(ends, accumulate(counts), strict=True))
            seconds.add_metric(key, summed, self._sums[key])
            if key[2] == "none" or key[2] >= "500":
                failed.add_metric(key, sum(counts))
        in_flight = GaugeMetricFamily(
            "greedyfirst_requests_in_flight", "Requests that wait for their answer"
        )
        in_flight.add_metric([], self.in_flight)
        yield from (seconds, failed, in_flight)


def _write(one: Seen) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    fields = {
        "method": one.method[:16],
        "route": one.route,
        "status": one.status,
        "ms": round(1000.0 * one.seconds, 3),
        "caller": one.caller,
        "client": one.client,
        "at": round(one.at, 3),
    }
    extra = {"event": "request", "fields": fields}
    _log.info("%s %s %d", one.method[:16], one.route, one.status, extra=extra)
