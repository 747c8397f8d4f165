"""Requests at one of several services on a log: who answers them, and when nobody may."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from load_balancer import BOSS, Browser, Member, live
from served import SPECIFICATION

from greedyfirst.service.http.access import ANYONE, CALLER
from greedyfirst.service.http.forwarding import Forwarding
from greedyfirst.service.http.peers import Peers
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.specification import Specification
from support.postgres_server import PostgresServer


async def answered(url: PostgresUrl, method: str, status: int, *, ends: bool) -> tuple[int, bytes]:
    """The status and ``Retry-After`` of an answer during which the lease ends, or not."""
    service = DecisionService(lambda: PostgresLog(url))
    await service.start()
    peers = Peers(service, b"secret")
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if ends:
            leases: Any = service.running.leases
            leases._until = 0.0
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    try:
        await service.admin.create(msgspec.convert(SPECIFICATION, Specification))
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": "/v1/policies/dose/x",
            "headers": [],
        }
        scope["state"] = {CALLER: ANYONE}
        await Forwarding(application, service, peers, 1000)(scope, receive, send)
    finally:
        await peers.close()
        await service.stop()
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], dict(sent[0]["headers"]).get(b"retry-after", b"")


@pytest.mark.parametrize(
    ("method", "status", "ends", "expected"),
    [
        ("GET", 200, True, 503),
        ("GET", 200, False, 200),
        ("POST", 422, True, 503),  # by a state that others may have changed
        ("POST", 422, False, 422),
        ("POST", 201, True, 201),  # it is in the log, and must not be asked for again
        ("PUT", 409, True, 503),
    ],
)
def test_no_answer_follows_from_a_state_that_is_not_owned(
    postgres: PostgresServer, method: str, status: int, ends: bool, expected: int
) -> None:
    url = PostgresUrl.parse(postgres.emptied())
    found, again = asyncio.run(answered(url, method, status, ends=ends))
    assert (found, again) == (expected, b"1" if expected == 503 else b"")


def test_a_policy_that_all_create_at_once_is_created_by_one(url: PostgresUrl) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        for name in ("a", "b", "c"):
            body = SPECIFICATION | {"name": name}
            asked = [
                browser.send("POST", f"http://{at}/v1/policies", json=body, headers=BOSS)
                for at in ("one", "two")
            ]
            answers = await asyncio.gather(*asked)
            assert sorted(each.status_code for each in answers) == [200, 201], name
            assert answers[0].json() == answers[1].json()

    live(url, life)


def test_strangers_learn_of_no_policy_and_cost_no_look_at_the_leases(url: PostgresUrl) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        looks: list[str] = []
        for member in made.values():
            leases: Any = member.service.running.leases
            leases.see = lambda see=leases.see: (looks.append("see"), see())
        del browser.between.ways["one"]
        for path in ("/v1/policies/dose", "/v1/policies/nix", "/v1/decisions/dose:1"):
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                refused = await browser.get(path, "two", headers=headers | {"Accept": "*/*"})
                assert refused.status_code == 401
                assert "a valid key is needed" in refused.json()["detail"]
        assert not looks
        path = "http://two/v1/policies/nix"
        asked = [browser.send("GET", path, headers=BOSS) for _ in range(20)]
        assert {each.status_code for each in await asyncio.gather(*asked)} == {404}
        assert 1 <= len(looks) <= 3

    live(url, life)
