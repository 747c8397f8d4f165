"""Corrected rewards: the policy is then what it would be, had they come so from the start."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litestar.testing import TestClient
from served import BY, Clock, Start, create, decide, reward, running, view

from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import restoring, snapshots

AGE = {"kind": "numeric", "name": "age", "mean": 60, "scale": 10}
PLAIN = {"arms": ["low", "middle", "high"], "features": [AGE]}
POLICIES = [
    {"policy": "GreedyFirst", "options": {"initial_pulls": 2}},
    {"policy": "GreedyFirst", "options": {"t0": 12, "initial_pulls": 2}},
    {"policy": "ThompsonSampling", "options": {}},
]


def correct(client: TestClient[Any], step: int, value: float | None, **body: Any) -> Any:
    asked = {"value": value, **BY} | body
    return client.post(f"/v1/decisions/dose:{step}/correction", json=asked)


def shown(client: TestClient[Any], step: int) -> Any:
    return client.get(f"/v1/decisions/dose:{step}").json()


def adds_up(client: TestClient[Any]) -> Any:
    """The policy, once each decision is found to be counted once."""
    seen = view(client)
    kinds = ("joined", "pending", "missing", "too_late", "held_back", "voided", "not_learned")
    assert seen["decisions"] == sum(seen[kind] for kind in kinds)
    return seen


def is_restored(path: Path) -> None:
    """Whether the state from a snapshot, and from all entries, is the same; and all decisions."""
    log = SqliteLog(path)
    assert log.check() > 0
    quick, slow = (restoring.restore(log, "dose", snapshots=kept)[0] for kept in (True, False))
    assert snapshots.save(quick)() == snapshots.save(slow)()
    assert slow.mismatches == 0
    log.close()


def patients(n: int, seed: int = 7) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    return [(float(age), float(noise)) for age, noise in rng.normal((60, 0), (10, 0.05), (n, 2))]


def outcome(arm: str, age: float, noise: float) -> float:
    base, slope = {"low": (0.60, 0.05), "middle": (0.66, 0.0), "high": (0.55, -0.06)}[arm]
    return round(base + slope * (age - 60) / 10 + noise, 3)


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """On a disk in memory, where there is one: thousands of requests, and no crash."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("policy", "between"), list(zip(POLICIES, (0, 5, 5), strict=True)))
def test_a_reward_of_680_instead_of_0_680(quick_folder: Path, policy: Any, between: int) -> None:
    """The next 200 decisions are those of a policy that had got the right reward at once."""
    made = []
    for mistaken in (False, True):
        path = quick_folder / f"{mistaken}.db"
        with running(path, Clock()) as client:
            create(client, **PLAIN, policy=policy)
            people = patients(300)
            for age, noise in people[:60]:
                chosen = decide(client, {"age": age})
                reward(client, chosen["decision_id"], outcome(chosen["arm"], age, noise))
            slip = decide(client, {"age": 61.0})["decision_id"]
            reward(client, slip, 680.0 if mistaken else 0.680)
            for age, noise in people[60 : 60 + between]:
                chosen = decide(client, {"age": age}, eligible_arms=["low"])
                reward(client, chosen["decision_id"], outcome("low", age, noise))
            if mistaken:
                answer = correct(client, 61, 0.680)
                assert answer.status_code == 201, answer.text
            after = []
            for age, noise in people[100:300]:
                chosen = decide(client, {"age": age})
                after.append(chosen)
                reward(client, chosen["decision_id"], outcome(chosen["arm"], age, noise))
            made.append(after)
            for step in (61, 62, 61 + between):
                assert client.get(f"/v1/decisions/dose:{step}/replay").json()["same"]
            assert adds_up(client)["joined"] == 261 + between
        is_restored(path)
    for right, corrected in zip(*made, strict=True):
        assert corrected["arm"] == right["arm"]
        assert corrected["expected_rewards"] == pytest.approx(
            right["expected_rewards"], rel=1e-9, abs=1e-9
        )


def test_the_old_value_stays_visible(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, **PLAIN)
        for step in (1, 2):
            reward(client, decide(client, {"age": 50 + step})["decision_id"], 680.0)
        view_of = correct(client, 2, 0.68).json()
        assert view_of == shown(client, 2)
        (seen,) = view_of["rewards"]
        assert (seen["value"], seen["stands"], view_of["learned"]) == (680.0, 0.68, 0.68)
        (made,) = seen["corrections"]
        assert (made["before"], made["value"], made["effect"]) == (680.0, 0.68, "relearned")
        assert (made["who"], made["why"]) == ("Ada", "a test")
        newest = client.get("/v1/policies/dose/audit").json()[0]["event"]
        assert (newest["event"], newest["step"], newest["before"]) == ("reward_corrected", 2, 680.0)
        for value in (680.0, 0.68):  # what came, and what stands, come again
            assert reward(client, "dose:2", value) == "duplicate"
        refused = client.put("/v1/decisions/dose:2/reward", json={"value": 1.0})
        assert refused.status_code == 409
        assert "which was corrected to 0.68, not 1.0" in refused.json()["detail"]
        assert "680" in client.get("/decisions/dose:2").text
    is_restored(path)


def test_a_reward_that_is_void_is_learned_no_more_and_can_count_again(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, **PLAIN)
        for step in range(1, 9):
            reward(client, decide(client, {"age": 50 + step})["decision_id"], step / 10)
        before = adds_up(client)
        assert correct(client, 3, None).json()["status"] == "voided"
        void = adds_up(client)
        assert (void["joined"], void["voided"]) == (7, 1)
        assert sum(arm["pulls"] for arm in void["arms"]) == 7
        assert correct(client, 3, None).status_code == 409
        assert correct(client, 3, 0.3).json()["learned"] == 0.3
        again = adds_up(client)
        assert again | {"model_version": 0} == before | {"model_version": 0}
    is_restored(path)


def test_what_cannot_be_corrected_is_refused(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, **PLAIN, reward_wait=10)
        decide(client, {"age": 50})
        assert correct(client, 1, 0.5).status_code == 409
        assert "has no reward" in correct(client, 1, 0.5).json()["detail"]
        assert correct(client, 2, 0.5).status_code == 404
        reward(client, "dose:1", 0.5)
        assert correct(client, 1, 0.5).status_code == 409
        assert correct(client, 1, 0.4, part="x").status_code == 409
        body = {"value": 0.4, **BY}
        for wrong in ({"value": "x"}, {"who": ""}, {"value": 1e13}):
            url = "/v1/decisions/dose:1/correction"
            assert client.post(url, json=body | wrong).status_code == 422
        assert client.post(url, json=BY).status_code == 422  # a value, or null, must be said
        audit = client.get("/v1/policies/dose/audit").json()
        assert [entry["event"]["event"] for entry in audit] == ["created"]


def test_a_correction_is_made_once_per_key(client: TestClient[Any]) -> None:
    reward(client, decide(client)["decision_id"], 680.0)
    url, headers = "/v1/decisions/dose:1/correction", {"Idempotency-Key": "k"}
    for _ in range(2):
        answer = client.post(url, json={"value": 0.68, **BY}, headers=headers)
        assert answer.status_code == 201
        assert answer.json()["learned"] == 0.68
    assert client.post(url, json={"value": 0.7, **BY}, headers=headers).status_code == 422
    assert len(shown(client, 1)["rewards"][0]["corrections"]) == 1


def test_a_late_reward_is_corrected_on_record_only(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, **PLAIN, reward_wait=10)
        decide(client, {"age": 50})
        clock.now += 11
        assert reward(client, "dose:1", 680.0) == "late"
        before = adds_up(client)
        assert (before["missing"], before["too_late"], before["late"]) == (0, 1, 1)
        seen = correct(client, 1, 0.68).json()
        assert (seen["status"], seen["learned"]) == ("late", None)
        assert seen["rewards"][0]["corrections"][0]["effect"] == "recorded"
        assert adds_up(client) == before
    is_restored(path)


def test_late_is_not_inside_missing_and_what_was_defaulted_stays_so(path: Path) -> None:
    clock = Clock()
    for default in (None, 0.0):
        file = path.with_name(f"{default}.db")
        with running(file, clock) as client:
            create(client, **PLAIN, reward_wait=10, rewards="sum", default_reward=default)
            for step in range(1, 6):
                decide(client, {"age": 50 + step})
            reward(client, "dose:1", 1.0, part="a")
            clock.now += 11
            for step, part in ((1, "b"), (2, "a"), (2, "b"), (3, "a")):
                assert reward(client, f"dose:{step}", 1.0, part=part) == "late"
            seen = adds_up(client)
            expected = (1, 2, 2) if default is None else (5, 0, 0)
            assert (seen["joined"], seen["missing"], seen["too_late"]) == expected
            assert seen["late"] == 4
            told = client.get("/metrics").text
            missing = 4.0 if default is None else 0.0
            assert f'outcome="missing",policy="dose"}} {missing}' in told
        is_restored(file)


def test_parts_of_a_sum_are_corrected_before_and_after_the_wait(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, **PLAIN, reward_wait=10, rewards="sum", default_reward=9.0)
        for step in (1, 2, 3):
            decide(client, {"age": 50 + step})
        for step in (1, 2):
            for part, value in (("a", 1.0), ("b", 200.0)):
                reward(client, f"dose:{step}", value, part=part)
        reward(client, "dose:3", 5.0)
        assert correct(client, 1, 2.0, part="b").json()["status"] == "pending"
        assert correct(client, 3, None).json()["status"] == "pending"
        assert correct(client, 3, None).status_code == 409
        clock.now += 11
        assert correct(client, 99, None).status_code == 404  # any request ends waits
        assert [shown(client, step)["learned"] for step in (1, 2, 3)] == [3.0, 201.0, None]
        assert shown(client, 3)["status"] == "voided"  # and no default for it
        assert adds_up(client)["voided"] == 1
        after = correct(client, 2, 2.0, part="b").json()
        assert (after["status"], after["learned"]) == ("rewarded", 3.0)
        assert correct(client, 2, None, part="a").json()["learned"] == 2.0
        assert correct(client, 2, None, part="b").json()["status"] == "voided"
        assert adds_up(client)["voided"] == 2
        sums = client.get("/v1/policies/dose/course").json()
        assert sums["reward_sum"] == 3.0
    is_restored(path)


def test_a_correction_outlives_other_features_and_restarts(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, **PLAIN)
        for step in range(1, 31):
            reward(client, decide(client, {"age": 40 + step})["decision_id"], step / 30)
        correct(client, 4, 0.5)
        correct(client, 5, None)
    with running(path, clock) as client:
        rescaled = [AGE | {"scale": 5}]
        body = {"features": rescaled, **BY}
        assert client.put("/v1/policies/dose/schema", json=body).status_code == 200
        assert adds_up(client)["joined"] == 29
        total = sum(step / 30 for step in range(1, 31)) - 4 / 30 + 0.5 - 5 / 30
        told = client.get("/v1/policies/dose/course").json()["reward_sum"]
        assert told == pytest.approx(total, rel=1e-12)
        correct(client, 5, 0.9)
        told = client.get("/v1/policies/dose/course").json()["reward_sum"]
        assert told == pytest.approx(total + 0.9, rel=1e-12)
    is_restored(path)


def test_clicks_are_corrected_to_clicks_only(start: Start) -> None:
    with start() as client:
        create(client, **PLAIN, policy={"policy": "GLMGreedy", "options": {}})
        for step in range(1, 25):
            reward(client, decide(client, {"age": 40 + 2 * step})["decision_id"], step % 2)
        assert correct(client, 2, 1.5).status_code == 422
        assert correct(client, 2, 1.0).status_code == 201
        assert adds_up(client)["joined"] == 24
