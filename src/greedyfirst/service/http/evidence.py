"""The routes of what was learned and how surely, of the protocol and of subgroups, version 1."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get
from litestar.datastructures import State
from litestar.params import FromPath, FromQuery, QueryParameter

from greedyfirst.service.http.access import caller_of, needs
from greedyfirst.service.http.blinding import blinded
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.state.effects import DecisionIntervals, Effects
from greedyfirst.service.state.protocol import Protocol
from greedyfirst.service.state.subgroups import Subgroups

By = Annotated[str, QueryParameter(description="A category of the policy’s features.")]


@get("/decisions/{decision_id:str}/intervals", guards=[needs("reader")])
async def intervals(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> DecisionIntervals:
    """What is expected of each arm today in a decision's context, with intervals."""
    service = service_of(state)
    await service.durable()
    with long_job(request):
        return await service.reading.intervals(decision_id)


@get("/policies/{policy:str}/effects", guards=[needs("reader")])
async def effects(
    request: Request[Any, Any, Any],
    state: State,
    policy: FromPath[str],
    against: FromQuery[str | None] = None,
) -> Effects:
    """What was learned of each arm, and how surely; against: the arm to compare with."""
    service = service_of(state)
    await service.durable()
    with long_job(request):
        return await service.reading.effects(policy, against)


@get("/policies/{policy:str}/subgroups", guards=[needs("reader")])
async def subgroups(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str], by: By = ""
) -> Subgroups:
    """Decisions, rewards and effects by the levels of a category, and by period."""
    with long_job(request):
        return await service_of(state).reading.subgroups(policy, by)


@get("/policies/{policy:str}/protocol", guards=[needs("operator")])
async def protocol(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Protocol:
    """What was laid down when the policy was created, its hash, and what was changed later."""
    found = await service_of(state).reading.protocol(policy)
    caller = caller_of(request)
    return found if caller is not None and caller.may("reader") else blinded(found)


HANDLERS = [intervals, effects, subgroups, protocol]
