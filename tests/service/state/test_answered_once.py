"""An alarm is answered once: who comes second is told what happened, and changes it on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, Clock, Start, create, decide, reward, running, view

from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import restoring, snapshots

#: Every arm falls short of the line at the second reward.
STRICT = {"policy": "GreedyFirst", "options": {"t0": 1, "lambda0": 1000.0}}
ANSWERS = ["explore", "drop", "hold"]
RESOLUTIONS = "/v1/policies/dose/resolutions"


def alarmed(client: TestClient[Any], **changes: Any) -> list[dict[str, Any]]:
    """Create a policy whose three arms have open alarms; the alarms."""
    create(client, arms=["low", "middle", "high"], policy=STRICT, **changes)
    for _ in range(3):
        reward(client, decide(client)["decision_id"], 1.0)
    alarms: list[dict[str, Any]] = view(client)["open_alarms"]
    return alarms


def answer(client: TestClient[Any], arm: str, resolution: str, key: str = "", **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    asked = {"arm": arm, "resolution": resolution, **BY} | body
    return client.post(RESOLUTIONS, json=asked, headers=headers)


def events(client: TestClient[Any], kind: str) -> list[dict[str, Any]]:
    found = [entry["event"] for entry in client.get("/v1/policies/dose/audit").json()]
    return [event for event in found if event["event"] == kind]


def test_alarms_are_numbered_in_their_order(start: Start) -> None:
    with start() as client:
        alarms = alarmed(client)
        assert [alarm["number"] for alarm in alarms] == [1, 2, 3]
        assert sorted(event["number"] for event in events(client, "alarmed")) == [1, 2, 3]
    with start() as client:
        assert view(client)["open_alarms"] == alarms


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("first", ANSWERS)
def test_of_two_people_the_second_is_told(
    start: Start, first: str, second: str, numbered: bool
) -> None:
    with start() as client:
        alarm = alarmed(client)[0]
        arm = alarm["arm"]
        named = {"alarm": alarm["number"]} if numbered else {}
        assert answer(client, arm, first, "ann", who="Ann", **named).status_code == 201
        refused = answer(client, arm, second, "bob", who="Bob", **named)
        assert refused.status_code == 409
        said = f"alarm 1 was answered by Ann on 1970-01-12 13:46 UTC: {first}"
        assert said in refused.json()["detail"]
        # Ann did not get her answer and sends the same again.
        assert answer(client, arm, first, "ann", who="Ann", **named).status_code == 201
        assert answer(client, arm, second, "ann", who="Bob", **named).status_code == 422
        assert len(events(client, "resolved")) == 1


def test_exploring_all_arms_answers_the_other_alarms_too(start: Start) -> None:
    with start() as client:
        alarms = alarmed(client)
        assert answer(client, alarms[0]["arm"], "explore", who="Ann", alarm=1).status_code == 201
        refused = answer(client, alarms[1]["arm"], "drop", who="Bob", alarm=2)
        assert refused.status_code == 409
        assert "alarm 2 was answered by Ann" in refused.json()["detail"]


def test_a_retired_arms_alarm_says_who_retired_it(start: Start) -> None:
    with start() as client:
        arm = alarmed(client)[0]["arm"]
        retire = client.post("/v1/policies/dose/retirements", json={"arm": arm, **BY})
        assert retire.status_code == 201
        refused = answer(client, arm, "hold", alarm=1)
        assert refused.status_code == 409
        assert "Ada took the arm out of use" in refused.json()["detail"]


def test_an_answer_is_changed_on_purpose_and_the_log_keeps_what_it_was(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        arm = alarmed(client)[0]["arm"]
        assert answer(client, arm, "hold", who="Ann", alarm=1).status_code == 201
        changed = answer(client, arm, "explore", who="Bob", alarm=1, change=True)
        assert changed.status_code == 201
        newest = events(client, "resolved")[0]
        assert (newest["who"], newest["alarm"], newest["before"]) == ("Bob", 1, "hold")
        refused = answer(client, arm, "drop", who="Cyd", alarm=1)
        assert "answered by Bob" in refused.json()["detail"]
    log = SqliteLog(path)
    quick, slow = (restoring.restore(log, "dose", snapshots=kept)[0] for kept in (True, False))
    assert snapshots.save(quick)() == snapshots.save(slow)()
    log.close()


@pytest.mark.parametrize(
    ("alarm", "arm", "status"), [(99, "low", 404), (1, "high", 404), (0, "low", 422)]
)
def test_alarms_that_are_not_there(start: Start, alarm: int, arm: str, status: int) -> None:
    with start() as client:
        first = alarmed(client)[0]["arm"]
        other = next(name for name in ("low", "high") if name != first)
        asked = first if arm == "low" else other
        assert answer(client, asked, "hold", alarm=alarm).status_code == status
        assert not events(client, "resolved")


def test_a_person_may_overrule_the_policys_own_answer_but_two_may_not(start: Start) -> None:
    with start() as client:
        alarmed(client, on_alarm="explore")
        (alarm,) = events(client, "alarmed")
        assert answer(client, alarm["arm"], "hold", who="Ann").status_code == 201
        assert events(client, "resolved")[0]["before"] == "explore"
        refused = answer(client, alarm["arm"], "drop", who="Bob")
        assert refused.status_code == 409
        assert "Ann" in refused.json()["detail"]


def test_without_an_alarm_a_person_decides_as_before(client: TestClient[Any]) -> None:
    for resolution in ("explore_arm", "hold", "drop"):
        assert answer(client, "low", resolution).status_code == 201
    assert [event["alarm"] for event in events(client, "resolved")] == [None] * 3


@pytest.mark.parametrize("how", ["drop", "retire"])
@pytest.mark.parametrize("options", [STRICT, {"policy": "GreedyFirst", "options": {}}])
def test_an_arm_can_be_put_back(path: Path, how: str, options: Any) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, policy=options)
        body = {"arm": "low", **BY}
        place = "/v1/policies/dose/reinstatements"
        assert client.post(place, json=body).status_code == 409
        assert client.post(place, json=body | {"arm": "nix"}).status_code == 404
        if how == "drop":
            assert answer(client, "low", "drop").status_code == 201
        else:
            assert client.post("/v1/policies/dose/retirements", json=body).status_code == 201
        assert {decide(client)["arm"] for _ in range(4)} == {"high"}
        refused = answer(client, "low", "hold")
        assert refused.status_code == 409
        assert "put it back first" in refused.json()["detail"]
        assert client.post(place, json=body).status_code == 201
        assert decide(client, eligible_arms=["low"])["arm"] == "low"
        assert [event["who"] for event in events(client, "arm_reinstated")] == ["Ada"]
        reward(client, "dose:5", 1.0)
    log = SqliteLog(path)
    quick, slow = (restoring.restore(log, "dose", snapshots=kept)[0] for kept in (True, False))
    assert snapshots.save(quick)() == snapshots.save(slow)()
    assert slow.mismatches == 0
    log.close()
