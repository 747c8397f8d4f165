"""What people do: answers to alarms, arms, history, other features; all of it or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, Clock, Start, create, decide, reward, view

AGE, SEX = SPECIFICATION["features"]


def post(client: TestClient[Any], what: str, body: Any, **headers: str) -> Any:
    return client.post(f"/v1/policies/dose/{what}", json={**body, **BY}, headers=headers)


def change(client: TestClient[Any], features: list[Any], **body: Any) -> Any:
    return client.put("/v1/policies/dose/schema", json={"features": features, **BY, **body})


def test_the_last_arm_stays(client: TestClient[Any]) -> None:
    assert post(client, "retirements", {"arm": "low"}).status_code == 201
    for what, body in (
        ("retirements", {"arm": "high"}),
        ("resolutions", {"arm": "high", "resolution": "drop"}),
        ("retirements", {"arm": "low"}),
    ):
        assert post(client, what, body).status_code == 409
    assert post(client, "retirements", {"arm": "nix"}).status_code == 404
    assert {decide(client)["arm"] for _ in range(5)} == {"high"}
    refused = client.post(
        "/v1/policies/dose/decisions", json={"context": CONTEXT, "eligible_arms": ["low"]}
    )
    assert refused.status_code == 422


def test_an_answer_is_given_once_per_key(client: TestClient[Any]) -> None:
    body = {"arm": "middle"}
    for _ in range(3):
        assert post(client, "arms", body, **{"Idempotency-Key": "k"}).status_code == 201
    other = post(client, "arms", {"arm": "other"}, **{"Idempotency-Key": "k"})
    assert other.status_code == 422
    assert post(client, "arms", body).status_code == 409
    assert [arm["name"] for arm in view(client)["arms"]] == ["low", "high", "middle"]


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_keys_that_are_refused(client: TestClient[Any], key: str) -> None:
    assert post(client, "arms", {"arm": "x"}, **{"Idempotency-Key": key}).status_code == 422


@pytest.mark.parametrize(
    "row",
    [
        {"context": {"age": 50}, "arm": "low", "reward": 1},
        {"context": CONTEXT, "arm": "nix", "reward": 1},
        {"context": CONTEXT, "arm": "low", "reward": 1e13},
        {"context": CONTEXT | {"age": "x"}, "arm": "low", "reward": 1},
    ],
)
def test_history_is_learned_whole_or_not_at_all(client: TestClient[Any], row: Any) -> None:
    good = {"context": CONTEXT, "arm": "low", "reward": 1}
    refused = post(client, "history", {"rows": [good, good, row]})
    assert refused.status_code == 422
    assert "rows[2]" in refused.json()["detail"]
    assert view(client)["imported"] == 0
    assert post(client, "history", {"rows": [good, good]}).status_code == 201
    assert view(client)["imported"] == 2


def test_history_with_numbers_that_json_keeps_otherwise(start: Start) -> None:
    features = [{"kind": "numeric", "name": "age", "scale": 1e5}]
    rows = {"rows": [{"context": {"age": 2**53 + 1}, "arm": "low", "reward": 1}]}
    with start() as client:
        create(client, features=features)
        for _ in range(2):
            assert post(client, "history", rows, **{"Idempotency-Key": "k"}).status_code == 201
    with start() as client:
        assert post(client, "history", rows, **{"Idempotency-Key": "k"}).status_code == 201
        assert view(client)["imported"] == 1


@pytest.mark.parametrize("fill", [[1], None, {"a": 1}, "x", True, 10**400, "\x00"])
def test_a_fill_that_does_not_fit_is_refused(start: Start, fill: Any) -> None:
    with start() as client:
        create(client)
        weight = {"kind": "numeric", "name": "weight"}
        refused = change(client, [AGE, SEX, weight], fill={"weight": fill})
        assert refused.status_code == 422
        assert "'weight'" in refused.json()["detail"]
        assert change(client, [AGE, SEX], fill={"nix": 1}).status_code == 422
        assert change(client, [AGE, SEX, weight]).status_code == 422
    with start() as client:
        assert view(client)["schema_version"] == 1


def test_other_features_while_rewards_are_waited_for(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, reward_wait=10, default_reward=0.0)
        waiting = decide(client, {"age": 50, "sex": "m"})["decision_id"]
        fewer = SEX | {"levels": ["f", "d"]}
        refused = change(client, [AGE, fewer])
        assert refused.status_code == 422  # the decision that waits could not be learned
        assert "'m'" in refused.json()["detail"]
        weight = {"kind": "numeric", "name": "weight"}
        assert change(client, [weight, AGE], fill={"weight": 2}).status_code == 200
        assert reward(client, waiting, 1.0) == "counted"
        second = decide(client, {"age": 40, "weight": 3})["decision_id"]
        clock.now += 11
        assert reward(client, second, 1.0) == "late"
        shown = view(client)
        assert (shown["joined"], shown["defaulted"], shown["schema_version"]) == (2, 1, 2)
        replayed = client.get(f"/v1/decisions/{waiting}/replay").json()
        assert replayed["same"]
        assert replayed["logged"]["schema_version"] == 1
    with start() as client:
        assert view(client) == shown
        assert change(client, [AGE, SEX], fill={"sex": "m"}).status_code == 200
        assert client.get("/v1/policies/dose/export").status_code == 200


def test_a_number_that_becomes_a_category_can_be_exported(start: Start) -> None:
    with start() as client:
        create(client, features=[AGE])
        decide(client, {"age": 1.5})
        answer = change(client, [{"kind": "categorical", "name": "age", "levels": ["1.5", "old"]}])
        assert answer.status_code == 200, answer.text
        decide(client, {"age": "old"})
        assert client.get("/v1/policies/dose/export").status_code == 200


def test_resolutions_need_a_policy_that_asks(start: Start) -> None:
    with start() as client:
        create(client, policy={"policy": "Greedy"})
        for resolution in ("hold", "explore", "drop"):
            body = {"arm": "low", "resolution": resolution}
            assert post(client, "resolutions", body).status_code == 409


def test_an_alarm_is_raised_answered_and_on_record(start: Start) -> None:
    policy = {"policy": "GreedyFirst", "options": {"t0": 4, "lambda0": 1.0, "span": "full"}}
    with start() as client:
        create(client, policy=policy)
        for _ in range(6):
            reward(client, decide(client)["decision_id"], 1.0)
        alarms = view(client)["open_alarms"]
        assert {alarm["answered"] for alarm in alarms} == {"hold"}
        arm = alarms[0]["arm"]
    with start() as client:
        assert view(client)["open_alarms"] == alarms
        assert post(client, "resolutions", {"arm": arm, "resolution": "hold"}).status_code == 201
        assert arm not in [alarm["arm"] for alarm in view(client)["open_alarms"]]
        body = {"arm": arm, "resolution": "explore", "change": True}
        assert post(client, "resolutions", body).status_code == 201
        assert post(client, "resolutions", body).status_code == 409
        assert decide(client)["mode"] in ("fallback", "forced")
        kinds = [entry["event"]["event"] for entry in client.get("/v1/policies/dose/audit").json()]
        assert kinds[:2] == ["resolved", "resolved"]
        assert set(kinds[2:-1]) == {"alarmed"}
        assert kinds[-1] == "created"


@pytest.mark.parametrize("option", [{"t0": 20}, {"fallback": {"policy": "Greedy", "options": {}}}])
def test_one_arm_cannot_be_explored_where_a_fallback_explores_all(
    start: Start, option: Any
) -> None:
    policy = {"policy": "GreedyFirst", "options": option}
    with start() as client:
        create(client, policy=policy)
        answer = post(client, "resolutions", {"arm": "low", "resolution": "explore_arm"})
        assert answer.status_code == 409
        assert "its answers are explore, drop, hold" in answer.text
        body = SPECIFICATION | {"name": "other", "on_alarm": "explore_arm", "policy": policy}
        answer = client.post("/v1/policies", json=body)
        assert answer.status_code == 422
        assert "on_alarm must be one of 'explore', 'drop', 'hold'" in answer.text


def test_a_name_is_taken_once(client: TestClient[Any]) -> None:
    assert client.post("/v1/policies", json=SPECIFICATION).status_code == 200
    other = client.post("/v1/policies", json=SPECIFICATION | {"seed": 2})
    assert other.status_code == 409
