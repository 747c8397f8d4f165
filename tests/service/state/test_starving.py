"""Arms that starve: who is told, what is done about it, and that they are fed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litestar.testing import TestClient
from scipy.linalg import eigh
from served import BY, Clock, Start, create, decide, reward, running, view

from greedyfirst import Agent, GreedyFirst
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import restoring, snapshots

#: By rule: what two arms need, and of what it is a share.
NEEDED = {1: 0.025, 2: 0.3}
MEASURE = {1: "share of samples", 2: "share of what is known"}


def by_rule(rule: int) -> dict[str, Any]:
    return {"policy": "GreedyFirst", "options": {"rule": rule}}


def context_of(number: int) -> dict[str, Any]:
    return {"age": 50 + 3 * (number % 7), "sex": "fm"[number // 7 % 2]}


def play(client: TestClient[Any], n: int, *, low: float = 0.0) -> list[Any]:
    """Decisions whose arm pays ``low`` or 1, with a noise that is large enough to leave doubts."""
    made = []
    rng = np.random.default_rng(n)
    for number in range(n):
        made.append(decide(client, context_of(number)))
        paid = low if made[-1]["arm"] == "low" else 1.0
        reward(client, made[-1]["decision_id"], paid + 0.5 * rng.normal())
    return made


def bring(client: TestClient[Any], arm: str, n: int) -> None:
    """Samples of an arm from elsewhere."""
    rows = [{"context": context_of(i), "arm": arm, "reward": i % 2} for i in range(n)]
    for first in range(0, n, 1000):
        body = {"rows": rows[first : first + 1000], **BY}
        assert client.post("/v1/policies/dose/history", json=body).status_code == 201


def answer(client: TestClient[Any], resolution: str, arm: str = "low") -> Any:
    body = {"arm": arm, "resolution": resolution, "change": True, **BY}
    return client.post("/v1/policies/dose/resolutions", json=body)


def arms(client: TestClient[Any]) -> dict[str, Any]:
    shown = client.get("/v1/policies/dose/diversity").json()
    return {arm["name"]: arm for arm in shown["arms"]}


def events(client: TestClient[Any], *kinds: str) -> list[Any]:
    """Audited events of these kinds, oldest first."""
    found = client.get("/v1/policies/dose/audit?limit=1000").json()
    return [entry["event"] for entry in reversed(found) if entry["event"]["event"] in kinds]


@pytest.fixture(params=[2, 1])
def rule(request: pytest.FixtureRequest) -> int:
    """How arms are explored: as the default does, and as older releases did."""
    chosen: int = request.param
    return chosen


@pytest.fixture
def starved(path: Path, clock: Clock, rule: int) -> Iterator[TestClient[Any]]:
    """A client of a policy without a fallback, whose arm "low" has raised its alarm."""
    with running(path, clock) as client:
        create(client, policy=by_rule(rule))
        play(client, 80, low=-2.0)
        assert [alarm["arm"] for alarm in view(client)["open_alarms"]] == ["low"]
        yield client
    log = SqliteLog(path)
    quick, slow = (restoring.restore(log, "dose", snapshots=each)[0] for each in (True, False))
    assert snapshots.save(quick)() == snapshots.save(slow)()
    assert slow.mismatches == 0
    log.close()


def least_share(client: TestClient[Any], arm: str, rewards: int, rule: int) -> float:
    """By SciPy, from the contexts of the first decisions, which got their rewards in order.

    By rule 2 each arm also knows what the prior says, which an agent learns from the same rows.
    """
    grams = {"low": np.zeros((3, 3)), "high": np.zeros((3, 3))}
    agent = Agent(GreedyFirst(), n_arms=2, n_features=3, arm_names=list(grams), seed=1)
    for step in range(1, rewards + 1):
        seen = client.get(f"/v1/decisions/dose:{step}").json()
        age, sex = seen["context"]["age"], seen["context"]["sex"]
        row = np.array([1.0, (age - 60) / 10, float(sex == "m")])
        grams[seen["answer"]["arm"]] += np.outer(row, row)
        agent.update(row, seen["answer"]["arm"], seen["learned"], step=0)
    model = agent.state.greedy.model
    prior = model.penalty * model.shape if rule == 2 else np.zeros((3, 3))
    known = sum(grams.values()) + prior
    return float(eigh(grams[arm] + prior, known, eigvals_only=True)[0])


def test_the_answers_say_who_starves_since_when_and_that_a_person_is_waited_for(
    starved: TestClient[Any], rule: int
) -> None:
    (alarm,) = view(starved)["open_alarms"]
    assert alarm["answered"] == "hold"
    shown = starved.get("/v1/policies/dose/diversity").json()
    assert alarm["measure"] == shown["measure"] == MEASURE[rule]
    assert alarm["threshold"] == NEEDED[rule]
    share = least_share(starved, "low", alarm["rewards"], rule)
    assert share < NEEDED[rule]
    assert alarm["min_eigenvalue"] == pytest.approx(share, abs=1e-6)
    low, high = arms(starved)["low"], arms(starved)["high"]
    assert (low["starving"], low["explored"], low["doing"]) == (
        True,
        False,
        "waiting for an answer",
    )
    assert low["tripped_at"] == alarm["rewards"] > 4 * 2 * 3  # tests begin after 4·K·d rewards
    assert low["min_eigenvalue"] == pytest.approx(least_share(starved, "low", 80, rule), abs=1e-6)
    assert (high["starving"], high["doing"], high["tripped_at"]) == (False, None, None)
    assert high["fed_at"] is not None
    expected = {"arm": "low", "since": alarm["rewards"], "doing": "waiting for an answer"}
    assert view(starved)["starving"] == [expected]


def test_until_someone_answers_every_decision_is_greedy(starved: TestClient[Any]) -> None:
    for made in play(starved, 30):
        assert (made["mode"], made["explored_arms"]) == ("greedy", [])
        assert made["arm"] == max(made["expected_rewards"], key=made["expected_rewards"].get)


def test_an_arm_that_a_person_asks_for_is_explored_and_decisions_say_so(
    starved: TestClient[Any],
) -> None:
    """Also by how much its score was raised: what it lacks to the others where it is taken."""
    since = view(starved)["starving"][0]["since"]
    told = answer(starved, "explore_arm")
    assert told.status_code == 201
    assert told.json()["mode"] == "greedy"
    assert view(starved)["open_alarms"] == []
    assert view(starved)["starving"] == [{"arm": "low", "since": since, "doing": "explored"}]
    modes = {"greedy": 0, "explored": 0}
    for number in range(200):
        made = decide(starved, context_of(number))
        assert made["explored_arms"] == [*made["raised_by"]] == ["low"]
        assert (made["mode"] == "explored") == (made["arm"] == "low")
        lead = made["expected_rewards"]["high"] - made["expected_rewards"]["low"]
        assert (made["raised_by"]["low"] > lead) == (made["arm"] == "low")
        modes[made["mode"]] += 1
    assert min(modes.values()) > 0
    explored = made["decision_id"]
    assert starved.get(f"/v1/decisions/{explored}/replay").json()["same"]
    alone = decide(starved, context_of(0), eligible_arms=["high"])
    assert (alone["mode"], alone["explored_arms"], alone["raised_by"]) == ("greedy", [], {})
    newest = events(starved, "resolved")[-1]
    expected = {"event": "resolved", "arm": "low", "resolution": "explore_arm", "alarm": 1, **BY}
    assert newest == expected | {"change": True, "before": None}


def test_what_is_so_already_is_refused(starved: TestClient[Any]) -> None:
    assert answer(starved, "explore_arm").status_code == 201
    again = answer(starved, "explore_arm")
    assert (again.status_code, "'low' is explored already" in again.text) == (409, True)
    assert answer(starved, "explore").status_code == 201
    assert "'high' is explored already" in answer(starved, "explore_arm", "high").text
    assert answer(starved, "drop").status_code == 201
    gone = answer(starved, "explore_arm")
    assert (gone.status_code, "'low' is not in use" in gone.text) == (409, True)
    assert answer(starved, "explore_arm", "nobody").status_code == 404


def test_all_arms_are_explored_when_a_person_asks_for_that(starved: TestClient[Any]) -> None:
    assert answer(starved, "explore").json()["mode"] == "fallback"
    reward(starved, decide(starved)["decision_id"], 1.0)  # arms are looked at after the next one
    made = decide(starved, context_of(3))
    assert (made["mode"], made["explored_arms"]) == ("fallback", ["low", "high"])
    assert made["raised_by"]["low"] > made["raised_by"]["high"] >= 0
    assert arms(starved)["low"]["doing"] == "explored"
    assert arms(starved)["high"]["explored"]


def test_an_arm_that_is_fed_closes_its_alarm_and_is_tested_again(
    starved: TestClient[Any], rule: int
) -> None:
    since = view(starved)["starving"][0]["since"]
    bring(starved, "low", 60)
    assert view(starved)["open_alarms"] == view(starved)["starving"] == []
    (fed,) = events(starved, "fed")
    assert (fed["arm"], fed["since"], fed["closed_alarm"]) == ("low", since, True)
    assert 80 < fed["rewards"] <= 140
    assert fed["share"] >= fed["needed"] == NEEDED[rule]
    low = arms(starved)["low"]
    assert (low["starving"], low["doing"], low["tripped_at"]) == (False, None, None)
    assert low["fed_at"] == fed["rewards"]
    bring(starved, "high", 6000)
    first, second = events(starved, "alarmed")
    assert first["rewards"] == since < fed["rewards"] < second["rewards"]
    assert view(starved)["open_alarms"] == [second]
    assert second["answered"] == "hold"


def test_an_alarm_and_its_end_in_one_import_leave_nothing_open(path: Path, clock: Clock) -> None:
    """Restored entry by entry, too: the import's effect is there before the alarm is read."""
    arms_of = ["high"] * 60 + ["low"] * 60
    rows = [{"context": context_of(i), "arm": arm, "reward": 1} for i, arm in enumerate(arms_of)]
    with running(path, clock) as client:
        create(client)
        body = {"rows": rows, **BY}
        client.post("/v1/policies/dose/history", json=body).raise_for_status()
        kinds = [event["event"] for event in events(client, "alarmed", "fed", "imported")]
        assert kinds == ["imported", "alarmed", "fed"]
        assert view(client)["open_alarms"] == []
    log = SqliteLog(path)
    assert restoring.restore(log, "dose", snapshots=False)[0].open_alarms == {}
    log.close()


def test_an_arm_that_was_held_is_fed_without_being_tested_again(starved: TestClient[Any]) -> None:
    assert answer(starved, "hold").status_code == 201
    assert view(starved)["starving"][0]["doing"] == "nothing"
    bring(starved, "low", 60)
    (fed,) = events(starved, "fed")
    assert not fed["closed_alarm"]
    bring(starved, "high", 6000)
    assert arms(starved)["low"]["starving"]
    assert len(events(starved, "alarmed")) == 1
    assert view(starved)["open_alarms"] == []


def test_an_answer_stands_when_the_arm_starves_again(starved: TestClient[Any]) -> None:
    assert answer(starved, "explore_arm").status_code == 201
    bring(starved, "low", 60)
    assert arms(starved)["low"]["doing"] is None
    assert arms(starved)["low"]["explored"]
    bring(starved, "high", 6000)
    first, second = events(starved, "alarmed")
    assert (first["answered"], second["answered"]) == ("hold", "explore_arm")
    assert view(starved)["open_alarms"] == []
    low = arms(starved)["low"]
    assert (low["doing"], low["tripped_at"]) == ("explored", second["rewards"])
    assert low["watched"]  # so that it is an alarm when it starves a third time


def test_alarms_that_exploring_all_had_answered_are_raised_again_when_it_ends(
    starved: TestClient[Any],
) -> None:
    assert answer(starved, "explore").status_code == 201
    assert view(starved)["open_alarms"] == []
    assert answer(starved, "hold", "high").json()["mode"] == "greedy"
    bring(starved, "high", 200)
    assert [alarm["arm"] for alarm in view(starved)["open_alarms"]] == ["low"]
    assert [alarm["answered"] for alarm in events(starved, "alarmed")] == ["hold", "hold"]


def test_a_policy_that_explores_by_itself_asks_nobody(start: Start, rule: int) -> None:
    with start() as client:
        create(client, on_alarm="explore_arm", policy=by_rule(rule))
        assert arms(client)["low"]["doing"] == "explored"
        made = play(client, 150, low=-3.0)
        assert {one["mode"] for one in made} >= {"greedy", "explored"}
        assert view(client)["open_alarms"] == []
        assert {alarm["answered"] for alarm in events(client, "alarmed")} == {"explore_arm"}
        assert view(client)["starving"][0]["doing"] == "explored"


def test_initial_pulls_are_forced_and_explore_nothing(start: Start) -> None:
    with start() as client:
        options = {"policy": "GreedyFirst", "options": {"initial_pulls": 2}}
        create(client, policy=options, on_alarm="explore_arm")
        made = play(client, 4)
        assert {(one["mode"], *one["explored_arms"]) for one in made} == {("forced",)}


def test_the_papers_algorithm_speaks_of_eigenvalues(start: Start) -> None:
    with start() as client:
        create(client, policy={"policy": "GreedyFirst", "options": {"t0": 4, "lambda0": 1.0}})
        play(client, 6)
        shown = client.get("/v1/policies/dose/diversity").json()
        assert shown["measure"] == "smallest eigenvalue"
        assert {alarm["measure"] for alarm in shown["open_alarms"]} == {"smallest eigenvalue"}
        for arm in shown["arms"]:
            assert (arm["starving"], arm["explored"], arm["doing"], arm["fed_at"]) == (None,) * 4
        assert view(client)["starving"] == []
