"""How diverse a deployment's samples are, as answers and pages show it.

The report of a policy with many features takes a second. It is made in a thread, from a copy of the
state, and kept until the model changes.
"""

from __future__ import annotations

from collections.abc import Callable

from greedyfirst.agent import Agent
from greedyfirst.policies.greedy_first import DiversityReport
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.history import wide


def fresh(deployment: Deployment, version: int) -> bool:
    """Whether a report of this version of the model, or a later one, is at hand or at once."""
    known = deployment.report
    return not wide(deployment.agent) or (known is not None and known[0] >= version)


def making(deployment: Deployment) -> Callable[[], tuple[int, DiversityReport]]:
    """Copy the state now; what is returned makes its report, on any thread."""
    version, copied = deployment.model_version, deployment.agent.copied()
    return lambda: (version, Agent.from_bytes(copied()).diversity())


def report_of(deployment: Deployment) -> DiversityReport:
    """The report; of a wide policy the newest that was made, which may be some rewards old."""
    known = deployment.report
    if known is None or not (wide(deployment.agent) or known[0] == deployment.model_version):
        known = deployment.model_version, deployment.agent.diversity()
        deployment.report = known
    return known[1]
