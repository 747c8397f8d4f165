"""A policy is paused, runs again, or is closed for good: who, when and why is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, Clock, create, decide, reward, running, view
from test_corrections import adds_up, correct, is_restored

DECISIONS = "/v1/policies/dose/decisions"


def put(client: TestClient[Any], state: str, **body: Any) -> Any:
    return client.post("/v1/policies/dose/state", json={"state": state, **BY} | body)


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_no_decisions_but_rewards_until_waits_are_over(path: Path, state: str) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, reward_wait=10, default_reward=0.0)
        key = {"Idempotency-Key": "before"}
        body = {"context": CONTEXT}
        first = client.post(DECISIONS, json=body, headers=key).json()
        for _ in range(3):
            decide(client)
        told = put(client, state, why="the ward is closed")
        assert told.status_code == 201
        assert told.json()["standing"]["state"] == state
    with running(path, clock) as client:
        refused = client.post(DECISIONS, json=body)
        assert refused.status_code == 409
        said = f"policy dose was {state} by Ada on 1970-01-12 13:46 UTC: the ward is closed"
        assert refused.json()["detail"] == said
        assert client.post(DECISIONS, json=body, headers=key).json() == first
        assert reward(client, "dose:1", 0.5) == "counted"
        clock.now += 11
        assert reward(client, "dose:2", 0.5) == "late"
        assert correct(client, 1, 0.75).status_code == 201
        seen = adds_up(client)
        assert (seen["decisions"], seen["defaulted"], seen["pending"]) == (4, 3, 0)
    is_restored(path)


def test_a_paused_policy_runs_again_and_may_be_changed_meanwhile(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client)
        assert put(client, "running").status_code == 409
        assert put(client, "paused").status_code == 201
        again = put(client, "paused", who="Bob")
        assert again.status_code == 409
        assert "was paused by Ada" in again.json()["detail"]
        arm = client.post("/v1/policies/dose/arms", json={"arm": "new", **BY})
        assert arm.status_code == 201
        assert put(client, "running").status_code == 201
        decide(client)
        audit = client.get("/v1/policies/dose/audit").json()
        states = [e["event"]["state"] for e in audit if e["event"]["event"] == "state_changed"]
        assert states == ["running", "paused"]
    is_restored(path)


def test_closed_is_final(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, arms=["low", "high", "gone"])
        client.post("/v1/policies/dose/retirements", json={"arm": "gone", **BY}).raise_for_status()
        assert put(client, "closed").status_code == 201
        before = view(client)
        for state in ("running", "paused", "closed"):
            refused = put(client, state)
            assert refused.status_code == 409
            assert "that is final" in refused.json()["detail"]
        row = {"context": CONTEXT, "arm": "low", "reward": 1}
        for what, body in (
            ("arms", {"arm": "new"}),
            ("retirements", {"arm": "low"}),
            ("reinstatements", {"arm": "gone"}),
            ("history", {"rows": [row]}),
        ):
            refused = client.post(f"/v1/policies/dose/{what}", json=body | BY)
            assert refused.status_code == 409
            assert "was closed by Ada" in refused.json()["detail"]
        features = [*SPECIFICATION["features"], {"kind": "numeric", "name": "w"}]
        change = {"features": features, "fill": {"w": 0}, **BY}
        assert client.put("/v1/policies/dose/schema", json=change).status_code == 409
        assert view(client) == before


def test_states_that_are_not_there_are_refused(client: TestClient[Any]) -> None:
    assert put(client, "asleep").status_code == 422
    assert put(client, "paused", who="").status_code == 422
    assert view(client)["standing"]["state"] == "running"
