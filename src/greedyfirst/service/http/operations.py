"""The routes for operators, version 1: how a service works, as :mod:`~.blinding` shows it."""

from __future__ import annotations

from typing import Any

from litestar import Request, get
from litestar.datastructures import State
from litestar.params import FromPath

from greedyfirst.service.http.access import needs, seen
from greedyfirst.service.http.audit import Before, Limit
from greedyfirst.service.http.blinding import Operations, policy_operations, told
from greedyfirst.service.http.clock import clock_view
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.messages import AuditEntry
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.protocol import shown


def operations_of(service: DecisionService, deployments: list[Deployment]) -> Operations:
    """What an operator sees of the service."""
    return Operations(
        ready=service.ready,
        warnings=tuple(service.warnings()),
        clock=clock_view(service),
        policies=tuple(map(policy_operations, deployments)),
    )


async def audit_of_operations(
    service: DecisionService, policy: str, before: int | None, limit: int
) -> list[AuditEntry]:
    """What happened with a policy, newest first, as operators are told it."""
    return [
        AuditEntry(number=entry.seq, at=entry.at, event=told(shown(entry)))
        for entry in await service.reading.audit(policy, before, limit)
    ]


@get("/operations", guards=[needs("operator")])
async def operations(state: State, request: Request[Any, Any, Any]) -> Operations:
    """Whether the service and the policies of the key run, and how many rewards they wait for."""
    service = service_of(state)
    await service.durable()
    return operations_of(service, seen(request, service.deployments))


@get("/policies/{policy:str}/operations", guards=[needs("operator")])
async def operations_log(
    state: State, policy: FromPath[str], before: Before = None, limit: Limit = 100
) -> list[AuditEntry]:
    """What happened with a policy, newest first, without what follows from rewards."""
    service = service_of(state)
    await service.durable()
    return await audit_of_operations(service, policy, before, limit)


HANDLERS = [operations, operations_log]
