"""Pages for operators: whether all works, without what comes of decisions."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import FromPath

from greedyfirst.service.dashboard import wording
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.http.access import needs, seen
from greedyfirst.service.http.audit import Before
from greedyfirst.service.http.blinding import TOLD, policy_operations
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.messages import AuditEntry
from greedyfirst.service.http.operations import audit_of_operations, operations_of
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.service import DecisionService

_ROWS = 20
#: What operators are told of events whose own words would tell of rewards or arms.
_SAID = {
    "alarmed": "An alarm was raised.",
    "fed": "An arm that had raised an alarm holds its share again.",
    "resolved": "An alarm was answered.",
    "arm_retired": "The arms in use were changed.",
    "arm_reinstated": "The arms in use were changed.",
}


def happened(entry: AuditEntry) -> str:
    """An entry of the audit list as operators are told it."""
    kind = entry.event["event"]
    if kind == "reward_corrected":
        return f"A person saw to the reward of decision {wording.count(entry.event['step'])}."
    if kind in TOLD:
        return wording.happened(entry)
    return _SAID.get(kind, "The policy was changed.")


@get("/operations", guards=[needs("operator")])
async def show_operations(request: Request[Any, Any, Any], state: State) -> Response[str]:
    """Whether the service and its policies run."""
    service = service_of(state)
    await service.durable()
    found = operations_of(service, seen(request, service.deployments))
    return page(request, "operations.html", found=found, elsewhere=_elsewhere(request, service))


def _elsewhere(
    request: Request[Any, Any, Any], service: DecisionService
) -> list[tuple[str, str | None]]:
    """The policies that other processes have, and the address of each; None if nobody has it."""
    leases = service.running.leases
    if leases is None:
        return []
    others = {name: name for name in leases.policies if name not in (SERVICE, *service.deployments)}
    owners = {name: leases.owner(name) for name in sorted(seen(request, others))}
    return [(name, None if owner is None else owner.address) for name, owner in owners.items()]


@get("/policies/{policy:str}/operations", guards=[needs("operator")])
async def show_policy_operations(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str], before: Before = None
) -> Response[str]:
    """Whether a policy runs, and what happened with it."""
    service = service_of(state)
    await service.durable()
    shown = policy_operations(service.deployment(policy))
    audit = await audit_of_operations(service, policy, before, _ROWS + 1)
    return page(
        request,
        "policy_operations.html",
        policy=shown,
        audit=audit[:_ROWS],
        older=audit[_ROWS - 1].number if len(audit) > _ROWS else None,
        happened=happened,
    )
