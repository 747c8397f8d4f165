"""Contexts by schema: what does not fit is refused with the name of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from litestar.testing import TestClient
from served import CONTEXT, SPECIFICATION, Start, create, decide, view

URL = "/v1/policies/dose/decisions"


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ({"sex": "m"}, "'age'"),
        ({"age": 50}, "'sex'"),
        ({}, "'age'"),
        ({"age": 50, "sex": "m", "weight": 1}, "'weight'"),
        ({"age": None, "sex": "m"}, "'age'"),
        ({"age": "50", "sex": "m"}, "'age'"),
        ({"age": True, "sex": "m"}, "'age'"),
        ({"age": [50], "sex": "m"}, "'age'"),
        ({"age": {"x": 1}, "sex": "m"}, "'age'"),
        ({"age": 10**400, "sex": "m"}, "'age'"),
        ({"age": 1e300, "sex": "m"}, "'age'"),
        ({"age": 60 + 1e14, "sex": "m"}, "'age'"),
        ({"age": 50, "sex": None}, "'sex'"),
        ({"age": 50, "sex": "x"}, "'sex'"),
        ({"age": 50, "sex": ["m"]}, "'sex'"),
    ],
)
def test_what_does_not_fit_is_422_and_named(
    client: TestClient[Any], context: dict[str, Any], named: str
) -> None:
    refused = client.post(URL, json={"context": context})
    assert refused.status_code == 422
    assert named in refused.json()["detail"]
    assert view(client)["decisions"] == 0


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_are_not_finite_are_named(client: TestClient[Any], value: bytes) -> None:
    refused = client.post(URL, content=b'{"context":{"age":%s,"sex":"m"}}' % value)
    assert refused.status_code == 422
    assert "'age'" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"context":{"age":50,"sex":"\\ud800"}}', 400),  # half of a character
        (b'{"context":{"age":50,"sex":"\xff"}}', 400),
        (b"[" * 100_000, 422),
        (b'{"context":{"age":50,"sex":' + b"[" * 5000 + b"]" * 5000 + b"}}", 400),
        (b"[]", 422),
        (b'{"context":[]}', 422),
        (b'{"kontext":{}}', 422),
        (b'{"context":{"age":50,"sex":"m"},"eligible_arms":[]}', 422),
        (b'{"context":{"age":50,"sex":"m"},"eligible_arms":["low","nix"]}', 422),
        (b'{"context":{"age":50,"sex":"m"},"eligible_arms":[1]}', 422),
    ],
)
def test_bodies_that_make_no_sense(client: TestClient[Any], body: bytes, status: int) -> None:
    refused = client.post(URL, content=body)
    assert refused.status_code == status
    assert set(refused.json()) == {"status", "detail"}
    assert view(client)["decisions"] == 0


def test_an_unseen_category_is_the_declared_other_level(start: Start) -> None:
    features = [{"kind": "categorical", "name": "sex", "levels": ["f", "m", "?"], "other": "?"}]
    with start() as client:
        create(client, features=features)
        unseen, other = decide(client, {"sex": "x"}), decide(client, {"sex": "?"})
        assert unseen["contributions"] == other["contributions"]
        assert client.get("/v1/decisions/dose:1").json()["context"] == {"sex": "x"}


@pytest.mark.parametrize("age", [-0.0, 2**53 + 1, 10**12 + 0.5, 1e-90, 60])
def test_odd_numbers_are_kept_and_survive_a_restart(start: Start, age: float) -> None:
    body, key = {"context": CONTEXT | {"age": age}}, {"Idempotency-Key": "k"}
    features = [{"kind": "numeric", "name": "age", "scale": 1e4}, SPECIFICATION["features"][1]]
    with start() as client:
        create(client, features=features)
        answer = client.post(URL, json=body, headers=key)
        assert answer.status_code == 201
        assert client.post(URL, json=body, headers=key).json() == answer.json()
    with start() as client:
        assert client.post(URL, json=body, headers=key).json() == answer.json()
        assert client.get("/v1/decisions/dose:1/replay").json()["same"]


def test_an_expected_reward_that_is_not_finite_is_refused(start: Start) -> None:
    policy = {"policy": "GLMGreedy", "options": {"link": "poisson"}}
    features = [{"kind": "numeric", "name": "x"}]
    with start() as client:
        create(client, features=features, policy=policy, arms=["a"])
        rows = [
            {"context": {"x": float(x)}, "arm": "a", "reward": float(count)}
            for x, count in [(0, 1), (1, 3), (2, 7), (3, 20), (0, 2), (1, 2), (2, 8), (3, 19)]
        ]
        by = {"who": "Ada", "why": "history"}
        answer = client.post("/v1/policies/dose/history", json={"rows": rows, **by})
        assert answer.status_code == 201, answer.text
        refused = client.post(URL, json={"context": {"x": 1e6}})
        assert refused.status_code == 422
        assert "not finite" in refused.json()["detail"]
        assert decide(client, {"x": 1.0})["step"] == 1
    with start() as client:
        assert view(client)["decisions"] == 1


def test_long_and_strange_names(start: Start) -> None:
    arms = ["\0", "a" * 100, "ß:ü/🙂\n"]
    levels = ["<b>", "'", '"', "\\"]
    features = [{"kind": "categorical", "name": "\t" * 100, "levels": levels}]
    with start() as client:
        create(client, arms=arms, features=features)
        for level in levels:
            decide(client, {"\t" * 100: level}, eligible_arms=[arms[2]])
        shown = view(client)
    with start() as client:
        assert view(client) == shown
        assert client.get("/v1/policies/dose/export").status_code == 200
        assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a:1", "dose\n", ".a", "a" * 65, "ä"])
def test_names_of_policies(start: Start, name: str) -> None:
    with start() as client:
        refused = client.post("/v1/policies", json=SPECIFICATION | {"name": name})
        assert refused.status_code == 422


@pytest.mark.parametrize(
    "changes",
    [
        {"reward_wiat": 10},
        {"arms": ["a", "a"]},
        {"arms": []},
        {"features": []},
        {"features": [{"kind": "numeric", "name": "x", "std": 1}]},
        {"features": [{"kind": "numeric", "name": "x"}] * 2},
        {"features": [{"kind": "categorical", "name": "x", "levels": ["a"], "other": "b"}]},
        {"default_reward": 1.0},
        {"rewards": "sum"},
        {"policy": {"policy": "Nix"}},
        {"policy": {"policy": "Oracle"}},
        {"policy": {"policy": "GreedyFirst", "options": {"t0": 10**30}}},
        {"policy": {"policy": "GreedyFirst", "options": {"t0": 2**63}}},
        {"policy": {"policy": "GreedyFirst", "options": {"on_alarm": "drop"}}},
        {"policy": {"policy": "GreedyFirst", "options": {"fallback": {}}}},
        {"policy": {"policy": "GreedyFirst", "options": {"nix": 1}}},
        {"policy": {"policy": "GLMGreedy", "options": {"link": "logistic"}}, "default_reward": 2},
        {"arms": [f"a{i}" for i in range(1000)], "features": "wide"},
        {"seed": -1},
        {"seed": 2**63},
    ],
)
def test_specifications_that_could_not_run_are_422(start: Start, changes: dict[str, Any]) -> None:
    if changes.get("features") == "wide":
        changes["features"] = [{"kind": "numeric", "name": f"x{i}"} for i in range(999)]
    if changes.get("default_reward") == 2:
        changes["reward_wait"] = 1
    with start() as client:
        refused = client.post("/v1/policies", json=SPECIFICATION | changes)
        assert refused.status_code == 422, refused.text
        assert client.get("/v1/policies").json() == []
