"""Two services in processes of their own on one PostgreSQL: any answers, and one takes over."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import pytest
from dashboard_tools import Page
from load_balancer import Service
from served import SPECIFICATION

from greedyfirst.service.http.access import hashed
from greedyfirst.service.log.access_keys import AccessKey, add_key
from greedyfirst.service.log.postgres_database import PostgresUrl
from support.postgres_server import PASSWORD, PostgresServer


@pytest.fixture
def pair(postgres: PostgresServer) -> Iterator[tuple[Service, Service]]:
    postgres.emptied()
    url = postgres.tcp_url("postgres")
    services = Service(url), Service(url)
    try:
        for service in services:
            service.wait()
        yield services
    finally:
        for service in services:
            service.end()


def test_any_service_answers_and_one_takes_over_when_the_owner_dies(
    pair: tuple[Service, Service],
) -> None:
    one, two = pair
    assert one.client.post("/v1/policies", json=SPECIFICATION).status_code == 201
    assert two.client.post("/v1/policies", json=SPECIFICATION).status_code == 200
    made = [one.decide("a").json(), two.decide("b").json(), one.decide("c").json()]
    assert [each["step"] for each in made] == [1, 2, 3]
    assert one.decide("b").json() == two.decide("b").json() == made[1]
    answer = two.decide("c")
    assert answer.headers.get_list("x-frame-options") == ["DENY"]
    assert len(answer.headers.get_list("x-log-head")) == 1
    rewarded = two.client.put("/v1/decisions/dose:1/reward", json={"value": 1.0})
    assert rewarded.json()["outcome"] == "counted"
    views = [service.client.get("/v1/policies").json() for service in pair]
    assert views[0] == views[1]
    assert two.client.get("/v1/policies/nix").status_code == 404
    assert two.client.get("/").status_code == 200
    # One that got the request from another service hands it to nobody.
    hop = {"Greedyfirst-Handed-On": "1"}
    refused = two.client.get("/v1/policies/dose", headers=hop)
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    one.process.kill()
    statuses = set()
    while (answer := two.decide("after")).status_code != 201:
        statuses.add(answer.status_code)
        time.sleep(0.05)
    assert statuses <= {503}
    assert answer.json()["step"] == 4
    assert two.decide("b").json() == made[1]
    again = two.client.put("/v1/decisions/dose:1/reward", json={"value": 1.0})
    assert again.json()["outcome"] == "duplicate"
    assert two.client.get("/v1/decisions/dose:2/replay").json()["same"]
    assert two.end() == 0
    assert PASSWORD not in two.said
    assert PASSWORD.replace(" ", "%20") not in two.said


def exchange(service: Service, target: bytes, method: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Status and body of the answer to a request whose bytes no client has put in order."""
    address = service.client.base_url
    headers = b"Host: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection((address.host, address.port), 30) as connection:
        connection.sendall(method + b" " + target + b" HTTP/1.1\r\n" + headers + body)
        with connection.makefile("rb") as answer:
            head, _, content = answer.read().partition(b"\r\n\r\n")
    return head.split(b" ")[1], content


def test_every_service_gives_the_same_answer_to_odd_requests(pair: tuple[Service, Service]) -> None:
    one, two = pair
    assert one.client.post("/v1/policies", json=SPECIFICATION).status_code == 201
    assert one.decide("a").status_code == 201
    for target, status in (
        (b"/v1/policies/dose?x=\xc3\xa9", b"200"),
        (b"/v1/policies/d\xc3\xa9", b"404"),
        (b"/v1/policies/dose/\xc3\xa9", b"404"),
        (b"/v1/policies/dose/x%0Ay", b"404"),
        (b"//v1/policies/dose", b"200"),
        (b"/v1//policies/dose/", b"200"),
        (b"/v1/policies/dose/../dose", b"404"),
        (b"/v1/policies/dose/%2e%2e/dose", b"404"),
        (b"/v1/policies/dose/../../policies", b"404"),
        (b"/v1/decisions/:1", b"404"),
        (b"/decisions", b"404"),
        (b"/decisions?number=:3", b"404"),
        (b"http://evil.example/v1/policies/dose", b"200"),
    ):
        answers = [exchange(each, target, b"GET", b"") for each in pair]
        assert answers[0] == answers[1], target
        assert answers[0][0] == status, target
    body = json.dumps(SPECIFICATION).encode()
    for target in (b"/v1/policies/", b"/v1//policies"):
        assert exchange(two, target, b"POST", body)[0] == b"200"


def test_a_session_goes_on_at_the_other_service_when_one_dies(
    pair: tuple[Service, Service], postgres: PostgresServer
) -> None:
    one, two = pair
    assert one.client.post("/v1/policies", json=SPECIFICATION).status_code == 201
    place = PostgresUrl.parse(postgres.url("postgres"))
    add_key(place, AccessKey("boss", "admin", hashed("boss")))
    for service in pair:
        while service.client.get("/").status_code != 303:
            time.sleep(0.05)
    form = Page(two.client.get("/sign-in"))
    fields = {"token": form.field("token"), "key": "boss", "next": "/policies/dose"}
    assert one.client.post("/sign-in", data=fields).status_code == 303
    two.client.cookies = one.client.cookies  # browsers' cookies are for a host, not a port
    for service in pair:
        shown = service.client.get("/policies/dose")
        assert shown.status_code == 200
        assert "boss (admin)" in Page(shown).words
    one.process.kill()
    while (shown := two.client.get("/policies/dose")).status_code != 200:
        assert shown.status_code == 503
        time.sleep(0.1)
    assert two.client.post("/sign-out", data={"token": Page(shown).field("token")}).is_redirect
    assert two.client.get("/policies/dose").status_code == 303


def test_a_service_is_known_by_the_name_in_its_address(postgres: PostgresServer) -> None:
    postgres.emptied()
    url = postgres.tcp_url("postgres")
    service = Service(url, "--address", "http://ward-7:8000")
    service.process.wait(60)
    assert service.end() == 2
    assert "ward-7 can be reached from elsewhere, which needs keys" in service.said
    add_key(PostgresUrl.parse(url), AccessKey("boss", "admin", hashed("boss")))
    service = Service(url, "--address", "http://ward-7:8000")
    try:
        service.wait()
        for name, status in (("ward-7", 200), ("ward-8", 421)):
            answer = service.client.get("/healthz", headers={"Host": f"{name}:8000"})
            assert answer.status_code == status
    finally:
        service.end()
