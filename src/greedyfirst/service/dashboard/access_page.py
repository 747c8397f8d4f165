"""The page of keys: who has one, and what happened with them."""

from __future__ import annotations

import time
from typing import Any

from litestar import Request, Response, get
from litestar.datastructures import State

from greedyfirst.service.dashboard import wording
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.http import views
from greedyfirst.service.http.access import needs
from greedyfirst.service.http.audit import Before
from greedyfirst.service.http.decisions import service_of

_ROWS = 50


@get("/access", guards=[needs("admin", of_all_policies=True)])
async def access_page(
    request: Request[Any, Any, Any],
    state: State,
    before: Before = None,
) -> Response[str]:
    """Keys, without their secrets, and the service's own audit list."""
    service = service_of(state)
    await service.durable()
    found = await service.reading.audit_of_service(before, _ROWS + 1)
    audit = [views.audit_entry(entry) for entry in found]
    now = time.time()
    return page(
        request,
        "access.html",
        keys=[(key, key.state(now)) for key in state.access.keys],
        audit=audit[:_ROWS],
        older=audit[_ROWS - 1].number if len(audit) > _ROWS else None,
        happened=wording.happened,
        head=service.log.head(),
    )
