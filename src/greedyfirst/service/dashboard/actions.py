"""What people do by the dashboard's forms; the same form sent twice counts once."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from litestar import Request, Response, post
from litestar.datastructures import State
from litestar.params import FromPath
from litestar.response import Redirect

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.dashboard import forms
from greedyfirst.service.dashboard.policy_page import render
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.errors import ConflictError, InvalidError
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.middleware import needs, signed
from greedyfirst.service.log import events
from greedyfirst.service.state.administration import Action


@post("/policies/{policy:str}", guards=[needs("admin")])
async def answer_alarm(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Take a person's answer to an alarm; dropping an arm is asked about once more."""
    fields = await forms.sent(request)
    try:
        resolved = _resolved(fields, request)
        drops = ANSWERS[resolved.resolution].drops_arm
        if drops and fields.get("confirmed") != "yes":
            service_of(state).deployment(policy).arm_number(resolved.arm)
            return page(request, "confirm.html", policy=policy, fields=fields)
        return await _done(request, state, policy, resolved, fields)
    except (InvalidError, ConflictError) as error:
        return await _refused(request, state, policy, error, fields)


@post("/policies/{policy:str}/reinstatements", guards=[needs("admin")])
async def put_back(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Let a dropped or retired arm be chosen again."""
    fields = await forms.sent(request)
    try:
        who, why = forms.signature(fields)
        reinstated = events.ArmReinstated(
            arm=fields.get("arm", ""), who=signed(request, who), why=why
        )
        return await _done(request, state, policy, reinstated, fields)
    except (InvalidError, ConflictError) as error:
        return await _refused(request, state, policy, error, fields)


async def _done(
    request: Request[Any, Any, Any],
    state: State,
    policy: str,
    action: Action,
    fields: dict[str, str],
) -> Response[Any]:
    """Do it, and show the policy's page with what was done."""
    key = fields.get("key") or forms.new_key()
    await service_of(state).administer(policy, action, key)
    return Redirect(f"/policies/{policy}?done={quote(key)}", status_code=303)


async def _refused(
    request: Request[Any, Any, Any],
    state: State,
    policy: str,
    error: InvalidError | ConflictError,
    fields: dict[str, str],
) -> Response[Any]:
    """The policy's page, with what was wrong and what had been entered."""
    service = service_of(state)
    await service.durable()
    refused = fields | {"problem": error.sentence[:1].upper() + error.sentence[1:]}
    return render(request, service, policy, status=error.status, refused=refused)


def _resolved(fields: dict[str, str], request: Request[Any, Any, Any]) -> events.Resolved:
    resolution: Any = fields.get("resolution")
    if resolution not in ANSWERS:
        raise InvalidError("Choose one of the answers.")
    who, why = forms.signature(fields)
    number = fields.get("alarm", "")
    return events.Resolved(
        arm=fields.get("arm", ""),
        resolution=resolution,
        who=signed(request, who),
        why=why,
        alarm=int(number) if number.isascii() and number.isdigit() and len(number) < 16 else None,
        change=fields.get("change") == "yes",
    )


HANDLERS = [answer_alarm, put_back]
