"""The routes of the service's own audit list and of the log's head, version 1."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from greedyfirst.service.http import views
from greedyfirst.service.http.access import needs
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.http.messages import AuditEntry, HeadView

#: What part of an audit list is asked for.
Before = Annotated[
    int | None, QueryParameter(ge=1, le=2**62, description="Entries before this number.")
]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


@get("/audit", guards=[needs("admin", of_all_policies=True)])
async def service_audit(
    state: State,
    before: Before = None,
    limit: Limit = 100,
) -> list[AuditEntry]:
    """What happened with keys, sign-ins, refused requests and backups, newest first."""
    service = service_of(state)
    await service.durable()
    found = await service.reading.audit_of_service(before, limit)
    return [views.audit_entry(entry) for entry in found]


@get("/log/head", guards=[needs("operator", of_all_policies=True)])
async def log_head(state: State) -> HeadView:
    """The last entry of the log: keep it elsewhere, to find out later whether the end was cut."""
    service = service_of(state)
    await service.durable()
    head = service.log.head()
    return HeadView(head=str(head), entries=head.seq, seal=head.seal.hex())


HANDLERS = [service_audit, log_head]
