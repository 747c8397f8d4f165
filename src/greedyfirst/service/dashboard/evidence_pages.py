"""Pages of what was learned and how surely, of the protocol, and of subgroups."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import FromPath, FromQuery

from greedyfirst.service.dashboard import operations_page, wording
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.http.access import caller_of, needs
from greedyfirst.service.http.blinding import blinded
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.http.messages import AuditEntry
from greedyfirst.service.state.periods import Period
from greedyfirst.service.state.protocol import Change
from greedyfirst.service.state.specification import CategoricalFeature

#: More arms than these would not fit a page; the interface has all of them.
_MOST_ARMS = 12
_MOST_GROUPS = 200


@get("/policies/{policy:str}/effects", guards=[needs("reader")])
async def show_effects(
    request: Request[Any, Any, Any],
    state: State,
    policy: FromPath[str],
    against: FromQuery[str | None] = None,
) -> Response[str]:
    """What was learned of each arm, and how surely."""
    service = service_of(state)
    await service.durable()
    with long_job(request):
        found = await service.reading.effects(policy, against)
    by_arm: dict[str, list[Any]] = {}
    for effect in found.effects:
        by_arm.setdefault(effect.arm, []).append(effect)
    shown = dict(list(by_arm.items())[:_MOST_ARMS])
    return page(request, "effects.html", found=found, arms=shown, hidden=len(by_arm) - len(shown))


@get("/policies/{policy:str}/subgroups", guards=[needs("reader")])
async def show_subgroups(
    request: Request[Any, Any, Any],
    state: State,
    policy: FromPath[str],
    by: FromQuery[str | None] = None,
) -> Response[str]:
    """A policy by the levels of one of its categories; the first, if none is named."""
    service = service_of(state)
    features = service.deployment(policy).encoding.features
    categories = [item.name for item in features if isinstance(item, CategoricalFeature)]
    found = None
    if categories or by is not None:
        with long_job(request):
            found = await service.reading.subgroups(policy, categories[0] if by is None else by)
    return page(
        request,
        "subgroups.html",
        policy=policy,
        found=found,
        categories=categories,
        groups=[] if found is None else found.groups[:_MOST_GROUPS],
        hidden=0 if found is None else max(len(found.groups) - _MOST_GROUPS, 0),
        began=_began,
        most_arms=_MOST_ARMS,
    )


@get("/policies/{policy:str}/protocol", guards=[needs("operator")])
async def show_protocol(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[str]:
    """What was laid down when the policy was created, and what was changed later; to be printed."""
    found = await service_of(state).reading.protocol(policy)
    caller = caller_of(request)
    sees = caller is not None and caller.may("reader")
    found = found if sees else blinded(found)
    say = wording.happened if sees else operations_page.happened
    return page(
        request,
        "protocol.html",
        found=found,
        what=lambda change: say(_entry(change)),
    )


def _entry(change: Change) -> AuditEntry:
    return AuditEntry(number=change.number, at=change.at, event=change.event)


def _began(period: Period) -> str:
    """The event that began a period."""
    return wording.happened(AuditEntry(number=0, at=period.at, event=period.event))
