"""The dashboard's pages."""

from __future__ import annotations

import secrets
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, Response, Router, get, post
from litestar.datastructures import State
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Redirect

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.dashboard import (
    assets,
    clock_form,
    forms,
    reference,
    signing,
    standing,
    wording,
)
from greedyfirst.service.dashboard.access_page import access_page
from greedyfirst.service.dashboard.history_table import history_rows
from greedyfirst.service.dashboard.rendering import PAGE, page
from greedyfirst.service.errors import ConflictError, InvalidError
from greedyfirst.service.http import views
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.http.messages import DiversityView
from greedyfirst.service.http.middleware import (
    admit_to_policy,
    caller_of,
    needs,
    seen,
    signed,
)
from greedyfirst.service.http.openapi import document_of
from greedyfirst.service.log import events
from greedyfirst.service.service import DecisionService

_AUDIT_ROWS = 20
_MOST_CHARTS = 12
_LONGEST = {"who": 200, "why": 2000}


@get("/")
async def front_page(request: Request[Any, Any, Any], state: State) -> Response[str]:
    """All policies; one whose schema is being changed stands as before."""
    settled = {each.name: each for each in await service_of(state).all_settled()}
    policies = [views.policy_view(each) for each in seen(request, settled)]
    modes = {policy.name: standing.mode_of(policy) for policy in policies}
    return page(request, "front.html", policies=policies, modes=modes)


@get("/policies/{policy:str}")
async def policy_page(
    request: Request[Any, Any, Any],
    state: State,
    policy: FromPath[str],
    answered: FromQuery[str | None] = None,
    before: Annotated[int | None, QueryParameter(ge=1, le=2**62)] = None,
) -> Response[str]:
    """A policy: its alarms, charts, arms and audit list."""
    service = service_of(state)
    await service.settled(policy)
    return _policy_page(request, service, policy, answered=answered, before=before)


def _policy_page(
    request: Request[Any, Any, Any],
    service: DecisionService,
    policy: str,
    *,
    status: int = 200,
    answered: str | None = None,
    before: int | None = None,
    refused: dict[str, str] | None = None,
) -> Response[str]:
    """``answered`` is the key of an answer just given, ``refused`` the fields of one refused."""
    deployment = service.deployment(policy)
    shown, diversity = views.policy_view(deployment), views.diversity_view(deployment)
    audit = [views.audit_entry(entry) for entry in service.audit(policy, before, _AUDIT_ROWS + 1)]
    done = None if answered is None else service.log.with_key(policy, answered[:200])
    return page(
        request,
        "policy.html",
        status,
        policy=shown,
        mode=standing.mode_of(shown),
        diversity=diversity,
        shares=diversity.measure == "share of samples",
        now={arm.name: arm for arm in diversity.arms},
        since=_raised(service, policy) if diversity.open_alarms else {},
        standings={arm.name: standing.arm_standing(arm, diversity) for arm in diversity.arms},
        charts=_charted(diversity),
        history=history_rows(deployment.history),
        audit=audit[:_AUDIT_ROWS],
        older=audit[_AUDIT_ROWS - 1].number if len(audit) > _AUDIT_ROWS else None,
        happened=wording.happened,
        answers={name: ANSWERS[name] for name in deployment.agent.policy.answers()},
        form_key=_new_key(),
        refused=refused,
        done=None if done is None else views.audit_entry(done),
    )


def _raised(service: DecisionService, policy: str) -> dict[str, float]:
    """When each arm's newest alarm was raised, as far as the newest audited entries tell."""
    raised: dict[str, float] = {}
    for entry in service.audit(policy, None, 100):
        if entry.kind == "alarmed":
            event = entry.event
            assert isinstance(event, events.Alarmed)
            raised.setdefault(event.arm, entry.at)
    return raised


def _charted(diversity: DiversityView) -> list[tuple[int, str]]:
    """Number and name of the arms that get a chart: the least diverse, if they are many."""
    arms = list(enumerate(diversity.arms))
    if len(arms) > _MOST_CHARTS:
        arms = sorted(arms, key=lambda pair: pair[1].min_eigenvalue)[:_MOST_CHARTS]
    return [(number, arm.name) for number, arm in arms]


def _new_key() -> str:
    """Of a form that is to count once."""
    return f"form-{secrets.token_urlsafe(16)}"


@post("/policies/{policy:str}", guards=[needs("admin")])
async def answer_alarm(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Take a person's answer to an alarm; the same form sent twice counts once."""
    fields = await forms.sent(request)
    service = service_of(state)
    key = fields.get("key") or _new_key()
    try:
        resolved = _resolved(fields, request)
        await service.administer(policy, resolved, key)
    except (InvalidError, ConflictError) as error:
        refused = fields | {"problem": error.sentence}
        await service.settled(policy)
        return _policy_page(request, service, policy, status=error.status, refused=refused)
    return Redirect(f"/policies/{policy}?answered={quote(key)}", status_code=303)


def _resolved(fields: dict[str, str], request: Request[Any, Any, Any]) -> events.Resolved:
    resolution: Any = fields.get("resolution")
    if resolution not in ANSWERS:
        raise InvalidError("Choose one of the answers.")
    for name, longest in _LONGEST.items():
        text = fields.get(name, "")
        if not text:
            raise InvalidError("Say who you are." if name == "who" else "Say why: others will ask.")
        if len(text) > longest:
            raise InvalidError(f"“{name.capitalize()}” can have {longest} characters at most.")
    return events.Resolved(
        arm=fields.get("arm", ""),
        resolution=resolution,
        who=signed(request, fields["who"]),
        why=fields["why"],
    )


@get("/decisions")
async def look_up(
    request: Request[Any, Any, Any],
    state: State,
    number: FromQuery[str] = "",
    policy: FromQuery[str] = "",
) -> Redirect:
    """From the number or id in the look-up form to the decision."""
    asked, service, caller = number.strip(), service_of(state), caller_of(request)
    assert caller is not None
    if asked.isascii() and asked.isdigit():
        admit_to_policy(caller, {"policy": policy})
        asked = service.deployment(policy).decision_id(int(asked[:18]))
    admit_to_policy(caller, {"decision_id": asked})
    service.decision(asked)
    return Redirect(f"/decisions/{asked}", status_code=303)


@get(["/decisions/{decision_id:str}", "/decisions/{decision_id:str}/again"])
async def decision_page(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> Response[str]:
    """A decision in plain words, and made again from the log if that is asked for."""
    service = service_of(state)
    await service.durable()
    view = service.decision_view(decision_id)
    again = None
    if request.url.path.endswith("/again"):
        with long_job(request):
            again = await service.recompute(decision_id)
    return page(
        request,
        "decision.html",
        view=view,
        why=wording.why_chosen(view),
        fate=wording.fate(view),
        again=again,
    )


@get("/docs")
async def documentation(request: Request[Any, Any, Any]) -> Response[str]:
    """The API, for people."""
    document = document_of(request.app)
    return page(request, "docs.html", **reference.chapters(document))


#: Only readers see pages, and only an admin may answer; assets and signing in are open to all.
_for_readers = Router(
    "/",
    route_handlers=[front_page, policy_page, look_up, decision_page, documentation],
    guards=[needs("reader")],
)
router = Router(
    "/",
    route_handlers=[
        _for_readers,
        access_page,
        answer_alarm,
        clock_form.answer_clock,
        signing.sign_in_page,
        signing.sign_in,
        signing.sign_out,
        assets.asset,
    ],
    opt=PAGE,
    include_in_schema=False,
)
