"""The dashboard's pages."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get
from litestar.datastructures import State
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect

from greedyfirst.service.dashboard import (
    actions,
    assets,
    clock_form,
    decision_page,
    evidence_pages,
    operations_page,
    policy_page,
    reference,
    signing,
    standing,
)
from greedyfirst.service.dashboard.access_page import access_page
from greedyfirst.service.dashboard.rendering import PAGE, page
from greedyfirst.service.http import policies
from greedyfirst.service.http.access import admit_to_policy, caller_of, needs
from greedyfirst.service.http.audit import Before
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.long_jobs import long_job
from greedyfirst.service.http.openapi import document_of


@get("/")
async def front_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """All policies; one whose schema is being changed stands as before. Operators are led on."""
    caller = caller_of(request)
    assert caller is not None
    if not caller.may("reader"):
        return Redirect("/operations", status_code=303)
    found, silent = await policies.all_views(request)
    modes = {policy.name: standing.mode_of(policy) for policy in found}
    return page(request, "front.html", policies=found, modes=modes, silent=sorted(silent))


@get("/policies/{policy:str}")
async def show_policy(
    request: Request[Any, Any, Any],
    state: State,
    policy: FromPath[str],
    done: FromQuery[str | None] = None,
    before: Before = None,
) -> Response[str]:
    """A policy: its alarms, charts, arms and audit list."""
    service = service_of(state)
    await service.reading.settled(policy)
    return await policy_page.render(request, service, policy, done=done, before=before)


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
    await service.decision(asked)
    return Redirect(f"/decisions/{asked}", status_code=303)


@get(["/decisions/{decision_id:str}", "/decisions/{decision_id:str}/again"])
async def show_decision(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> Response[str]:
    """A decision in plain words, and made again from the log if that is asked for."""
    service = service_of(state)
    await service.durable()
    again = None
    if request.url.path.endswith("/again"):
        with long_job(request):
            again = await service.reading.recompute(decision_id)
    return await decision_page.render(request, service, decision_id, again=again)


@get("/docs")
async def documentation(request: Request[Any, Any, Any]) -> Response[str]:
    """The API, for people."""
    document = document_of(request.app)
    return page(request, "docs.html", **reference.chapters(document))


#: Who may see which pages; only an admin may answer, assets and signing in are open to all.
_for_operators = Router("/", route_handlers=[front_page, documentation], guards=[needs("operator")])
_for_readers = Router(
    "/", route_handlers=[show_policy, look_up, show_decision], guards=[needs("reader")]
)
router = Router(
    "/",
    route_handlers=[
        _for_operators,
        _for_readers,
        evidence_pages.show_effects,
        evidence_pages.show_subgroups,
        evidence_pages.show_protocol,
        operations_page.show_operations,
        operations_page.show_policy_operations,
        access_page,
        *actions.HANDLERS,
        clock_form.answer_clock,
        signing.sign_in_page,
        signing.sign_in,
        signing.sign_out,
        assets.asset,
    ],
    opt=PAGE,
    include_in_schema=False,
)
