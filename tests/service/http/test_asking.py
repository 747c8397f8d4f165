"""Requests that a service hands on: as they came, to an owner that may not be there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from load_balancer import BOSS, Browser, Member, live

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.asking import Asked, Asking, GoneError
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.log.postgres_database import PostgresUrl

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def spoken_to(talk: Talk, target: bytes = b"/x", *, owner_for: float = 60.0) -> list[bytes]:
    """The parts of an answer that a server of these bytes gives, which is the owner for a while."""
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    owner, began = Owner("a", f"http://127.0.0.1:{port}"), time.monotonic()
    asking = Asking(lambda _: owner if time.monotonic() - began < owner_for else None)
    parts: list[bytes] = []
    try:
        async with httpx.AsyncClient(timeout=None) as client:
            asked = Asked("dose", owner, "PUT", target, [])
            answer = await asking.answer(client, asked)
            try:
                parts += [part async for part in asking.parts(asked, answer)]
            finally:
                await answer.aclose()
    finally:
        server.close()
    return parts


async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Half of an answer, and the connection's end."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
    writer.close()


async def stuck(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Half of an answer, and nothing more."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
    await reader.read()
    writer.close()


@pytest.mark.parametrize(("talk", "owner_for"), [(half, 60.0), (stuck, 0.7)])
def test_an_answer_is_cut_off_when_its_owner_is_gone(
    talk: Talk, owner_for: float, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(GoneError):
        asyncio.run(asyncio.wait_for(spoken_to(talk, owner_for=owner_for), 10))
    (line,) = caplog.records
    assert "in the middle of an answer, which was cut off" in line.getMessage()
    assert line.exc_info is None


@pytest.mark.parametrize(
    "target", [b"/v1/policies/a/../b", b"//v1/%2e%2e/b/", b'/x?a=%zz&b="|\\^`{}']
)
def test_a_target_travels_as_it_is(target: bytes) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + asked)
        writer.close()

    assert b"".join(asyncio.run(spoken_to(echo, target))) == target


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1",
        "http://host.invalid:1",
        "http://127.0.0.1:abc",
        "http://127.0.0.1:99999",
        "http://a b:1",
        "http://a..b:1",
        "http://[::1",
        "nix",
        "",
    ],
)
def test_an_owner_that_cannot_be_reached_is_told_of_once(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        asking = Asking(lambda _: owner)
        async with httpx.AsyncClient() as client:
            for _ in range(2):
                with pytest.raises(UnavailableError, match="nothing was sent") as caught:
                    await asking.answer(client, Asked("dose", owner, "PUT", b"/x", []))
                assert "the owner of policy dose cannot be reached" in str(caught.value)

    owner = Owner("a", address)
    asyncio.run(run())
    assert len(caplog.records) == 1


def test_people_are_warned_of_a_service_that_does_not_answer(
    url: PostgresUrl, caplog: pytest.LogCaptureFixture
) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        async def warnings() -> Any:
            return (await browser.get("/readyz", "two")).json()["warnings"]

        way = browser.between.ways.pop("one")
        assert await warnings() == []
        caplog.set_level(logging.WARNING)
        for _ in range(3):
            refused = await browser.get("/v1/policies", "two", headers=BOSS)
            assert refused.status_code == 503
            assert "policy dose cannot be reached at http://one" in refused.json()["detail"]
        lines = [each for each in caplog.records if "does not answer" in each.getMessage()]
        assert [each.fields["address"] for each in lines] == ["http://one"]  # type: ignore[attr-defined]
        (warning,) = await warnings()
        assert "did not answer" in warning
        assert "dose" not in warning
        browser.between.ways["one"] = way
        assert (await browser.get("/v1/policies", "two", headers=BOSS)).status_code == 200
        assert await warnings() == []

    live(url, life)


def test_a_service_does_not_ask_itself_for_another_one(
    url: PostgresUrl, caplog: pytest.LogCaptureFixture
) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        running: Any = made["two"].service.running
        running.leases.me = running.leases.me._replace(address="http://one")
        for _ in range(2):
            refused = await browser.get("/v1/policies/dose", "two", headers=BOSS)
            assert refused.status_code == 503
            assert "has the address of this service, http://one" in refused.json()["detail"]
        assert len([each for each in caplog.records if "--address" in each.getMessage()]) == 1
        running.leases.me = running.leases.me._replace(address="http://two")

    live(url, life)
