"""The routes of decisions and their rewards, version 1."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, get, post, put
from litestar.datastructures import State
from litestar.params import FromPath, HeaderParameter, RawBody
from litestar.types import ASGIApp

from greedyfirst.service.http.access import NEEDS, admit, needs, signed
from greedyfirst.service.http.bodies import parse, read_body
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.http.messages import (
    CorrectionRequest,
    DecisionRequest,
    ErasureRequest,
    ReplayView,
    RewardAnswer,
    RewardRequest,
)
from greedyfirst.service.http.openapi import body_of, plain_operation
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.log.events import Decision
from greedyfirst.service.service import DecisionService

_encoder = msgspec.json.Encoder()
Key = Annotated[
    str | None,
    HeaderParameter(name="Idempotency-Key", description="The same key and body: the same answer."),
]


def service_of(state: State) -> DecisionService:
    """The service that the application serves."""
    service: DecisionService = state.service
    return service


class StructResponse:
    """A struct as the answer to a request, without Litestar's own response."""

    __slots__ = ("_body", "_status")

    def __init__(self, content: msgspec.Struct, status: int) -> None:
        self._body, self._status = _encoder.encode(content), status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self._body)),
        ]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


# The two that are asked most take only the request and answer with bytes: what Litestar does for
# others, guards and parameters and responses as objects, takes it longer than a decision.


@post(
    "/policies/{policy:str}/decisions",
    operation_class=plain_operation(
        DecisionRequest, Decision, {"policy": "path", "Idempotency-Key": "header"}
    ),
    opt={NEEDS: "decider"},
)
async def decide(request: Request[Any, Any, Any]) -> ASGIApp:
    """Choose an arm for a context."""
    admit(request, "decider")
    asked = parse(await read_body(request), DecisionRequest)
    key = None
    for name, value in request.scope["headers"]:
        if name == b"idempotency-key":
            key = value.decode("latin-1")
    made = await service_of(request.app.state).decide(
        request.path_params["policy"], asked.context, asked.eligible_arms, key
    )
    return StructResponse(made, 201)


@put(
    "/decisions/{decision_id:str}/reward",
    operation_class=plain_operation(RewardRequest, RewardAnswer, {"decision_id": "path"}),
    opt={NEEDS: "decider"},
)
async def reward(request: Request[Any, Any, Any]) -> ASGIApp:
    """Give a decision its reward."""
    admit(request, "decider")
    asked = parse(await read_body(request), RewardRequest)
    service = service_of(request.app.state)
    decision_id = request.path_params["decision_id"]
    outcome = await service.reward(decision_id, asked.value, asked.part)
    answer = RewardAnswer(decision_id=decision_id, outcome=outcome, value=asked.value)
    return StructResponse(answer, 200)


@post(
    "/decisions/{decision_id:str}/correction",
    operation_class=body_of(CorrectionRequest),
    guards=[needs("admin")],
)
async def correct(
    state: State,
    request: Request[Any, Any, Any],
    decision_id: FromPath[str],
    body: RawBody,
    key: Key = None,
) -> DecisionView:
    """Correct a reward, confirm one that is held, or declare it void."""
    asked = parse(body, CorrectionRequest)
    service, who = service_of(state), signed(request, asked.who)
    await service.admin.correct(decision_id, asked.value, asked.part, who, asked.why, key)
    return await service.reading.decision_view(decision_id)


@post(
    "/decisions/{decision_id:str}/erasure",
    operation_class=body_of(ErasureRequest),
    guards=[needs("admin")],
)
async def erase(
    state: State, request: Request[Any, Any, Any], decision_id: FromPath[str], body: RawBody
) -> DecisionView:
    """Erase a person's features from a decision; what it taught is learned no more."""
    asked = parse(body, ErasureRequest)
    service = service_of(state)
    await service.admin.erase(decision_id, signed(request, asked.who), asked.why)
    return await service.reading.decision_view(decision_id)


@get("/decisions/{decision_id:str}", guards=[needs("reader")])
async def get_decision(state: State, decision_id: FromPath[str]) -> DecisionView:
    """A decision, why it was made, and what came of it."""
    service = service_of(state)
    await service.durable()
    return await service.reading.decision_view(decision_id)


@get("/decisions/{decision_id:str}/replay", guards=[needs("reader")])
async def replay(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> ReplayView:
    """Make a decision again from the log."""
    with long_job(request):
        logged, recomputed = await service_of(state).reading.recompute(decision_id)
    return ReplayView(logged=logged, replayed=recomputed, same=logged == recomputed)


HANDLERS = [decide, reward, correct, erase, get_decision, replay]
