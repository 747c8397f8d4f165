"""With the log in a database, nothing waits for it on the event loop."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import psycopg
import pytest
from served import BY, CONTEXT, SPECIFICATION, Clock, create, decide, reward, running

from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.log.access_keys import AccessKey, add_key, all_keys, remove_key
from greedyfirst.service.log.postgres_database import PostgresUrl


@pytest.fixture
def on_the_loop(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where statements were run on an event loop."""
    found: list[str] = []
    wait = psycopg.Connection.wait

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            found.append("".join(traceback.format_stack(limit=12)))
        return wait(self, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "wait", noted)
    return found


def test_no_statement_is_run_on_the_event_loop(url: PostgresUrl, on_the_loop: list[str]) -> None:
    clock = Clock()
    with running(url, clock) as client:
        create(client, reward_wait=100, default_reward=0.5, rewards="sum")
        headers = {"Idempotency-Key": "once"}
        body = {"context": CONTEXT}
        for _ in range(2):
            answer = client.post("/v1/policies/dose/decisions", json=body, headers=headers)
            assert answer.json()["step"] == 1
        others = [decide(client)["decision_id"] for _ in range(5)]
        assert reward(client, "dose:1", 1.0, part="a") == "counted"
        assert reward(client, "dose:1", 1.0, part="a") == "duplicate"
        clock.now += 200
        assert reward(client, others[0], 2.0, part="a") == "late"  # the others' waits end before
        assert client.get(f"/v1/decisions/{others[1]}").json()["learned"] == 0.5
        corrected = {"value": 3.0, "part": "a", **BY}
        answer = client.post("/v1/decisions/dose:1/correction", json=corrected, headers=headers)
        assert answer.status_code == 422  # another request had that key
        answer = client.post("/v1/decisions/dose:1/correction", json=corrected)
        assert answer.json()["learned"] == 3.0
        answer = client.post(f"/v1/decisions/{others[2]}/erasure", json=BY)
        assert answer.json()["erased"] is not None
        paused = {"state": "paused", **BY}
        assert client.post("/v1/policies/dose/state", json=paused).status_code < 300
        schema = {"features": SPECIFICATION["features"][:1], **BY}
        assert client.put("/v1/policies/dose/schema", json=schema).status_code < 300
        for path in (
            "/v1/policies/dose/audit",
            "/v1/policies/dose/operations",
            "/v1/policies/dose/export",
            "/v1/policies/dose/subgroups?by=sex",
            "/v1/policies/dose/effects",
            "/v1/policies/dose/protocol",
            "/v1/decisions/dose:1/replay",
            "/v1/decisions/dose:1/intervals",
            "/v1/audit",
            "/v1/log/head",
            "/metrics",
            "/readyz",
            "/",
            "/policies/dose?done=once",
            "/policies/dose/operations",
            "/decisions?policy=dose&number=1",
            "/decisions/dose:1/again",
            "/operations",
            "/access",
        ):
            answer = client.get(path, headers={"Accept": "text/html"})
            assert answer.status_code in (200, 422), (path, answer.text)
    assert not on_the_loop, on_the_loop[0]


def test_changes_of_keys_are_recorded_beside_the_event_loop(
    url: PostgresUrl, on_the_loop: list[str]
) -> None:
    with running(url, Clock()):
        pass
    add_key(url, AccessKey("boss", "admin", hashed("boss")))
    for name in ("one", "two"):
        add_key(url, AccessKey(name, "reader", hashed(name)))
        remove_key(url, name)
        on_the_loop.clear()
        access = Access(lambda: all_keys(url))
        with running(url, Clock(), access=access, keys_in=url) as client:
            headers = {"Authorization": "Bearer boss"}
            while True:  # the newest change comes first
                found = client.get("/v1/audit", headers=headers).json()
                if found and found[0]["event"].get("name") == name:
                    break
    assert not on_the_loop, on_the_loop[0]
