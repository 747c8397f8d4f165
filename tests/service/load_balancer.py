"""Several services on one PostgreSQL: in this process, behind a browser, or each in its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import httpx
from dashboard_tools import POLICY, Page
from served import CONTEXT

from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.application import make_application
from greedyfirst.service.http.peers import Peers
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.http.sessions import sessions_of
from greedyfirst.service.log.access_keys import AccessKey, add_key, all_keys
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.clock import Clock
from support.service_process import free_port

#: The name by which people know the service, whichever of them answers.
NAME = "trial"
#: Where requests to the services come from.
CLIENT = "203.0.113.9"
BOSS = {"Authorization": "Bearer boss", "Accept": "application/json"}


class Member:
    """One of the services: its address is ``http://NAME``, which others know it by."""

    def __init__(self, url: PostgresUrl, name: str, wall: Callable[[], float]) -> None:
        address = f"http://{name}"
        self.service = DecisionService(
            lambda: PostgresLog(url, address=address), clock=Clock(wall, time.monotonic)
        )
        self.access = Access(lambda: all_keys(url), sessions=sessions_of(url))
        self.peers = Peers(self.service, b"secret")
        self.app = make_application(
            self.service,
            access=self.access,
            keys_in=url,
            peers=self.peers,
            hosts=frozenset({name, NAME}),
            proxies=Proxies(["10.0.0.0/8"]),
        )

    @property
    def owned(self) -> set[str]:
        """The policies that it owns."""
        return {*self.service.deployments}


class Balancer(httpx.AsyncBaseTransport):
    """Sends a request to the service that a test says."""

    def __init__(self, members: dict[str, Member], *, client: str = CLIENT) -> None:
        self.to = next(iter(members), "")
        self.ways = {
            name: httpx.ASGITransport(member.app, client=(client, 1))
            for name, member in members.items()
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Its answer; by name among themselves."""
        name = self.to if request.url.host == NAME else request.url.host
        if name not in self.ways:
            raise httpx.ConnectError("nobody is there")
        if "target" in request.extensions:
            request.url = request.url.copy_with(raw_path=request.extensions["target"])
        return await self.ways[name].handle_async_request(request)


class Browser:
    """A person's browser, which knows the services by one name."""

    def __init__(self, members: dict[str, Member]) -> None:
        self.way = Balancer(members)
        #: The way of requests that one service hands to another.
        self.between = Balancer(members, client="10.0.0.7")
        self._client = httpx.AsyncClient(
            transport=self.way, base_url=f"http://{NAME}", headers={"Accept": "text/html"}
        )
        self.cookies, self.send = self._client.cookies, self._client.request

    async def get(self, path: str, at: str, **options: Any) -> httpx.Response:
        """A page, by one of the services."""
        self.way.to = at
        return await self._client.get(path, **options)

    async def post(
        self, path: str, at: str, fields: dict[str, str], origin: str = f"http://{NAME}"
    ) -> httpx.Response:
        """Send a form, as the browser would from a page of that origin."""
        self.way.to = at
        return await self._client.post(path, data=fields, headers={"Origin": origin})

    async def sign_in(self, key: str, at: str, page_of: str | None = None) -> httpx.Response:
        """Sign in at one service, by the form of another."""
        form = Page(await self.get("/sign-in", page_of or at))
        return await self.post("/sign-in", at, {"token": form.field("token"), "key": key})

    async def close(self) -> None:
        """Close it."""
        await self._client.aclose()


class Service:
    """A process, and a client of it."""

    def __init__(self, url: str, *options: str) -> None:
        port = free_port()
        words = [sys.executable, "-m", "greedyfirst", "serve", "--db", url, "--port", str(port)]
        # A file takes all that it says; a pipe that nobody reads would keep it in the end.
        self._lines = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*words, *options], stdout=self._lines, stderr=subprocess.STDOUT, text=True
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
        self.said = ""

    def wait(self) -> None:
        """Until it is ready."""
        for _ in range(600):
            assert self.process.poll() is None
            with suppress(httpx.HTTPError):
                if self.client.get("/readyz").status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError("not ready")

    def end(self) -> int:
        """End it in good order; its exit status."""
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)
        if not self._lines.closed:
            self._lines.seek(0)
            self.said += self._lines.read()
            self._lines.close()
        return self.process.returncode

    def decide(self, key: str) -> httpx.Response:
        """A decision, once per key."""
        headers = {"Idempotency-Key": key}
        body = {"context": CONTEXT}
        return self.client.post("/v1/policies/dose/decisions", json=body, headers=headers)


Life = Callable[[dict[str, Member], Browser], Awaitable[None]]


@asynccontextmanager
async def members(
    url: PostgresUrl, *names: str, wall: dict[str, Callable[[], float]] | None = None
) -> AsyncIterator[tuple[dict[str, Member], Browser]]:
    """Services of these names, and a browser before them."""
    PostgresLog(url).close()
    made = {name: Member(url, name, (wall or {}).get(name, time.time)) for name in names}
    browser = Browser(made)
    async with AsyncExitStack() as until_then:
        for member in made.values():
            await member.peers.close()
            member.peers._client = httpx.AsyncClient(transport=browser.between)
            await until_then.enter_async_context(member.app.lifespan())
        until_then.push_async_callback(browser.close)
        yield made, browser


def live(url: PostgresUrl, life: Life, **options: Any) -> None:
    """With "one", which owns the policy "dose", "two" with "other", an admin and a reader."""

    async def run() -> None:
        async with members(url, "one", "two", **options) as (made, browser):
            add_key(url, AccessKey("boss", "admin", hashed("boss")))
            add_key(url, AccessKey("ward", "reader", hashed("ward")))
            for member in made.values():
                member.access.refresh()
            for name, policy in (("one", "dose"), ("two", "other")):
                await fill(browser, name, policy)
                assert made[name].owned == {policy}
            look(made)
            await life(made, browser)

    asyncio.run(run())


def look(made: dict[str, Member]) -> None:
    """Have each know who owns what, as it does every second."""
    for member in made.values():
        leases = member.service.running.leases
        assert leases is not None
        leases.look()


async def fill(browser: Browser, at: str, policy: str) -> None:
    """Create the policy there; its arms have open alarms then."""
    browser.way.to = at
    send = browser.send
    created = await send("POST", "/v1/policies", json=POLICY | {"name": policy}, headers=BOSS)
    assert created.status_code == 201, created.text
    for number in range(4):
        context = {"age": 50 + number, "sex": "fm"[number % 2]}
        path = f"/v1/policies/{policy}/decisions"
        made = await send("POST", path, json={"context": context}, headers=BOSS)
        reward = f"/v1/decisions/{made.json()['decision_id']}/reward"
        await send("PUT", reward, json={"value": number / 4}, headers=BOSS)
