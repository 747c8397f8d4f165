"""Rewards: counted once, told apart when they are late or repeated, and learned as they should."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import CONTEXT, SPECIFICATION, Clock, Start, at_once, create, decide, reward, view


def put(client: TestClient[Any], decision: str, value: Any, **body: Any) -> Any:
    return client.put(f"/v1/decisions/{decision}/reward", json={"value": value, **body})


def test_a_reward_is_counted_once(client: TestClient[Any]) -> None:
    decision = decide(client)["decision_id"]
    assert reward(client, decision, 1.0) == "counted"
    assert reward(client, decision, 1.0) == "duplicate"
    refused = put(client, decision, 2.0)
    assert refused.status_code == 409
    assert "already has the reward 1.0, not 2.0" in refused.json()["detail"]
    assert view(client)["joined"] == 1


def test_a_hundred_identical_rewards_at_once(path: Path) -> None:
    async def run() -> None:
        async with at_once(path) as (client, service):
            await client.post("/v1/policies", json=SPECIFICATION)
            await client.post("/v1/policies/dose/decisions", json={"context": CONTEXT})
            url = "/v1/decisions/dose:1/reward"
            answers = await asyncio.gather(
                *[client.put(url, json={"value": 1.0}) for _ in range(100)]
            )
            outcomes = Counter(answer.json()["outcome"] for answer in answers)
            assert outcomes == {"counted": 1, "duplicate": 99}
            assert service.deployments["dose"].agent.joined == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    "decision", ["dose:0", "dose:2", "dose:01", "dose:-1", "dose:1x", "dose:٣", "dose:", "nix:1"]
)
def test_a_reward_of_an_unknown_decision_is_404(client: TestClient[Any], decision: str) -> None:
    decide(client)
    refused = put(client, decision, 1.0)
    assert refused.status_code == 404
    assert client.get(f"/v1/decisions/{decision}").status_code == 404
    huge = put(client, "dose:" + "9" * 400, 1.0)
    assert huge.status_code == 404


@pytest.mark.parametrize("value", ["1", None, True, [1], 1e13, -1e13])
def test_a_reward_that_is_no_number_of_a_sane_size_is_422(
    client: TestClient[Any], value: Any
) -> None:
    decision = decide(client)["decision_id"]
    refused = put(client, decision, value)
    assert refused.status_code == 422
    assert "value" in refused.json()["detail"]


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_a_reward_that_is_not_finite_is_422(client: TestClient[Any], value: bytes) -> None:
    decision = decide(client)["decision_id"]
    refused = client.put(f"/v1/decisions/{decision}/reward", content=b'{"value":%s}' % value)
    assert refused.status_code == 422
    assert "value" in refused.json()["detail"]


@pytest.mark.parametrize("default", [None, 0.25])
def test_a_reward_after_its_deadline_is_late(
    start: Start, clock: Clock, default: float | None
) -> None:
    with start() as client:
        create(client, reward_wait=10, default_reward=default)
        first, second = decide(client)["decision_id"], decide(client)["decision_id"]
        clock.now += 10
        assert reward(client, first, 1.0) == "counted"
        clock.now += 0.001
        assert reward(client, second, 1.0) == "late"
        assert reward(client, second, 1.0) == "late"
        assert put(client, second, 2.0).status_code == 409
        shown = client.get(f"/v1/decisions/{second}").json()
        assert shown["status"] == ("late" if default is None else "defaulted")
        assert shown["learned"] == default
        after = view(client)
        assert (after["late"], after["pending"]) == (1, 0)
        assert after["joined"] == (1 if default is None else 2)
    with start() as client:
        assert reward(client, second, 1.0) == "late"
        assert view(client) == after


def test_waits_end_without_requests(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, reward_wait=10, default_reward=0.0)
        decide(client)
        clock.now += 11
        for _ in range(40):
            metrics = client.get("/metrics").text  # which itself ends no wait
            if 'greedyfirst_pending{policy="dose"} 0.0' in metrics:
                break
            asyncio.run(asyncio.sleep(0.1))
        else:
            raise AssertionError("the wait did not end")
        assert view(client)["defaulted"] == 1


def test_sums_of_parts(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, reward_wait=10, rewards="sum", default_reward=-1.0)
        summed, empty = decide(client)["decision_id"], decide(client)["decision_id"]
        assert reward(client, summed, 0.5, part="a") == "counted"
        assert reward(client, summed, 0.25, part="b") == "counted"
        assert reward(client, summed, 0.25, part="b") == "duplicate"
        assert put(client, summed, 0.75, part="b").status_code == 409
        assert view(client)["joined"] == 0
    clock.now += 11
    with start() as client:
        assert reward(client, summed, 1.0, part="c") == "late"
        assert reward(client, summed, 0.5, part="a") == "duplicate"
        assert client.get(f"/v1/decisions/{summed}").json()["learned"] == 0.75
        shown = client.get(f"/v1/decisions/{empty}").json()
        assert (shown["status"], shown["learned"]) == ("defaulted", -1.0)
        assert view(client)["joined"] == 2


def test_a_sum_that_the_model_cannot_learn_is_refused_in_time(start: Start, clock: Clock) -> None:
    policy = {"policy": "GLMGreedy", "options": {"link": "logistic"}}
    with start() as client:
        create(client, reward_wait=10, rewards="sum", policy=policy)
        decision = decide(client)["decision_id"]
        assert reward(client, decision, 1.0, part="a") == "counted"
        refused = put(client, decision, 1.0, part="b")  # the sum would be 2
        assert refused.status_code == 422
        clock.now += 11
        assert view(client)["decisions"] == 1
        decide(client)
        assert view(client)["joined"] == 1


def test_a_part_needs_sums(client: TestClient[Any]) -> None:
    decision = decide(client)["decision_id"]
    assert put(client, decision, 1.0, part="a").status_code == 422
