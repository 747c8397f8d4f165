"""What was learned and how surely, against plain NumPy on the export, and where nothing is sure."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from litestar.testing import TestClient
from served import BY, SPECIFICATION, Clock, Start, create, decide, reward

from greedyfirst.agent.intervals import PENALTIES

RANGE = {"low": -2.0, "high": 2.0}


def live(client: TestClient[Any], n: int = 40, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for number in range(n):
        age = round(float(rng.normal(60, 10)), 1)
        made = decide(client, {"age": age, "sex": "fm"[number % 2]})
        better = 0.5 if made["arm"] == "high" else 0.0
        value = float(np.clip(better + rng.normal(0, 0.3), -2, 2))
        reward(client, made["decision_id"], value)


def effects(client: TestClient[Any], **query: str) -> Any:
    answer = client.get("/v1/policies/dose/effects", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows_of(client: TestClient[Any], arm: str) -> tuple[Any, Any]:
    """The contexts and rewards of an arm, from the export."""
    frame = pd.read_parquet(io.BytesIO(client.get("/v1/policies/dose/export").content))
    own = frame[(frame["arm"] == arm) & frame["learned"].notna()]
    age, male = (own["context.age"] - 60) / 10, own["context.sex"] == "m"
    return np.column_stack([np.ones(len(own)), age, male]), own["learned"].to_numpy()


def interval(x: Any, y: Any, row: Any, sigma: float, n_arms: int) -> tuple[float, float, float]:
    """By the formula, where all features are of the unit 1."""
    gram = x.T @ x
    inverse = np.linalg.inv(gram)
    doubt = math.log(n_arms * len(PENALTIES) / 0.05) + len(row) * math.log(2)
    halves = []
    for penalty in PENALTIES:
        wider = gram + penalty * np.eye(len(row))
        radius = math.log(np.linalg.det(wider) / penalty ** len(row)) + 2 * doubt
        halves.append(sigma * math.sqrt(radius * (row @ inverse @ wider @ inverse @ row)))
    middle = row @ inverse @ x.T @ y
    return middle, middle - min(halves), middle + min(halves)


def test_effects_against_the_formula(start: Start) -> None:
    with start() as client:
        create(client, reward_range=RANGE)
        live(client)
        found = effects(client, against="high")
        ends = {
            (arm, place): interval(*rows_of(client, arm), np.eye(3)[place], 2.0, 2)
            for arm in ("low", "high")
            for place in range(3)
        }
    assert (found["rewards"], found["against"]) == (40, "high")
    basis = found["basis"]
    assert (basis["sigma"], basis["sigma_known"], basis["level"]) == (2.0, True, 0.95)
    assert [each["meaning"] for each in found["effects"][:3]] == [
        *("base level", "age, 10 more", "sex: m instead of f")
    ]
    for number, each in enumerate(found["effects"]):
        shown, place = each["effect"], number % 3
        expected = ends[each["arm"], place]
        assert [shown["estimate"], shown["low"], shown["high"]] == pytest.approx(expected)
        if each["arm"] == "low":
            other = ends["high", place]
            difference = [expected[0] - other[0], expected[1] - other[2], expected[2] - other[1]]
            told = each["difference"]
            assert [told["estimate"], told["low"], told["high"]] == pytest.approx(difference)
        else:
            assert each["difference"] is None


def test_a_decision_against_the_formula(start: Start) -> None:
    with start() as client:
        create(client, reward_range=RANGE)
        live(client)
        found = client.get("/v1/decisions/dose:7/intervals").json()
        context = client.get("/v1/decisions/dose:7").json()["context"]
        row = np.array([1.0, (context["age"] - 60) / 10, context["sex"] == "m"])
        ends = {arm: interval(*rows_of(client, arm), row, 2.0, 2) for arm in ("low", "high")}
        page = " ".join(client.get("/decisions/dose:7").text.split())
        expected = client.app.state.service.deployments["dose"].agent.expected_rewards(row)
    for each, value in zip(found["arms"], expected, strict=True):
        shown = each["interval"]
        assert [shown["estimate"], shown["low"], shown["high"]] == pytest.approx(ends[each["arm"]])
        assert each["expected"] == pytest.approx(value)
    chosen, other = found["chosen"], found["next_best"]
    assert {chosen, other} == {"low", "high"}
    difference = found["difference"]
    assert difference["low"] == pytest.approx(ends[chosen][1] - ends[other][2])
    assert difference["high"] == pytest.approx(ends[chosen][2] - ends[other][1])
    assert f"{chosen} less {other}, the next best today" in page
    assert "The two are not told apart yet." in page
    assert "Standard error" not in page


def test_the_next_best_arm_might_have_been_taken(start: Start) -> None:
    with start() as client:
        create(client, arms=["low", "middle", "high", "gone"], reward_range=RANGE)
        live(client)
        decide(client, eligible_arms=["low", "middle"])
        client.post("/v1/policies/dose/retirements", json={"arm": "gone", **BY}).raise_for_status()
        found = client.get("/v1/decisions/dose:41/intervals").json()
        assert {found["chosen"], found["next_best"]} == {"low", "middle"}
        decide(client, eligible_arms=["high"])
        alone = client.get("/v1/decisions/dose:42/intervals").json()
        assert (alone["next_best"], alone["difference"]) == (None, None)
        anyone = client.get("/v1/decisions/dose:1/intervals").json()
        assert anyone["next_best"] != "gone"


def test_an_erased_decision_has_none(start: Start) -> None:
    with start() as client:
        create(client, reward_range=RANGE)
        live(client, 4)
        client.post("/v1/decisions/dose:2/erasure", json=BY).raise_for_status()
        found = client.get("/v1/decisions/dose:2/intervals").json()
        assert client.get("/decisions/dose:2").status_code == 200
    assert found["arms"] == []
    assert "erased" in found["basis"]["sentence"]


def test_a_context_of_earlier_features_is_filled(start: Start) -> None:
    weight = {"kind": "numeric", "name": "weight"}
    with start() as client:
        create(client, reward_range=RANGE)
        live(client, 12)
        features = [*SPECIFICATION["features"], weight]
        body = {"features": features, "fill": {"weight": 1.0}, **BY}
        client.put("/v1/policies/dose/schema", json=body).raise_for_status()
        found = client.get("/v1/decisions/dose:1/intervals").json()
        assert len(effects(client)["effects"]) == 2 * 4
    assert all(each["interval"]["low"] is not None for each in found["arms"])


def test_without_both_ends_of_a_range_the_scale_is_estimated(start: Start) -> None:
    with start() as client:
        create(client, reward_range={"low": -2.0})
        live(client)
        basis = effects(client)["basis"]
    assert not basis["sigma_known"]
    assert basis["sigma"] == pytest.approx(0.3, rel=0.3)
    assert (
        "is estimated, since the specification has no reward_range with both ends"
        in (basis["sentence"])
    )
    assert "No interval yet for low: its" in basis["sentence"]


def test_estimated_noise_has_intervals_once_it_shows(start: Start) -> None:
    """Each arm's, by what is left of its rewards; the sentence names what is not covered."""
    with start() as client:
        create(client, policy={"policy": "EpsilonGreedy", "options": {"epsilon": 0.9}})
        live(client, 250)
        found = effects(client)
        fewest = min(len(rows_of(client, arm)[1]) for arm in ("low", "high"))
        today = client.get("/v1/decisions/dose:7/intervals").json()
        agent = client.app.state.service.deployments["dose"].agent
        expected = agent.intervals(np.eye(3))
    rarest = f"They do not cover events rarer than 1 in {fewest // 3} rewards of an arm."
    assert rarest in found["basis"]["sentence"]
    assert rarest in today["basis"]["sentence"]
    lows = [each["effect"]["low"] for each in found["effects"]]
    assert lows == pytest.approx(expected.low.T.ravel().tolist())
    assert np.isfinite(lows).all()


def test_a_reward_that_a_person_confirmed_outside_ends_the_bound(start: Start) -> None:
    with start() as client:
        create(client, reward_range=RANGE | {"outside": "hold"})
        live(client)
        assert effects(client)["basis"]["sigma_known"]
        assert reward(client, decide(client)["decision_id"], 9.0) == "held"
        assert effects(client)["basis"]["sigma_known"]
        body = {"value": 9.0, **BY}
        client.post("/v1/decisions/dose:41/correction", json=body).raise_for_status()
        basis = effects(client)["basis"]
        assert not basis["sigma_known"]
        assert "a person confirmed a reward outside the range" in basis["sentence"]
        client.post("/v1/decisions/dose:41/correction", json=body | {"value": None})
        assert effects(client)["basis"]["sigma_known"]


def test_a_sum_of_parts_has_no_bound(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, reward_range=RANGE, rewards="sum", reward_wait=10)
        live(client, 10)
        clock.now += 11
        decide(client)
        basis = effects(client)["basis"]
    assert not basis["sigma_known"]
    assert "whose number has no bound" in basis["sentence"]


def test_rewards_that_are_all_alike_tell_nothing(start: Start) -> None:
    with start() as client:
        create(client)
        for _ in range(5):
            reward(client, decide(client)["decision_id"], 0.5)
        found = effects(client)
    assert found["basis"]["sigma"] is None
    assert "No noise has been seen yet" in found["basis"]["sentence"]
    assert all(each["effect"]["low"] is None for each in found["effects"])


NONE = [
    ({"policy": "GLMGreedy", "options": {}}, "The intervals that hold at all times are for linear"),
    ({"policy": "ThompsonSampling", "options": {}}, "ThompsonSampling with these options does not"),
    ({"policy": "Greedy", "options": {"warmup": "none"}}, "the policy’s model does not estimate"),
]


@pytest.mark.parametrize(("policy", "sentence"), NONE)
def test_where_there_are_no_intervals_a_sentence_says_why(
    start: Start, policy: Any, sentence: str
) -> None:
    with start() as client:
        create(client, policy=policy)
        for number in range(6):
            made = decide(client, {"age": 50 + number, "sex": "fm"[number % 2]})
            reward(client, made["decision_id"], number % 2)
        found = effects(client)
        made = client.get("/v1/decisions/dose:3/intervals").json()
        agent = client.app.state.service.deployments["dose"].agent
        estimate = np.asarray(agent.state.model.estimate)
        pages = [
            client.get(f"/{page}").text for page in ("policies/dose/effects", "decisions/dose:3")
        ]
    assert sentence in found["basis"]["sentence"]
    assert [each["effect"]["estimate"] for each in found["effects"]] == pytest.approx(
        estimate.ravel()
    )
    for shown in [each["effect"] for each in found["effects"]] + [
        each["interval"] for each in made["arms"]
    ]:
        assert (shown["low"], shown["high"]) == (None, None)
    assert all(sentence in " ".join(page.split()) for page in pages)


def test_an_arm_that_there_is_not_is_refused(client: TestClient[Any]) -> None:
    answer = client.get("/v1/policies/dose/effects?against=none")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "against must be an arm of dose, got 'none'"


def test_a_wide_policy_is_looked_at_in_a_thread(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start() as client:
        create(client, reward_range=RANGE)
        live(client, 12)
        before = effects(client), client.get("/v1/decisions/dose:3/intervals").json()
        kinds = []
        workers = client.app.state.service.workers
        run = workers.run

        async def noted(kind: str, *job: Any) -> Any:
            kinds.append(kind)
            return await run(kind, *job)

        monkeypatch.setattr(workers, "run", noted)
        monkeypatch.setattr("greedyfirst.service.read_requests.wide", lambda agent: True)
        assert (effects(client), client.get("/v1/decisions/dose:3/intervals").json()) == before
    assert kinds == ["report", "report"]


def test_the_page_compares_with_any_arm(start: Start) -> None:
    with start() as client:
        create(client, reward_range=RANGE)
        live(client, 12)
        page = client.get("/policies/dose/effects", params={"against": "high"}).text
    assert "Compare with:" in page
    assert "<strong>high</strong>" in page
    assert "Less that of high" in page
    assert "age, 10 more" in page
