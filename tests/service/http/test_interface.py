"""Requests that the OpenAPI document allows, and others: none makes the service fail."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from litestar.testing import TestClient
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from served import SPECIFICATION, Clock, at_once, create, decide, running
from test_access import REQUESTS

from greedyfirst.service.log.postgres_database import PostgresUrl

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
KNOWN = {"policy": "dose", "decision_id": "dose:1"}
#: What must be asked for by a name of the policy's own.
QUERIES = {"/subgroups": {"by": "sex"}, "/effects": {"against": "low"}}


def send_all(client: TestClient[Any], examples: int) -> dict[str, set[int]]:
    """Send examples to each operation, good and bad ones; the statuses that came back."""
    document = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    statuses: dict[str, set[int]] = {}
    bounded = settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
    )
    for found in document.get_all_operations():
        operation = found.ok()
        seen = statuses.setdefault(operation.label, set())
        known = KNOWN | ({"decision_id": "dose:2"} if operation.path.endswith("/erasure") else {})
        names = {name: known[name] for name in known if f"{{{name}}}" in operation.path}
        for mode in GenerationMode:
            for parameters in (names, None):
                ending = "/" + operation.path.rpartition("/")[2]
                query = {"query": QUERIES[ending]} if parameters and ending in QUERIES else {}
                strategy = operation.as_strategy(mode, path_parameters=parameters, **query)
                given_all = given(client=st.just(client), seen=st.just(seen), case=strategy)
                with suppress(Unsatisfiable):  # nothing there to get wrong
                    bounded(given_all(send))()
    return statuses


def send(client: TestClient[Any], seen: set[int], case: Any) -> None:
    """Send a request and check the answer against the document."""
    request = case.as_transport_kwargs(base_url="http://127.0.0.1")
    request.pop("cookies", None)
    if "data" in request:
        request["content"] = request.pop("data")
    answer = client.request(**request)
    seen.add(answer.status_code)
    case.validate_response(answer, checks=CHECKS)


@pytest.mark.parametrize(
    "examples", [pytest.param(2), pytest.param(300, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("store", ["file", "postgres"])
def test_no_request_makes_the_service_fail(
    path: Path, store: str, examples: int, request: pytest.FixtureRequest
) -> None:
    place: Path | PostgresUrl = path
    if store == "postgres":
        place = PostgresUrl.parse(request.getfixturevalue("postgres").emptied())
    with running(place, Clock()) as client:
        create(client, reward_wait=10, rewards="sum")
        for _ in range(2):
            decide(client)
        statuses = send_all(client, examples)
        assert len(statuses) == len(REQUESTS) - 1  # metrics are not of the interface
        assert all(seen & {200, 201} for name, seen in statuses.items() if name[:3] == "GET")
        assert client.get("/readyz").status_code == 200
        policies = client.get("/v1/policies").json()
    with running(place, Clock()) as client:  # and all that it took can be read again
        assert client.get("/v1/policies").json() == policies


def test_refusals_are_described(client: TestClient[Any]) -> None:
    document = client.get("/openapi.json").json()
    problem = document["components"]["schemas"]["Problem"]
    assert set(problem["required"]) == {"status", "detail"}
    for path in document["paths"].values():
        for operation in path.values():
            assert {"4XX", "503"} <= set(operation["responses"])
            assert "400" not in operation["responses"]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/nix", 404),
        ("/v1/policies/nix", 404),
        ("/v1/policies/dose/audit?limit=x", 422),
        ("/v1/policies/dose/audit?limit=0", 422),
        ("/v1/policies/dose/audit?before=99999999999999999999999999", 422),
        ("/v1/policies/%ff%00%2f", 404),
        ("/schema", 404),
        ("/schema/", 404),
        ("/schema/openapi.json", 404),
        ("/schema/nix", 404),
        ("/v1/decisions/%F0%9F%99%82", 404),
    ],
)
def test_refusals_are_problems(client: TestClient[Any], url: str, status: int) -> None:
    answer = client.get(url)
    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert answer.json()["detail"]


def test_every_operation_says_that_it_needs_a_key_and_whose(client: TestClient[Any]) -> None:
    document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    told = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    for (method, path), operation in told.items():
        assert operation["security"] == [{"key": []}], path
        role = re.search(r" Role: (operator|reader|decider|admin)\.$", operation["description"])
        assert role, (method, path)
    needed = {
        (method, url.partition("?")[0].replace("dose:1", "{decision_id}")): role
        for role, method, url, _ in REQUESTS
        if url != "/metrics"
    }
    for place, role in needed.items():
        method, path = place
        described = told[method, path.replace("/dose", "/{policy}")]["description"]
        assert described.endswith(f"Role: {role}.")


@pytest.mark.parametrize("url", ["/healthz", "/readyz"])
def test_balancers_may_ask_for_the_head_only(client: TestClient[Any], url: str) -> None:
    answer = client.head(url)
    assert answer.status_code == 200
    assert client.get(url).json()["status"] in ("alive", "ready")


def test_policies_are_listed_while_one_is_changed(path: Path) -> None:
    async def run() -> None:
        async with at_once(path) as (client, service):
            await client.post("/v1/policies", json=SPECIFICATION)
            before = (await client.get("/v1/policies")).json()
            service.busy.add("dose")
            assert (await client.get("/v1/policies/dose")).status_code == 503
            assert (await client.get("/v1/policies")).json() == before
            assert (await client.get("/")).status_code == 200

    asyncio.run(run())


def test_a_method_that_is_not_there(client: TestClient[Any]) -> None:
    answer = client.delete("/v1/policies/dose")
    assert answer.status_code == 405
    assert answer.json()["status"] == 405
