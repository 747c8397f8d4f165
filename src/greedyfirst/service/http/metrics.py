"""Numbers for Prometheus, read from the deployments' states when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from greedyfirst.service.service import DecisionService

#: A floating-point number holds so many exactly.
_SEAL_BYTES = 6


class ServiceMetrics(Collector):
    """Counts that survive a restart, since they come from the log."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        self._shown: frozenset[str] | None = None
        self._registry.register(self)

    def text(self, policies: frozenset[str] | None = None) -> bytes:
        """The page that Prometheus reads; of some policies only, if they are named."""
        self._shown = policies
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now."""
        service = self._service
        ready = GaugeMetricFamily("greedyfirst_ready", "1 if requests can be met")
        ready.add_metric([], float(service.ready))
        yield ready
        head = service.head()
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
                pulls.add_metric([name, arm], float(pulled))
        yield from (decisions, rewards, pending, alarms, held, pulls, mismatches)
