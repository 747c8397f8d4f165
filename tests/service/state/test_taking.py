"""How a service on PostgreSQL takes a policy, and what a request waits for meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import psycopg
import pytest
from served import CONTEXT, SPECIFICATION

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state import deployments
from greedyfirst.service.state.specification import Specification
from support.postgres_server import PostgresServer


@asynccontextmanager
async def served(url: PostgresUrl) -> AsyncIterator[DecisionService]:
    service = DecisionService(lambda: PostgresLog(url))
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


def run(url: PostgresUrl, test: Callable[[DecisionService], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with served(url) as service:
            await test(service)

    asyncio.run(whole())


@pytest.fixture
def url(postgres: PostgresServer) -> PostgresUrl:
    return PostgresUrl.parse(postgres.emptied())


def test_a_lease_that_lapsed_and_was_renewed_leaves_the_state_alone(url: PostgresUrl) -> None:
    """A state from the log would lack what is on its way there."""

    async def test(service: DecisionService) -> None:
        await service.admin.create(msgspec.convert(SPECIFICATION, Specification))
        running = service.running
        before, leases = running.by_name["dose"], running.leases
        assert leases is not None
        until, leases._until = leases._until, 0.0  # type: ignore[attr-defined]
        owning = asyncio.create_task(running.own("dose"))
        await asyncio.sleep(0)
        leases._until = until  # type: ignore[attr-defined]
        decided = asyncio.create_task(service.decide("dose", CONTEXT))
        await owning
        await decided
        assert running.by_name["dose"] is before

    run(url, test)


def test_a_request_does_not_wait_without_end_for_a_policy(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments, "_LONGEST_WAIT", 0.2)

    async def test(service: DecisionService) -> None:
        with psycopg.connect(url.conninfo) as holding:
            holding.execute("SELECT FROM greedyfirst.head FOR UPDATE")
            began = time.monotonic()
            requests = [service.running.own("new") for _ in range(20)]
            found = await asyncio.gather(*requests, return_exceptions=True)
            assert time.monotonic() - began < 1.0
        assert {type(each) for each in found} == {UnavailableError}
        while not service.running.owns("new"):  # it goes on by itself
            await asyncio.sleep(0.01)

    run(url, test)
