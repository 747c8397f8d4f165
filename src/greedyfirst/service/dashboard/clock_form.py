"""The form that every page has while the machine's clock is a question."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, post
from litestar.datastructures import State
from litestar.response import Redirect

from greedyfirst.service.dashboard import forms
from greedyfirst.service.http.access import needs, signed
from greedyfirst.service.http.bodies import parse
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.messages import ClockRequest


@post("/clock", guards=[needs("admin", of_all_policies=True)])
async def answer_clock(request: Request[Any, Any, Any], state: State) -> Redirect:
    """Take a person's answer about the clock."""
    fields = await forms.sent(request)
    body = {name: fields.get(name, "") for name in ("answer", "who", "why")}
    asked = parse(msgspec.json.encode(body), ClockRequest)
    service = service_of(state)
    await service.admin.answer_clock(asked.answer, signed(request, asked.who), asked.why)
    return Redirect("/", status_code=303)
