"""The application: routes, middleware and life cycle put together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Litestar, Request, Response, Router, get, route
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.exceptions import HTTPException, NotFoundException
from litestar.handlers import BaseRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from greedyfirst.service import dashboard
from greedyfirst.service.anchoring import Anchoring
from greedyfirst.service.beside import at_most
from greedyfirst.service.errors import DamagedLogError, LogFailedError, RequestError
from greedyfirst.service.http import (
    audit,
    clock,
    decisions,
    evidence,
    operations,
    policies,
)
from greedyfirst.service.http.access import Access, caller_of, needs, reason_of
from greedyfirst.service.http.access_trail import AccessTrail
from greedyfirst.service.http.forwarding import Forwarding
from greedyfirst.service.http.key_watch import KeyWatch
from greedyfirst.service.http.long_jobs import LongJobs
from greedyfirst.service.http.metrics import ServiceMetrics
from greedyfirst.service.http.middleware import ASGI, Middleware, RateLimit
from greedyfirst.service.http.observations import Observations
from greedyfirst.service.http.openapi import document_of, operation_id, other_method
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.log.anchors import AnchorFile
from greedyfirst.service.service import DecisionService
from greedyfirst.version import __version__

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.http.peers import Peers
    from greedyfirst.service.log.postgres_database import PostgresUrl

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_BYTES = 1_000_000
BODY_SECONDS = 30.0
PER_SECOND = 20_000.0
#: Seconds that each of the last steps may take.
_LONGEST_END = 3.0
_log = logging.getLogger("greedyfirst.service")


@route("/healthz", http_method=["GET", "HEAD"], include_in_schema=False)
async def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "alive"}


@route("/readyz", http_method=["GET", "HEAD"], include_in_schema=False)
async def readyz(state: State) -> Response[dict[str, Any]]:
    """Requests can be answered; what a person should look at all the same."""
    stale, warnings = state.access.stale, state.service.warnings()
    ready = state.service.ready and stale is None
    warnings += [] if stale is None else [stale]
    if state.peers is not None:
        warnings += state.peers.warnings()
    return Response(
        {"status": "ready" if ready else "not ready", "warnings": warnings},
        status_code=200 if ready else 503,
    )


@get("/peer", include_in_schema=False, media_type="text/plain")
async def peer(request: Request[Any, Any, Any], state: State) -> str:
    """Other services on the same log ask whether this is one."""
    question = request.headers.get("greedyfirst-peer", "")
    proved: str | None = None if state.peers is None else state.peers.proved(question)
    if proved is None:
        raise NotFoundException
    return proved


@get("/openapi.json", include_in_schema=False)
async def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """The interface, for programs."""
    return document_of(request.app)


@get("/metrics", include_in_schema=False, guards=[needs("operator")], media_type="text/plain")
async def metrics(request: Request[Any, Any, Any], state: State) -> bytes:
    """Prometheus reads this."""
    caller = caller_of(request)
    assert caller is not None
    text: bytes = state.metrics.text(caller.policies, blind=not caller.may("reader"))
    return text


async def _nobody(_: ASGIConnection[Any, Any, Any, Any], __: BaseRouteHandler) -> None:
    """Guards what Litestar serves beside the document; :func:`openapi` has the whole of it."""
    raise NotFoundException


def _problem(request: Request[Any, Any, Any], status: int, sentence: str) -> Response[Any]:
    """What went wrong, as a page for people and as JSON for programs."""
    if status in (401, 403):
        caller = caller_of(request)
        client = request.client.host if request.client else ""
        name = None if caller is None else caller.name
        request.app.state.trail.refused(client, reason_of(request), name)
    if dashboard.is_page(request):
        return dashboard.problem_page(request, status, sentence)
    return Response(
        msgspec.json.encode({"status": status, "detail": sentence}),
        status_code=status,
        media_type="application/json",
        headers={"Retry-After": "1"} if status in (429, 503) else {},
    )


def _refused(request: Request[Any, Any, Any], error: RequestError) -> Response[Any]:
    return _problem(request, error.status, error.sentence)


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    return _problem(request, 503, f"the log cannot be read at the moment ({error}); try again")


def _http(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    status = 422 if error.status_code == 400 and error.extra else error.status_code
    detail = error.detail
    if status == 413:
        detail = f"a body may have at most {request.app.request_max_body_size} bytes"
    if status == 405:
        return _other_method(request, detail)
    if isinstance(error.extra, list):
        named = [f"{item.get('key', '')}: {item.get('message', '')}" for item in error.extra]
        detail = "; ".join(named) or detail
    return _problem(request, status, detail)


def _other_method(request: Request[Any, Any, Any], detail: str) -> Response[Any]:
    """What to send in the place of a method that the address does not take."""
    told = other_method(request.app, request.method, request.url.path)
    answer = _problem(request, 405, detail if told is None else told[0])
    if told is not None:
        answer.headers["Allow"] = told[1]
    return answer


def _unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    path = request.url.path
    _log.error(
        "%s %s failed", request.method, path, exc_info=error, extra={"event": "request_failed"}
    )
    return _problem(request, 500, "something went wrong in the service; its log has the details")


async def _last_words(service: DecisionService, trail: AccessTrail, anchoring: Anchoring) -> None:
    """Record what is left, and note where the log ends."""
    await trail.flush()
    await service.durable()
    await anchoring.note()


def make_application(
    service: DecisionService,
    *,
    access: Access,
    keys_in: Path | PostgresUrl | None = None,
    anchors: AnchorFile | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    per_second: float = PER_SECOND,
    most_bytes: int = MOST_BYTES,
    body_seconds: float = BODY_SECONDS,
    proxies: Proxies | None = None,
    access_log: bool = False,
    connections: Callable[[], int | None] = lambda: None,
    peers: Peers | None = None,
) -> Litestar:
    """The application.

    Parameters
    ----------
    service
        What it serves; started and stopped with it.
    access
        The keys in force.
    keys_in
        Where the log is, whose changes of keys are recorded; None if keys are from elsewhere.
    anchors
        Where the log's head is noted every hour and at the end.
    hosts
        Names that requests may use for this service; None for any.
    per_second, most_bytes, body_seconds
        Limits of a client's requests, of a request's body, and of the time that the body takes.
    proxies
        Addresses whose word about the client's address and scheme is taken.
    access_log
        Whether the daily work is in the access log too, not only what is seldom or refused.
    connections
        How many are open; None if nobody knows.
    peers
        Other services that write the same log; None if there are none.
    """
    observations = Observations(all_requests=access_log)
    watch = KeyWatch(access, keys_in)
    trail = AccessTrail(service, watch)
    anchoring = Anchoring(service, anchors)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await service.start()
        watch.start()
        keeping = [
            asyncio.create_task(trail.keep()),
            asyncio.create_task(anchoring.keep()),
            asyncio.create_task(observations.keep_counting()),
        ]
        try:
            yield
        finally:
            for task in keeping:
                task.cancel()
            await service.leave()  # first, so that other services can take the policies
            await at_most(_LONGEST_END, watch.stop)
            with suppress(RequestError, TimeoutError):  # where nothing can be recorded any more
                await asyncio.wait_for(_last_words(service, trail, anchoring), _LONGEST_END)
            await service.stop()
            await access.sessions.close()
            if peers is not None:
                await peers.close()

    interface = [
        ("policies", policies.HANDLERS),
        ("decisions", decisions.HANDLERS),
        ("policies", policies.FURTHER_HANDLERS),
        ("clock", clock.HANDLERS),
        ("audit", audit.HANDLERS),
        ("evidence", evidence.HANDLERS),
        ("operations", operations.HANDLERS),
    ]
    app = Litestar(
        route_handlers=[
            *(Router("/v1", route_handlers=handlers, tags=[tag]) for tag, handlers in interface),
            dashboard.router,
            healthz,
            readyz,
            *([] if peers is None else [peer]),
            openapi,
            metrics,
        ],
        lifespan=[lifespan],
        state=State(
            {
                "service": service,
                "access": access,
                "trail": trail,
                "peers": peers,
                "metrics": ServiceMetrics(service, observations, connections),
                "long_jobs": LongJobs(),
            }
        ),
        exception_handlers={
            RequestError: _refused,
            LogFailedError: _failed,
            DamagedLogError: _failed,
            HTTPException: _http,
            Exception: _unexpected,
        },
        request_max_body_size=most_bytes,
        openapi_config=OpenAPIConfig(
            title="greedyfirst",
            version=__version__,
            use_handler_docstrings=True,
            operation_id_creator=operation_id,
            render_plugins=[JsonRenderPlugin()],
            openapi_router=Router(
                "/schema", route_handlers=[], guards=[_nobody], include_in_schema=False
            ),
            components=Components(
                security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}
            ),
        ),
        logging_config=None,
        debug=False,
    )
    # Around everything: middleware of Litestar's is not asked about addresses that do not exist.
    inner: ASGI = app.asgi_handler
    if peers is not None:
        inner = Forwarding(inner, service, peers, most_bytes)
    app.asgi_handler = Middleware(
        inner,
        access,
        hosts,
        RateLimit(per_second),
        body_seconds,
        trail.refused,
        service.head,
        observations,
        proxies,
    )
    return app
