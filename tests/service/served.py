"""A service in this process, and requests to it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from litestar.testing import TestClient

from greedyfirst.service.http.access import Access
from greedyfirst.service.http.application import make_application
from greedyfirst.service.http.peers import Peers
from greedyfirst.service.log.log import Log
from greedyfirst.service.log.places import open_log
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state import clock as clocks
from greedyfirst.service.state.snapshots import save

Start = Callable[..., AbstractContextManager[TestClient[Any]]]

SPECIFICATION: dict[str, Any] = {
    "name": "dose",
    "arms": ["low", "high"],
    "features": [
        {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
        {"kind": "categorical", "name": "sex", "levels": ["f", "m"]},
    ],
    "seed": 1,
}
CONTEXT = {"age": 50, "sex": "m"}
BY = {"who": "Ada", "why": "a test"}


class Clock:
    """Seconds since 1970, as a test says."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def service_clock(clock: Callable[[], float]) -> clocks.Clock:
    """The time that a test sets, as both of the machine's clocks: it passes and never jumps."""
    return clocks.Clock() if clock is time.time else clocks.Clock(clock, clock)


def log_at(place: Path | PostgresUrl, vfs: str | None = None) -> Log:
    """The log at a place; a file by this file layer of SQLite's."""
    return SqliteLog(place, vfs=vfs) if isinstance(place, Path) else open_log(place)


@contextmanager
def running(
    path: Path | PostgresUrl, clock: Callable[[], float], *, vfs: str | None = None, **options: Any
) -> Iterator[TestClient[Any]]:
    """A client of a service on this log, which is stopped in good order at the end."""
    service = DecisionService(lambda: log_at(path, vfs), clock=service_clock(clock))
    if not isinstance(path, Path):
        options.setdefault("peers", Peers(service, b"secret"))
    app = make_application(service, access=options.pop("access", Access(list)), **options)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@asynccontextmanager
async def at_once(
    path: Path, clock: Callable[[], float] = time.time, *, vfs: str | None = None, **options: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, DecisionService]]:
    """A client whose requests run beside each other, and its service."""
    service = DecisionService(lambda: SqliteLog(path, vfs=vfs), clock=service_clock(clock))
    app = make_application(service, access=options.pop("access", Access(list)), **options)
    transport = httpx.ASGITransport(app)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client, service


def create(client: TestClient[Any], **changes: Any) -> None:
    """Create the policy "dose"."""
    answer = client.post("/v1/policies", json=SPECIFICATION | changes)
    assert answer.status_code == 201, answer.text


def decide(client: TestClient[Any], context: dict[str, Any] = CONTEXT, **body: Any) -> Any:
    """Make a decision; the answer."""
    answer = client.post("/v1/policies/dose/decisions", json={"context": context, **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


def reward(client: TestClient[Any], decision_id: str, value: float, **body: Any) -> Any:
    """Give a reward; what became of it."""
    answer = client.put(f"/v1/decisions/{decision_id}/reward", json={"value": value, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["outcome"]


def view(client: TestClient[Any]) -> Any:
    """The policy as the service shows it."""
    return client.get("/v1/policies/dose").json()


def state_of(service: DecisionService, policy: str = "dose") -> bytes:
    """All of a policy's state, as a snapshot would hold it."""
    return save(service.deployments[policy])()
