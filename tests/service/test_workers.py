"""Long work beside requests: it holds neither them nor other kinds of work, and has limits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import CONTEXT, SPECIFICATION, at_once

from greedyfirst.agent import Agent
from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.state import history, restoring
from greedyfirst.service.workers import LIMITS, Limit, Workers

KEYS = [
    AccessKey(name, role, hashed(name)) for name, role in (("rita", "reader"), ("anna", "admin"))
]
ANNA, RITA = {"Authorization": "Bearer anna"}, {"Authorization": "Bearer rita"}


class Gate:
    """Long work that ends when a test says so."""

    def __init__(self) -> None:
        self.open, self.entered = threading.Event(), threading.Semaphore(0)

    def __call__(self, *_: Any) -> Any:
        self.entered.release()
        assert self.open.wait(30)
        return "done"


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open.set()


def test_a_full_queue_refuses_and_other_kinds_go_on(gate: Gate) -> None:
    async def run() -> None:
        workers = Workers({"slow": Limit(1, 2), "other": Limit(1, 0)})
        jobs = [asyncio.ensure_future(workers.run("slow", gate)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="3 long jobs of this kind"):
            await workers.run("slow", gate)
        assert await workers.run("other", lambda: 7) == 7
        jobs[2].cancel()  # its caller has left while it waited
        await asyncio.sleep(0.05)
        assert workers.jobs == {"slow": 2, "other": 0}
        gate.open.set()
        assert await asyncio.gather(*jobs[:2]) == ["done", "done"]
        while any(workers.jobs.values()):
            await asyncio.sleep(0.01)
        workers.close()

    asyncio.run(asyncio.wait_for(run(), 60))


async def made(client: httpx.AsyncClient) -> None:
    client.headers.update(ANNA)
    assert (await client.post("/v1/policies", json=SPECIFICATION)).status_code == 201
    body = {"context": CONTEXT}
    assert (await client.post("/v1/policies/dose/decisions", json=body)).status_code == 201


@pytest.mark.parametrize(
    ("patched", "url"),
    [
        ((restoring, "recompute"), "/v1/decisions/dose:1/replay"),
        (("greedyfirst.service.read_requests", "write_parquet"), "/v1/policies/dose/export"),
    ],
)
def test_long_jobs_hold_no_request_and_have_limits(
    path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch, patched: Any, url: str
) -> None:
    owner, name = patched
    target = f"{owner}.{name}" if isinstance(owner, str) else None

    async def run() -> None:
        async with at_once(path, access=Access(lambda: KEYS)) as (client, service):
            await made(client)
            if target:
                monkeypatch.setattr(target, gate)
            else:
                monkeypatch.setattr(owner, name, gate)
            jobs = [asyncio.ensure_future(client.get(url, headers=RITA)) for _ in range(2)]
            while sum(service.workers.jobs.values()) < 2:
                await asyncio.sleep(0.01)
            third = await client.get(url, headers=RITA)
            assert third.status_code == 429
            assert third.headers["Retry-After"] == "1"
            assert "a reader may have 2 long jobs" in third.json()["detail"]
            body = {"context": CONTEXT}
            answer = await client.post("/v1/policies/dose/decisions", json=body)
            assert answer.status_code == 201
            assert (await client.get("/v1/policies/dose")).status_code == 200
            gate.open.set()
            await asyncio.gather(*jobs, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_too_many_jobs_of_all_callers_are_503(
    path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [AccessKey(f"r{i}", "reader", hashed(f"r{i}")) for i in range(10)]

    async def run() -> None:
        async with at_once(path, access=Access(lambda: KEYS + many)) as (client, service):
            await made(client)
            monkeypatch.setattr(restoring, "recompute", gate)
            url, most = "/v1/decisions/dose:1/replay", sum(LIMITS["recompute"])
            jobs = [
                asyncio.ensure_future(
                    client.get(url, headers={"Authorization": f"Bearer r{number // 2}"})
                )
                for number in range(most)
            ]
            while service.workers.jobs["recompute"] < most:
                await asyncio.sleep(0.01)
            refused = await client.get(url, headers={"Authorization": "Bearer r9"})
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
            gate.open.set()
            await asyncio.gather(*jobs, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize(
    "url",
    ["/v1/policies/dose/diversity", "/v1/policies/dose", "/v1/policies", "/policies/dose", "/"],
)
def test_pages_of_wide_policies_hold_no_request(
    path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    diversity = Agent.diversity

    def slow(agent: Agent) -> Any:
        gate()
        return diversity(agent)

    async def run() -> None:
        async with at_once(path, access=Access(lambda: KEYS)) as (client, service):
            await made(client)
            service.deployments["dose"].report = None
            monkeypatch.setattr(history, "MOST_AT_ONCE", 0)
            monkeypatch.setattr(Agent, "diversity", slow)
            shown = [asyncio.ensure_future(client.get(url)) for _ in range(3)]
            while not gate.entered.acquire(blocking=False):
                await asyncio.sleep(0.01)
            began = time.monotonic()
            assert (await client.get("/healthz")).status_code == 200
            body = {"context": CONTEXT}
            answer = await client.post("/v1/policies/dose/decisions", json=body)
            assert answer.status_code == 201
            assert time.monotonic() - began < 10
            gate.open.set()
            assert [one.status_code for one in await asyncio.gather(*shown)] == [200] * 3
            assert not gate.entered.acquire(blocking=False)  # made once for all three

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_report_made_in_a_thread_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with at_once(path, access=Access(lambda: KEYS)) as (client, service):
            await made(client)
            url = "/v1/policies/dose/diversity"
            for _ in range(3):
                decided = await client.post(
                    "/v1/policies/dose/decisions", json={"context": CONTEXT}
                )
                reward = f"/v1/decisions/{decided.json()['decision_id']}/reward"
                assert (await client.put(reward, json={"value": 1.5})).status_code == 200
                monkeypatch.setattr(history, "MOST_AT_ONCE", 10**9)
                at_once_made = (await client.get(url)).json()
                service.deployments["dose"].report = None
                monkeypatch.setattr(history, "MOST_AT_ONCE", 0)
                assert (await client.get(url)).json() == at_once_made

    asyncio.run(asyncio.wait_for(run(), 60))


def test_rewards_of_many_features_wait_for_no_report(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points of the history then have pulls, and no numbers of diversity; the page says so."""
    monkeypatch.setattr(history, "MOST_AT_ONCE", 0)
    reports: list[int] = []
    diversity = Agent.diversity
    monkeypatch.setattr(Agent, "diversity", lambda agent: reports.append(1) or diversity(agent))

    async def run() -> None:
        async with at_once(path, access=Access(lambda: KEYS)) as (client, service):
            await made(client)
            asked = len(reports)
            for value in (1.5, 2.5):
                decided = await client.post(
                    "/v1/policies/dose/decisions", json={"context": CONTEXT}
                )
                reward = f"/v1/decisions/{decided.json()['decision_id']}/reward"
                assert (await client.put(reward, json={"value": value})).status_code == 200
            assert len(reports) == asked
            points = service.deployments["dose"].history.points
            assert [sum(point.pulls) for point in points[-2:]] == [
                len(points) - 1,
                len(points),
            ]
            assert points[-1].min_eigenvalues == points[-1].thresholds == []
            page = await client.get("/policies/dose")
            assert "Not drawn over time for so many features" in page.text
            assert 'data-chart="diversity"' not in page.text

    asyncio.run(asyncio.wait_for(run(), 60))
