"""What a request says twice, or to the wrong method, is refused with a sentence."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import CONTEXT, SPECIFICATION, Start, at_once, create, decide, view

from greedyfirst.service.http.examples import EXAMPLES
from support.service_process import service_process

URL = "/v1/policies/dose/decisions"


@pytest.fixture
def client(start: Start) -> Any:
    with start() as client:
        create(client)
        yield client


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"context": {"age": 50, "age": 90, "sex": "m"}}', "age"),
        ('{"context": {"age": 50, "sex": "m"}, "context": {"age": 90, "sex": "m"}}', "context"),
        ('{"context": {"age": 50, "sex": "m", "s\\u0065x": "f"}}', "sex"),
        ('{"context": {"age": NaN, "age": 50, "sex": "m"}}', "age"),
        ('{"context": {"age": 50, "sex": "a:b"}, "eligible_arms": null, "context": {}}', "context"),
    ],
)
def test_a_name_that_is_there_twice_is_refused(
    client: TestClient[Any], body: str, name: str
) -> None:
    answer = client.post(URL, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert f"the name '{name}' twice" in answer.json()["detail"]
    assert view(client)["decisions"] == 0


def test_colons_in_texts_are_no_names(start: Start) -> None:
    levels = ["a:b", 'c":"d', "e"]
    features = [{"kind": "categorical", "name": "town:x", "levels": levels}]
    with start() as client:
        create(client, features=features)
        for level in levels:
            decide(client, {"town:x": level})
        assert view(client)["decisions"] == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([("Authorization", "Bearer a"), ("Authorization", "Bearer b")], "Authorization must be"),
        ([("Idempotency-Key", "a"), ("Idempotency-Key", "b")], "Idempotency-Key must be"),
        ([("Host", "127.0.0.1"), ("Host", "127.0.0.1")], "Host must be"),
        ([("Origin", "http://127.0.0.1"), ("Origin", "http://x")], "Origin must be"),
        ([("Content-Length", "2"), ("Transfer-Encoding", "chunked")], "not both"),
    ],
)
def test_what_counts_once_may_be_there_once(
    path: Path, given: list[tuple[str, str]], sentence: str
) -> None:
    async def run() -> None:
        async with at_once(path) as (client, service):
            (await client.post("/v1/policies", json=SPECIFICATION)).raise_for_status()
            answer = await client.post(URL, json={"context": CONTEXT}, headers=given)
            assert answer.status_code == 400
            assert sentence in answer.json()["detail"]
            assert answer.headers["connection"] == "close"
            assert service.deployments["dose"].agent.decisions == 0

    asyncio.run(run())


def test_no_request_is_hidden_behind_another_one(path: Path) -> None:
    """A proxy that goes by the length, and a service that goes by chunks, would see others."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    body = b"2\r\n{}\r\n0\r\n\r\n" + hidden
    head = (
        b"POST /v1/policies HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(body)
    )
    with service_process("--db", path) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(head + body)
            answer = b""
            while piece := connection.recv(65536):  # until the service ends the connection
                answer += piece
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"alive" not in answer


def test_the_wrong_method_is_told_what_to_send(client: TestClient[Any]) -> None:
    decision = decide(client)["decision_id"]
    answer = client.post(f"/v1/decisions/{decision}/reward", json={"value": 1.0})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "PUT"
    assert answer.json()["detail"] == (
        'POST is not taken here; send PUT to this address, with a body such as {"value": 0.83}'
    )
    put = client.put(f"/v1/decisions/{decision}/reward", json=EXAMPLES["reward"][1])
    assert put.status_code == 200
    answer = client.delete("/v1/policies/dose")
    assert answer.json()["detail"] == "DELETE is not taken here; send GET to this address"
    create_by_put = client.put("/v1/policies", json=SPECIFICATION)
    assert create_by_put.headers["allow"] == "GET, POST"
