"""The routes of policies, version 1: to create, read and administer them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from typing import IO, Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, get, post, put
from litestar.datastructures import State
from litestar.params import FromPath, RawBody
from litestar.response import Stream

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http import views
from greedyfirst.service.http.access import caller_of, needs, seen, signed
from greedyfirst.service.http.audit import Before, Limit
from greedyfirst.service.http.bodies import parse
from greedyfirst.service.http.decisions import Key, service_of
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.http.messages import (
    ArmRequest,
    AuditEntry,
    Course,
    DiversityView,
    HistoryRequest,
    PolicyView,
    ReinstatementRequest,
    ResolutionRequest,
    RetirementRequest,
    SchemaAnswer,
    SchemaRequest,
    StateRequest,
)
from greedyfirst.service.http.openapi import body_of
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import plain_context
from greedyfirst.service.state.administration import Action
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.specification import Features, Specification

_PIECE = 2**18


async def _administer(state: State, policy: str, action: Action, key: str | None) -> Deployment:
    """Do what an administrator asks for; the deployment after it."""
    service = service_of(state)
    await service.admin.administer(policy, action, key)
    return await service.reading.settled(policy)


async def all_views(
    request: Request[Any, Any, Any],
) -> tuple[list[PolicyView], dict[str, UnavailableError]]:
    """All policies of the key, by name; where others have some, why which ones cannot be shown."""
    peers = request.app.state.peers
    elsewhere, silent = ([], {}) if peers is None else await peers.views(request)
    reading = service_of(request.app.state).reading
    settled = {each.name: each for each in await reading.all_settled()}
    here = [views.policy_view(each) for each in seen(request, settled)]
    return sorted([*here, *elsewhere], key=lambda view: view.name), silent


@post(
    "/policies",
    operation_class=body_of(Specification),
    guards=[needs("admin", of_all_policies=True)],
)
async def create_policy(
    state: State, request: Request[Any, Any, Any], body: RawBody
) -> Response[PolicyView]:
    """Create a policy: 201, or 200 if it is there already."""
    specification = parse(body, Specification)
    service = service_of(state)
    caller = caller_of(request)
    who = caller.name if caller and caller.name else None
    _, new = await service.admin.create(specification, who)
    deployment = await service.reading.settled(specification.name)
    return Response(views.policy_view(deployment), status_code=201 if new else 200)


@get("/policies", guards=[needs("reader")])
async def list_policies(request: Request[Any, Any, Any]) -> list[PolicyView]:
    """All policies of the key, by name; one whose schema is being changed stands as before."""
    found, silent = await all_views(request)
    for error in silent.values():
        raise error
    return found


@get("/policies/{policy:str}", guards=[needs("reader")])
async def get_policy(state: State, policy: FromPath[str]) -> PolicyView:
    """A policy and how it stands."""
    return views.policy_view(await service_of(state).reading.settled(policy))


@get("/policies/{policy:str}/diversity", guards=[needs("reader")])
async def diversity(state: State, policy: FromPath[str]) -> DiversityView:
    """How diverse each arm's samples are."""
    return views.diversity_view(await service_of(state).reading.settled(policy))


@get("/policies/{policy:str}/course", guards=[needs("reader")])
async def course(state: State, policy: FromPath[str]) -> Course:
    """How the policy has fared, at a few hundred points."""
    service = service_of(state)
    await service.durable()
    history = service.deployment(policy).history
    return Course(stride=history.stride, reward_sum=history.reward_sum, points=history.points)


@post(
    "/policies/{policy:str}/resolutions",
    operation_class=body_of(ResolutionRequest),
    guards=[needs("admin")],
)
async def resolve(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> DiversityView:
    """Answer an alarm: explore the arm or all arms, drop it, or hold on to greedy."""
    asked = parse(body, ResolutionRequest)
    resolved = events.Resolved(
        arm=asked.arm,
        resolution=asked.resolution,
        who=signed(request, asked.who),
        why=asked.why,
        alarm=asked.alarm,
        change=asked.change,
    )
    return views.diversity_view(await _administer(state, policy, resolved, key))


@post("/policies/{policy:str}/arms", operation_class=body_of(ArmRequest), guards=[needs("admin")])
async def add_arm(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Add an arm."""
    asked = parse(body, ArmRequest)
    added = events.ArmAdded(
        arm=asked.arm,
        initial_pulls=asked.initial_pulls,
        who=signed(request, asked.who),
        why=asked.why,
    )
    return views.policy_view(await _administer(state, policy, added, key))


@post(
    "/policies/{policy:str}/retirements",
    operation_class=body_of(RetirementRequest),
    guards=[needs("admin")],
)
async def retire_arm(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Retire an arm: it is chosen no more."""
    asked = parse(body, RetirementRequest)
    retired = events.ArmRetired(arm=asked.arm, who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _administer(state, policy, retired, key))


@post(
    "/policies/{policy:str}/reinstatements",
    operation_class=body_of(ReinstatementRequest),
    guards=[needs("admin")],
)
async def reinstate_arm(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Put an arm back that had been dropped or retired: it may be chosen again."""
    asked = parse(body, ReinstatementRequest)
    reinstated = events.ArmReinstated(arm=asked.arm, who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _administer(state, policy, reinstated, key))


@post(
    "/policies/{policy:str}/state",
    operation_class=body_of(StateRequest),
    guards=[needs("admin")],
)
async def change_state(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Pause a policy, let it run again, or close it for good; rewards go on meanwhile."""
    asked = parse(body, StateRequest)
    changed = events.StateChanged(state=asked.state, who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _administer(state, policy, changed, key))


@post(
    "/policies/{policy:str}/history",
    operation_class=body_of(HistoryRequest),
    guards=[needs("admin")],
)
async def import_history(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Learn from decisions that were made elsewhere."""
    asked = parse(body, HistoryRequest)
    rows = (msgspec.structs.replace(row, context=plain_context(row.context)) for row in asked.rows)
    imported = events.Imported(rows=tuple(rows), who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _administer(state, policy, imported, key))


@put(
    "/policies/{policy:str}/schema",
    operation_class=body_of(SchemaRequest),
    guards=[needs("admin")],
)
async def change_schema(
    state: State, request: Request[Any, Any, Any], policy: FromPath[str], body: RawBody
) -> SchemaAnswer:
    """Give the policy other features; what it learned is learned again from the log."""
    asked = parse(body, SchemaRequest)
    schema = Features(features=asked.features, intercept=asked.intercept)
    who = signed(request, asked.who)
    version = await service_of(state).admin.change_schema(
        policy, schema, asked.backfill, who, asked.why
    )
    return SchemaAnswer(policy=policy, schema_version=version)


@get("/policies/{policy:str}/audit", guards=[needs("reader")])
async def audit(
    state: State,
    policy: FromPath[str],
    before: Before = None,
    limit: Limit = 100,
) -> list[AuditEntry]:
    """What people and the diversity test did, newest first."""
    service = service_of(state)
    await service.durable()
    found = await service.reading.audit(policy, before, limit)
    return [views.audit_entry(entry) for entry in found]


@get(
    "/policies/{policy:str}/export",
    guards=[needs("reader")],
    media_type="application/vnd.apache.parquet",
)
async def export(request: Request[Any, Any, Any], state: State, policy: FromPath[str]) -> Stream:
    """All decisions and their rewards as a Parquet file."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - without a name: it ends with the process
    try:
        with long_job(request):
            await service_of(state).reading.export(policy, file)
    except BaseException:
        file.close()
        raise
    length, name = file.tell(), quote(f"{policy}.parquet")
    plain = name == f"{policy}.parquet"
    named = f'filename="{name}"' if plain else f"filename*=utf-8''{name}"
    return Stream(
        _content(file),
        media_type="application/vnd.apache.parquet",
        headers={"content-disposition": f"attachment; {named}", "content-length": str(length)},
    )


async def _content(file: IO[bytes]) -> AsyncIterator[bytes]:
    """The file from its beginning, in pieces; it is closed after that."""
    with file:
        file.seek(0)
        while piece := file.read(_PIECE):
            yield piece


HANDLERS = [create_policy, list_policies, get_policy]
#: After those of decisions, in the reference for people.
FURTHER_HANDLERS = [
    diversity,
    course,
    resolve,
    add_arm,
    retire_arm,
    reinstate_arm,
    change_state,
    import_history,
    change_schema,
    audit,
    export,
]
