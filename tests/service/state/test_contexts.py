"""Contexts by schema: what does not fit is refused with the name of what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, Start, create, decide, reward, view

from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state.restoring import restore
from greedyfirst.service.state.specification import Feature, Features
from greedyfirst.tables import Categorical, Numeric, Schema

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


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400"])
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


ZIP = {
    "kind": "categorical",
    "name": "zip",
    "levels": ["9007199254740993", "18446744073709551616", "1.8446744073709552e+19", "1", "x"],
}


@pytest.mark.parametrize("other", [None, "x"])
@pytest.mark.parametrize("value", [2**53 + 1, 1, 1.0, True, 2**63, 2**64, -(2**80), "1", "ü"])
def test_what_is_learned_is_what_was_decided_on(
    start: Start, path: Path, value: Any, other: str | None
) -> None:
    """Categories by their text, also where JSON or a float would say another."""
    with start() as client:
        create(client, features=[ZIP | {"other": other}], intercept=False)
        made = client.post(URL, json={"context": {"zip": value}})
        if other is None and made.status_code == 422:
            return
        assert made.status_code == 201, made.text
        arm = made.json()["arm"]
        reward(client, "dose:1", 5.0)
        again = decide(client, {"zip": value}, eligible_arms=[arm])
        rows = [{"context": {"zip": value}, "arm": arm, "reward": 5.0}]
        assert client.post("/v1/policies/dose/history", json={"rows": rows, **BY}).is_success
        replayed = client.get("/v1/decisions/dose:2/replay").json()
        assert replayed["same"]
        report = client.get("/v1/policies/dose/diversity").json()
    log = SqliteLog(path)
    agent = restore(log, "dose", snapshots=False)[0].agent
    log.close()
    learned = agent.state.greedy.model.gram[agent.arm_names.index(arm)]
    assert np.count_nonzero(learned) == 1  # one level, twice
    assert learned.max() == 2.0
    assert again["decision_id"] == "dose:2"
    assert report["rewards"] == 2


@pytest.mark.parametrize("value", [b"Infinity", b"-Infinity", b"NaN"])
def test_a_category_that_json_cannot_keep_is_refused(start: Start, value: bytes) -> None:
    with start() as client:
        create(client, features=[ZIP | {"other": "x"}])
        decided = client.post(URL, content=b'{"context":{"zip":%s}}' % value)
        row = b'{"context":{"zip":%s},"arm":"low","reward":1}' % value
        imported = client.post(
            "/v1/policies/dose/history", content=b'{"rows":[%s],"who":"A","why":"b"}' % row
        )
        features = msgspec.json.encode([ZIP | {"other": "x"}, ZIP | {"name": "q", "other": "x"}])
        changed = client.put(
            "/v1/policies/dose/schema",
            content=b'{"features":%s,"fill":{"q":%s},"who":"A","why":"b"}' % (features, value),
        )
        for refused, named in ((decided, "'zip'"), (imported, "'zip'"), (changed, "'q'")):
            assert refused.status_code == 422, refused.text
            assert named in refused.json()["detail"]
        assert view(client)["decisions"] == 0
    with start() as client:
        assert view(client)["schema_version"] == 1


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
    arms = ["\\", "a" * 100, "ß:ü/🙂"]
    levels = ["<b>", "'", '"', "\\"]
    features = [{"kind": "categorical", "name": '"' * 100, "levels": levels}]
    with start() as client:
        create(client, arms=arms, features=features)
        for level in levels:
            decide(client, {features[0]["name"]: level}, eligible_arms=[arms[2]])
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


def test_features_are_those_of_a_schema():
    """What a schema describes as plain data is what a policy of the service takes."""
    schema = Schema(
        features=[
            Numeric("age", mean=50.0, scale=10.0),
            Categorical("ward", ["A", "B", "rest"], reference="B", other="rest"),
        ],
        intercept=True,
    )
    features = msgspec.convert(schema.to_dict()["features"], tuple[Feature, ...])
    assert Features(features=features, intercept=True).schema() == schema
