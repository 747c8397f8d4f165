"""Signing in with a key, and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.params import FromQuery
from litestar.response import Redirect

from greedyfirst.service.dashboard import forms
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.http.access import COOKIE, Access, hashed, session_of
from greedyfirst.service.http.decisions import service_of


@get("/sign-in")
async def sign_in_page(
    request: Request[Any, Any, Any], next: FromQuery[str] = "/"
) -> Response[str]:
    """Where a person enters a key."""
    return page(request, "sign_in.html", next=_local(next), problem=None)


@post("/sign-in")
async def sign_in(request: Request[Any, Any, Any], state: State) -> Response[Any]:
    """Begin a session, in a cookie that no script can read and no other site can use."""
    fields = await forms.sent(request)
    key, target = fields.get("key", ""), _local(fields.get("next", "/"))
    access: Access = state.access
    caller, client = access.caller(key), request.client.host if request.client else ""
    if caller is None:
        state.trail.refused(client, f"{access.reason(key)} at sign-in", None)
        problem = "This key is not known. Look for blanks or missing letters."
        return page(request, "sign_in.html", 401, next=target, problem=problem)
    state.trail.signed_in(caller.name, client)
    await service_of(state).durable()
    session = await access.sessions.begin(hashed(key))
    return Redirect(target, status_code=303, cookies=[_cookie(request, session)])


@post("/sign-out")
async def sign_out(request: Request[Any, Any, Any], state: State) -> Redirect:
    """End the session."""
    await forms.sent(request)
    session = session_of(request)
    if session is not None:
        await state.access.sessions.end(session)
    gone = _cookie(request, "")
    gone.max_age = 0
    return Redirect("/sign-in", status_code=303, cookies=[gone])


def _cookie(request: Request[Any, Any, Any], session: str) -> Cookie:
    # A proxy that speaks HTTPS says so. Whoever pretends only makes their own cookie stricter.
    spoken = request.headers.get("x-forwarded-proto", request.url.scheme)
    return Cookie(
        key=COOKIE,
        value=session,
        httponly=True,
        samesite="strict",
        secure=spoken == "https",
        path="/",
    )


def _local(target: str) -> str:
    """A page of this service: nobody is sent elsewhere after signing in."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "/"
    ours = target.startswith("/") and not parts.scheme and not parts.netloc
    return target if ours and target.isprintable() and "\\" not in target else "/"
