"""Plausible ranges: what is outside is refused, or held until a person has seen to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, Clock, Start, create, decide, reward, running, view
from test_corrections import adds_up, correct, is_restored, shown

SEX = SPECIFICATION["features"][1]
AGE = {"kind": "numeric", "name": "age", "mean": 60, "scale": 10, "low": 18, "high": 110}
HELD_AGE = AGE | {"outside": "hold"}
UNIT = {"low": 0, "high": 1}
HELD_UNIT = UNIT | {"outside": "hold"}
DECISIONS = "/v1/policies/dose/decisions"


def learned_sum(client: TestClient[Any]) -> float:
    told = client.get("/v1/policies/dose/course").json()
    return float(told["reward_sum"])


def test_what_is_outside_is_refused_by_name_value_and_range(start: Start) -> None:
    with start() as client:
        create(client, features=[AGE, SEX], reward_range=UNIT)
        refused = client.post(DECISIONS, json={"context": CONTEXT | {"age": 500}})
        assert refused.status_code == 422
        assert "feature 'age' must be 18.0 to 110.0, got 500" in refused.json()["detail"]
        assert view(client)["decisions"] == 0
        decide(client, CONTEXT | {"age": 110})  # the ends are plausible
        refused = client.put("/v1/decisions/dose:1/reward", json={"value": 680})
        assert refused.status_code == 422
        assert "value must be 0.0 to 1.0" in refused.json()["detail"]
        assert "got 680" in refused.json()["detail"]
        assert adds_up(client)["pending"] == 1
        assert reward(client, "dose:1", 1.0) == "counted"
        good = {"context": CONTEXT, "arm": "low", "reward": 0.5}
        for bad, named in (({"reward": 2}, "reward"), ({"context": CONTEXT | {"age": 5}}, "'age'")):
            body = {"rows": [good, good | bad], **BY}
            refused = client.post("/v1/policies/dose/history", json=body)
            assert refused.status_code == 422
            assert "rows[1]" in refused.json()["detail"]
            assert named in refused.json()["detail"]
        assert view(client)["imported"] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward_range": {"low": 1, "high": 1}}, "low below high"),
        ({"reward_range": {}}, "reward_range must have low or high"),
        ({"reward_range": UNIT | {"outside": "ignore"}}, "outside"),
        ({"reward_range": UNIT, "default_reward": 2, "reward_wait": 9}, "default_reward"),
        ({"features": [AGE | {"low": 200}, SEX]}, "'age'"),
        ({"features": [AGE | {"low": "x"}, SEX]}, "low"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(start: Start, change: Any, said: str) -> None:
    with start() as client:
        refused = client.post("/v1/policies", json=SPECIFICATION | change)
        assert refused.status_code == 422
        assert said in refused.json()["detail"]


@pytest.mark.parametrize("limits", [{"low": 0}, {"high": 1}])
def test_a_range_may_be_open_at_one_end(start: Start, limits: Any) -> None:
    with start() as client:
        create(client, reward_range=limits)
        decide(client)
        outside, inside = (-1, 5) if "low" in limits else (5, -1)
        url = "/v1/decisions/dose:1/reward"
        assert client.put(url, json={"value": outside}).status_code == 422
        assert client.put(url, json={"value": inside}).status_code == 200


@pytest.mark.parametrize(("value", "learned"), [(680.0, 680.0), (0.68, 0.68), (None, None)])
def test_a_held_reward_is_confirmed_corrected_or_void(
    path: Path, value: float | None, learned: float | None
) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, reward_range=HELD_UNIT, reward_wait=10, default_reward=0.0)
        for _ in range(3):
            decide(client)
        assert reward(client, "dose:2", 680.0) == "held"
        assert reward(client, "dose:2", 680.0) == "held"  # told again
        url = "/v1/decisions/dose:2/reward"
        assert client.put(url, json={"value": 0.5}).status_code == 409
        seen = adds_up(client)
        assert (seen["joined"], seen["pending"], seen["held_back"]) == (0, 2, 1)
        (held,) = seen["held"]
        assert (held["decision_id"], held["value"]) == ("dose:2", 680.0)
        assert held["outside"] == ["reward"]
        assert 'greedyfirst_held{policy="dose"} 1.0' in client.get("/metrics").text
        assert shown(client, 2)["status"] == "held"
    with running(path, clock) as client:
        assert view(client) == seen
        clock.now += 11  # its decision waits for no default
        assert correct(client, 99, None).status_code == 404
        assert (adds_up(client)["defaulted"], view(client)["held_back"]) == (2, 1)
        told = correct(client, 2, value).json()
        assert told["status"] == ("voided" if value is None else "rewarded")
        assert told["learned"] == learned
        assert told["rewards"][0]["corrections"][0]["effect"] == "learned"
        assert learned_sum(client) == pytest.approx(learned or 0.0)
        seen = adds_up(client)
        assert (seen["held"], seen["held_back"], seen["voided"]) == ([], 0, value is None)
        again = correct(client, 2, 0.25).json()  # and what was said can be corrected
        assert (again["status"], again["learned"]) == ("rewarded", 0.25)
        assert again["rewards"][0]["corrections"][1]["effect"] == "relearned"
        assert learned_sum(client) == pytest.approx(0.25)
        assert adds_up(client)["voided"] == 0
    is_restored(path)


def test_a_context_outside_its_range_has_its_reward_held(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, features=[HELD_AGE, SEX], reward_wait=10, default_reward=0.0)
        assert decide(client)["held"] == []
        strange = decide(client, CONTEXT | {"age": 500})
        assert strange["held"] == ["age"]
        decide(client, CONTEXT | {"age": 3})
        assert reward(client, "dose:2", 0.5) == "held"
        assert view(client)["held"][0]["outside"] == ["age"]
    with running(path, clock) as client:
        clock.now += 11
        assert correct(client, 99, None).status_code == 404
        seen = adds_up(client)  # no default is learned for a context in doubt
        assert (seen["defaulted"], seen["missing"], seen["held_back"]) == (1, 1, 1)
        assert client.get("/v1/decisions/dose:2/replay").json()["same"]
        assert correct(client, 2, None).json()["status"] == "voided"
    is_restored(path)


def test_parts_of_a_sum_are_held_one_by_one(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, reward_range=HELD_UNIT, reward_wait=10, rewards="sum", default_reward=0.0)
        for _ in range(3):
            decide(client)
        for step in (1, 2, 3):
            assert reward(client, f"dose:{step}", 0.5, part="a") == "counted"
            assert reward(client, f"dose:{step}", 600, part="b") == "held"
            assert reward(client, f"dose:{step}", 700, part="c") == "held"
        seen = adds_up(client)
        assert (seen["pending"], seen["held_back"], len(seen["held"])) == (3, 0, 6)
        for part in "bc":  # before the wait is over
            assert correct(client, 1, 0.25, part=part).json()["status"] == "pending"
        clock.now += 11
        assert correct(client, 99, None).status_code == 404
        assert shown(client, 1)["learned"] == 1.0
        seen = adds_up(client)
        assert (seen["joined"], seen["held_back"], seen["defaulted"]) == (1, 2, 0)
        assert correct(client, 2, 0.1, part="b").json()["status"] == "held"
        told = correct(client, 2, 0.2, part="c").json()
        assert (told["status"], told["learned"]) == ("rewarded", pytest.approx(0.8))
        for part in "abc":
            told = correct(client, 3, None, part=part).json()
        assert told["status"] == "voided"
        assert learned_sum(client) == pytest.approx(1.8)
        assert adds_up(client)["voided"] == 1
    is_restored(path)


def test_ranges_are_changed_without_learning_again(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=[AGE, SEX])
        for step in range(1, 9):
            reward(client, decide(client, CONTEXT | {"age": 40 + step})["decision_id"], step / 8)
        before = view(client)
        url = "/v1/policies/dose/schema"
        body = {"features": [AGE | {"high": 50, "outside": "hold"}, SEX], **BY}
        assert client.put(url, json=body).json()["schema_version"] == 2
        assert client.put(url, json=body).json()["schema_version"] == 2
        after = view(client)
        assert after["model_version"] == before["model_version"]
        assert decide(client, CONTEXT | {"age": 51})["held"] == ["age"]
        assert client.get("/v1/decisions/dose:9/replay").json()["same"]
        swapped = {"features": [SEX, AGE], **BY}
        assert client.put(url, json=swapped).json()["schema_version"] == 3
        assert view(client)["model_version"] == before["model_version"] + 1
        assert reward(client, "dose:9", 0.5) == "held"  # as it was decided on
    is_restored(path)
