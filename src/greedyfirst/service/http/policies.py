"""The HTTP interface, version 1."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, post, put
from litestar.datastructures import State
from litestar.params import FromPath, HeaderParameter, QueryParameter, RawBody
from litestar.response import File
from litestar.types import ASGIApp

from greedyfirst.service.http import bodies as parsing
from greedyfirst.service.http import views
from greedyfirst.service.http.decisions import Answer, read_body
from greedyfirst.service.http.messages import (
    ArmRequest,
    AuditEntry,
    DecisionRequest,
    DecisionView,
    DiversityView,
    HistoryRequest,
    PolicyView,
    ReplayView,
    ResolutionRequest,
    RetirementRequest,
    RewardAnswer,
    RewardRequest,
    SchemaAnswer,
    SchemaRequest,
)
from greedyfirst.service.http.middleware import admit, needs, signed
from greedyfirst.service.http.openapi import body_of, plain_operation
from greedyfirst.service.log import events
from greedyfirst.service.log.events import Decision
from greedyfirst.service.log.export import exported
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state import administration as people
from greedyfirst.service.state.contexts import plain
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.history import Course
from greedyfirst.service.state.specification import Features, Specification

Key = Annotated[
    str | None,
    HeaderParameter(name="Idempotency-Key", description="The same key and body: the same answer."),
]
_JSON = "application/json"


def _service(state: State) -> DecisionService:
    service: DecisionService = state.service
    return service


async def _act(state: State, policy: str, event: people.Act, key: str | None) -> Deployment:
    """Do what a person asks for; the policy after it."""
    service = _service(state)
    await service.act(policy, event, key)
    return service.policy(policy)


@post("/policies", operation_class=body_of(Specification), guards=[needs("admin")])
async def create_policy(state: State, body: RawBody) -> Response[PolicyView]:
    """Create a policy: 201, or 200 if it is there already."""
    specification = parsing.parse(body, Specification)
    deployment, new = await _service(state).create(specification)
    return Response(views.policy_view(deployment), status_code=201 if new else 200)


@get("/policies", guards=[needs("reader")])
async def list_policies(state: State) -> list[PolicyView]:
    """All policies; one whose schema is being changed stands as before."""
    service = _service(state)
    await service.durable()
    return [views.policy_view(deployment) for deployment in service.deployments.values()]


@get("/policies/{policy:str}", guards=[needs("reader")])
async def get_policy(state: State, policy: FromPath[str]) -> PolicyView:
    """A policy and how it stands."""
    service = _service(state)
    await service.durable()
    return views.policy_view(service.policy(policy))


# The two that are asked most take only the request and answer with bytes: what Litestar does for
# others, guards and parameters and responses as objects, takes it longer than a decision.


@post(
    "/policies/{policy:str}/decisions",
    operation_class=plain_operation(
        DecisionRequest, Decision, {"policy": "path", "Idempotency-Key": "header"}
    ),
)
async def decide(request: Request[Any, Any, Any]) -> ASGIApp:
    """Choose an arm for a context."""
    admit(request, "decider")
    asked = parsing.parse(await read_body(request), DecisionRequest)
    key = None
    for name, value in request.scope["headers"]:
        if name == b"idempotency-key":
            key = value.decode("latin-1")
    made = await _service(request.app.state).decide(
        request.path_params["policy"], asked.context, asked.eligible_arms, key
    )
    return Answer(made, 201)


@put(
    "/decisions/{decision_id:str}/reward",
    operation_class=plain_operation(RewardRequest, RewardAnswer, {"decision_id": "path"}),
)
async def reward(request: Request[Any, Any, Any]) -> ASGIApp:
    """Give a decision its reward."""
    admit(request, "decider")
    asked = parsing.parse(await read_body(request), RewardRequest)
    service = _service(request.app.state)
    made = await service.reward(request.path_params["decision_id"], asked.value, asked.part)
    return Answer(made, 200)


@get("/decisions/{decision_id:str}", guards=[needs("reader")])
async def get_decision(state: State, decision_id: FromPath[str]) -> DecisionView:
    """A decision, why it was made, and what came of it."""
    service = _service(state)
    await service.durable()
    return service.decision_view(decision_id)


@get("/decisions/{decision_id:str}/replay", guards=[needs("reader")])
async def replay(state: State, decision_id: FromPath[str]) -> ReplayView:
    """Make a decision again from the log."""
    logged, replayed = await _service(state).replay(decision_id)
    return ReplayView(logged=logged, replayed=replayed, same=logged == replayed)


@get("/policies/{policy:str}/diversity", guards=[needs("reader")])
async def diversity(state: State, policy: FromPath[str]) -> DiversityView:
    """How diverse each arm's samples are."""
    service = _service(state)
    await service.durable()
    return views.diversity_view(service.policy(policy))


@get("/policies/{policy:str}/course", guards=[needs("reader")])
async def course(state: State, policy: FromPath[str]) -> Course:
    """How the policy has fared, at a few hundred points."""
    service = _service(state)
    await service.durable()
    return service.policy(policy).course


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
    """Answer an alarm: explore, drop the arm, or hold on to greedy."""
    asked = parsing.parse(body, ResolutionRequest)
    resolved = events.Resolved(
        arm=asked.arm,
        resolution=asked.resolution,
        who=signed(request, asked.who),
        why=asked.why,
    )
    return views.diversity_view(await _act(state, policy, resolved, key))


@post("/policies/{policy:str}/arms", operation_class=body_of(ArmRequest), guards=[needs("admin")])
async def add_arm(
    state: State,
    request: Request[Any, Any, Any],
    policy: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> PolicyView:
    """Add an arm."""
    asked = parsing.parse(body, ArmRequest)
    added = events.ArmAdded(
        arm=asked.arm,
        initial_pulls=asked.initial_pulls,
        who=signed(request, asked.who),
        why=asked.why,
    )
    return views.policy_view(await _act(state, policy, added, key))


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
    asked = parsing.parse(body, RetirementRequest)
    retired = events.ArmRetired(arm=asked.arm, who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _act(state, policy, retired, key))


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
    asked = parsing.parse(body, HistoryRequest)
    rows = (msgspec.structs.replace(row, context=plain(row.context)) for row in asked.rows)
    imported = events.Imported(rows=tuple(rows), who=signed(request, asked.who), why=asked.why)
    return views.policy_view(await _act(state, policy, imported, key))


@put(
    "/policies/{policy:str}/schema",
    operation_class=body_of(SchemaRequest),
    guards=[needs("admin")],
)
async def change_schema(
    state: State, request: Request[Any, Any, Any], policy: FromPath[str], body: RawBody
) -> SchemaAnswer:
    """Give the policy other features; what it learned is learned again from the log."""
    asked = parsing.parse(body, SchemaRequest)
    schema = Features(features=asked.features, intercept=asked.intercept)
    who = signed(request, asked.who)
    version = await _service(state).change_schema(policy, schema, asked.fill, who, asked.why)
    return SchemaAnswer(policy=policy, schema_version=version)


@get("/policies/{policy:str}/audit", guards=[needs("reader")])
async def audit(
    state: State,
    policy: FromPath[str],
    before: Annotated[
        int | None, QueryParameter(ge=1, le=2**62, description="Entries before this number.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> list[AuditEntry]:
    """What people and the diversity test did, newest first."""
    service = _service(state)
    await service.durable()
    return [views.audit_entry(entry) for entry in service.audit(policy, before, limit)]


@get(
    "/policies/{policy:str}/export",
    guards=[needs("reader")],
    media_type="application/vnd.apache.parquet",
)
async def export(state: State, policy: FromPath[str]) -> File:
    """All decisions and their rewards as a Parquet file."""
    service = _service(state)
    await service.durable()
    service.policy(policy)
    return await exported(service.log, policy)


def problem(status: int, sentence: str) -> Response[bytes]:
    """A refusal as an answer."""
    body = {"status": status, "detail": sentence}
    headers = {"Retry-After": "1"} if status == 503 else {}
    return Response(
        msgspec.json.encode(body),
        status_code=status,
        media_type=_JSON,
        headers=headers,
    )


router = Router(
    "/v1",
    route_handlers=[
        create_policy,
        list_policies,
        get_policy,
        decide,
        reward,
        get_decision,
        replay,
        diversity,
        course,
        resolve,
        add_arm,
        retire_arm,
        import_history,
        change_schema,
        audit,
        export,
    ],
)
