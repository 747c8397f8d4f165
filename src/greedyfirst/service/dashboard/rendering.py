"""Pages from templates: what all of them have, and pages that say what went wrong."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response
from litestar.response import Redirect

from greedyfirst.service.dashboard import assets, forms, interval_words, standing, wording
from greedyfirst.service.http.access import caller_of
from greedyfirst.service.http.clock import clock_view
from greedyfirst.service.http.decisions import service_of

#: Of handlers whose answers are pages.
PAGE = {"page": True}

_environment = Environment(
    loader=PackageLoader("greedyfirst.service.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.globals |= {"asset": assets.address, "plotly_styles": assets.plotly_styles}
_environment.filters |= {
    "count": wording.count,
    "number": wording.number,
    "percent": wording.percent,
    "starving": standing.starving_words,
    "feature": wording.feature,
    "direction": wording.direction,
    "when": wording.when,
    "machine_time": wording.machine_time,
    "bars": wording.bars,
    "ends": interval_words.ends,
    "verdict": interval_words.verdict,
}


def page(
    request: Request[Any, Any, Any], template: str, status: int = 200, **content: Any
) -> Response[str]:
    """A page: the template filled with ``content`` and with who is looking."""
    service = service_of(request.app.state)
    leases = service.running.leases
    text = _environment.get_template(template).render(
        caller=caller_of(request),
        token=forms.token(request),
        here=request.url.path,
        clock=clock_view(service),
        # Where several write the log: which of them made the page.
        process=None if leases is None else leases.me,
        **content,
    )
    return Response(text, status_code=status, media_type="text/html")


def is_page(request: Request[Any, Any, Any]) -> bool:
    """Whether a person is waiting for the answer, rather than a program."""
    handler = request.scope.get("route_handler")
    if handler is None:  # there is nothing at this address
        return "text/html" in request.headers.get("accept", "")
    return bool(handler.opt.get("page"))


def problem_page(request: Request[Any, Any, Any], status: int, sentence: str) -> Response[Any]:
    """A page that says what went wrong; without a valid key, the way to the sign-in page."""
    if status == HTTPStatus.UNAUTHORIZED:
        return Redirect(f"/sign-in?next={quote(_came_from(request))}", status_code=303)
    phrase = HTTPStatus(status).phrase
    title = wording.PROBLEMS.get(status, phrase)
    if sentence == phrase:
        sentence = "Check the address, or begin with the list of policies."
    return page(request, "problem.html", status, title=title, sentence=sentence)


def _came_from(request: Request[Any, Any, Any]) -> str:
    if request.method != "GET":
        return "/"
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path
