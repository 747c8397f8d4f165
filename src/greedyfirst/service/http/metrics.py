"""Numbers for Prometheus, read from the deployments' states when they are asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from greedyfirst.service.http.observations import Observations
from greedyfirst.service.service import DecisionService
from greedyfirst.version import __version__

#: A floating-point number holds so many exactly.
_SEAL_BYTES = 6
#: The write-ahead file as operators see it: how it grows tells how long entries are, and so which
#: arms they name. It begins anew before it has so many bytes, unless something is wrong.
_COARSE = 128 * 1024 * 1024


class ServiceMetrics(Collector):
    """Counts that survive a restart, since they come from the log."""

    def __init__(
        self,
        service: DecisionService,
        observations: Observations,
        connections: Callable[[], int | None],
    ) -> None:
        self._service, self._observations = service, observations
        self._connections = connections
        self._started = time.time()
        self._registry = CollectorRegistry()
        self._shown: frozenset[str] | None = None
        self._blind = False
        self._registry.register(self)

    def text(self, policies: frozenset[str] | None = None, *, blind: bool = False) -> bytes:
        """The page that Prometheus reads; of some policies only, if they are named.

        A ``blind`` one does not tell how often each arm was pulled, nor what tells of that. Where
        policies are named, it has nothing that counts what is done with others.
        """
        self._shown, self._blind = policies, blind
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now."""
        service = self._service
        ready = GaugeMetricFamily("greedyfirst_ready", "1 if requests can be met")
        ready.add_metric([], float(service.ready))
        yield ready
        yield from self._process()
        head = service.head() if self._shown is None else None
        if self._shown is None:
            yield from self._observations.metrics()
        if head is not None:
            yield CounterMetricFamily("greedyfirst_log_entries", "Entries of the log", head.seq)
            start = "The first 48 bits of the last entry's seal, as a number"
            seal = int.from_bytes(head.seal[:_SEAL_BYTES])
            yield GaugeMetricFamily("greedyfirst_log_seal", start, seal)
        decisions = CounterMetricFamily("greedyfirst_decisions", "Decisions", labels=["policy"])
        rewards = CounterMetricFamily(
            "greedyfirst_rewards", "Rewards by what became of them", labels=["policy", "outcome"]
        )
        pending = GaugeMetricFamily(
            "greedyfirst_pending", "Decisions that wait for their reward", labels=["policy"]
        )
        alarms = GaugeMetricFamily(
            "greedyfirst_open_alarms", "Alarms that nobody has answered", labels=["policy"]
        )
        held = GaugeMetricFamily(
            "greedyfirst_held", "Rewards that wait for a person", labels=["policy"]
        )
        pulls = CounterMetricFamily(
            "greedyfirst_pulls", "Rewards learned", labels=["policy", "arm"]
        )
        mismatches = GaugeMetricFamily(
            "greedyfirst_mismatches",
            "Decisions that differ from the log when they are made again",
            labels=["policy"],
        )
        for name, deployment in service.deployments.items():
            if self._shown is not None and name not in self._shown:
                continue
            decisions.add_metric([name], deployment.agent.decisions)
            counts = deployment.counts
            for outcome in ("counted", "late", "defaulted", "imported"):
                rewards.add_metric([name, outcome], getattr(counts, outcome))
            # A reward that comes too late is missing no more, but a counter never falls.
            rewards.add_metric([name, "missing"], counts.missing + counts.too_late)
            held.add_metric([name], sum(map(len, deployment.held.values())))
            pending.add_metric([name], len(deployment.pending))
            alarms.add_metric([name], len(deployment.open_alarms))
            mismatches.add_metric([name], deployment.mismatches)
            learned = deployment.agent.pulls
            for arm, pulled in zip(deployment.agent.arm_names, learned, strict=True):
                if not self._blind:
                    pulls.add_metric([name, arm], float(pulled))
        yield from (decisions, rewards, pending, alarms, held, pulls, mismatches)

    def _wal_bytes(self) -> float | None:
        """Bytes of the log's write-ahead file, for operators only roughly."""
        found = self._service.wal_bytes if self._shown is None else None
        return -(-found // _COARSE) * _COARSE if found and self._blind else found

    def _process(self) -> Iterator[Metric]:
        """Of the process and its machine; these begin anew with each start."""
        service = self._service
        version = GaugeMetricFamily("greedyfirst_info", "The release", labels=["version"])
        version.add_metric([__version__], 1.0)
        yield version
        numbers: dict[str, tuple[str, float | None]] = {
            "start_time_seconds": ("When the process started, since 1970", self._started),
            "restore_seconds": (
                "Seconds that making the state from the log took, last time",
                service.restore_seconds,
            ),
            "clock_offset_seconds": (
                "Seconds by which the machine's clock is ahead of the service's",
                service.clock.offset,
            ),
            "warnings": (
                "What a person should look at, named by /readyz",
                len(service.warnings()),
            ),
            "wal_bytes": ("Bytes of the log's write-ahead file", self._wal_bytes()),
            "open_connections": ("Connections that are open", self._connections()),
        }
        for name, (text, value) in numbers.items():
            if value is not None:
                gauge = GaugeMetricFamily(f"greedyfirst_{name}", text)
                gauge.add_metric([], value)
                yield gauge
        jobs = GaugeMetricFamily(
            "greedyfirst_long_jobs", "Long jobs that run or wait", labels=["kind"]
        )
        for kind, count in service.workers.jobs.items():
            jobs.add_metric([kind], count)
        yield jobs
