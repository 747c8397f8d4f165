"""The routes of the service's clock, version 1."""

from __future__ import annotations

from typing import Any

from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import RawBody

from greedyfirst.service.http.access import needs, signed
from greedyfirst.service.http.bodies import parse
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.messages import ClockRequest, ClockView
from greedyfirst.service.http.openapi import body_of
from greedyfirst.service.service import DecisionService


def clock_view(service: DecisionService) -> ClockView:
    """The clock as it is now."""
    clock = service.clock
    return ClockView(
        now=clock.base + clock.passing(),
        offset=clock.offset,
        question=service.clock_question,
        waits_held=clock.holds,
    )


@get("/clock", guards=[needs("operator")])
async def get_clock(state: State) -> ClockView:
    """The service's time, and whether the machine's clock has moved away from it."""
    return clock_view(service_of(state))


@post(
    "/clock",
    operation_class=body_of(ClockRequest),
    guards=[needs("admin", of_all_policies=True)],
    status_code=200,
)
async def answer_clock(state: State, request: Request[Any, Any, Any], body: RawBody) -> ClockView:
    """Say which clock is right after the machine's has jumped."""
    asked = parse(body, ClockRequest)
    service = service_of(state)
    await service.admin.answer_clock(asked.answer, signed(request, asked.who), asked.why)
    return clock_view(service)


HANDLERS = [get_clock, answer_clock]
