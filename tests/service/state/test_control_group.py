"""A control share: who is in it, what is learned from it, and that it survives everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from litestar.testing import TestClient
from msgspec.structs import replace
from served import BY, Clock, Start, create, decide, reward, running, view
from test_corrections import adds_up, correct, is_restored
from test_erasure import erase, restored

from greedyfirst import Agent, EpsilonGreedy, Greedy, OLSBandit
from greedyfirst.evaluation import LoggedData, arm_values
from greedyfirst.evaluation.control import Comparison, in_control
from greedyfirst.service.log.events import Decided
from greedyfirst.service.state import restoring

AGE = {"kind": "numeric", "name": "age", "mean": 60, "scale": 10}
ARMS = ["low", "middle", "high"]
ALWAYS_LOW = {"arm": "low", "share": 0.3}
BANDIT = {"share": 0.3, "policy": {"policy": "OLSBandit", "options": {"h": 2.0, "q": 1}}}
EPSILON = {"policy": "EpsilonGreedy", "options": {"epsilon": 0.4, "warmup": "none"}}
PLAIN = {"arms": ARMS, "features": [AGE], "policy": EPSILON, "seed": 5}
SEED = 5
PERSON = {"age": 50.0}


def contexts(n: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(3)
    return [{"age": float(age)} for age in rng.normal(60, 10, n).round(2)]


def paid(arm: str, age: float) -> float:
    return round(ARMS.index(arm) / 4 + (age - 60) / 50, 4)


def live(client: TestClient[Any], n: int, first: int = 0) -> list[dict[str, Any]]:
    """Decisions, each with its reward; their answers with context and reward."""
    made = []
    for context in contexts(first + n)[first:]:
        answer = decide(client, context)
        value = paid(answer["arm"], context["age"])
        reward(client, answer["decision_id"], value)
        made.append(answer | {"age": context["age"], "reward": value})
    return made


def compared(rows: list[dict[str, Any]], share: float = 0.3, **limits: Any) -> Comparison:
    expected = Comparison(share=share, **limits)
    for row in rows:
        if row["group"] is not None:
            expected.add(row["group"], row["reward"])
    return expected


def assert_shown(client: TestClient[Any], expected: Comparison) -> None:
    shown = view(client)["control"]
    found = expected.advantage()
    assert shown["sentence"] == expected.sentence()
    assert shown["verdict"] == expected.verdict()
    assert shown["advantage"] == (None if found is None else found.value)
    assert shown["policy"]["rewards"] == expected.policy.count
    assert shown["control"]["mean_reward"] == expected.control.mean


def encoded(row: dict[str, Any]) -> np.ndarray:
    return np.array([1.0, (row["age"] - 60) / 10])


@pytest.fixture
def always_low(start: Start) -> Iterator[TestClient[Any]]:
    with start() as client:
        create(client, **PLAIN, control=ALWAYS_LOW)
        yield client


def test_groups_are_drawn_by_seed_and_step_and_propensities_are_exact(
    always_low: TestClient[Any], path: Path
) -> None:
    """The policy is played beside it, on what it may learn: its probabilities, and the mixture."""
    rows = live(always_low, 120)
    twin = Agent(EpsilonGreedy(epsilon=0.4, warmup="none"), n_arms=3, n_features=2, seed=SEED)
    for step, row in enumerate(rows, 1):
        own = twin.probabilities(encoded(row))
        expected = 0.3 * np.array([1.0, 0.0, 0.0]) + 0.7 * own
        told = [row["propensities"].get(arm, 0.0) for arm in ARMS]
        assert told == pytest.approx(expected, abs=1e-12)
        assert row["propensity"] == told[ARMS.index(row["arm"])]
        arm = twin.choose(encoded(row))
        control = in_control(SEED, step, 0.3)
        assert row["group"] == ("control" if control else "policy")
        assert row["arm"] == ("low" if control else ARMS[arm])
        assert (row["mode"] == "control") is control
        if not control:
            twin.update(encoded(row), arm, row["reward"], step=step)
    in_control_group = sum(row["group"] == "control" for row in rows)
    assert 20 < in_control_group < 55  # 36 ± 3.5 standard deviations; the seed is fixed
    shown = adds_up(always_low)
    assert (shown["joined"], shown["not_learned"]) == (120 - in_control_group, in_control_group)
    assert_shown(always_low, compared(rows))
    for step in (1, 60, 120):
        assert always_low.get(f"/v1/decisions/dose:{step}/replay").json()["same"]


def test_a_control_policy_lives_on_its_own_share(start: Start, path: Path) -> None:
    """As an agent alone would that gets these people only; the policy never learns from them."""
    with start() as client:
        create(client, **PLAIN, control=BANDIT)
        rows = live(client, 150)
        seed = client.app.state.service.deployments["dose"].control.agent.seed
        alone = Agent(OLSBandit(h=2.0, q=1), n_arms=3, n_features=2, seed=seed)
        policy = Agent(EpsilonGreedy(epsilon=0.4, warmup="none"), n_arms=3, n_features=2, seed=SEED)
        for row in rows:
            x, own = encoded(row), policy.choose(encoded(row))
            chances = 0.3 * alone.probabilities(x) + 0.7 * policy.propensities
            assert row["propensity"] == pytest.approx(chances[ARMS.index(row["arm"])], abs=1e-12)
            if row["group"] == "control":
                arm = alone.choose(x)
                assert ARMS[arm] == row["arm"]
                alone.update(x, arm, row["reward"])
            else:
                assert ARMS[own] == row["arm"]
                policy.update(x, own, row["reward"], step=row["step"])
        assert_shown(client, compared(rows))
    is_restored(path)


def test_the_policy_learns_from_the_control_group_if_asked(start: Start, path: Path) -> None:
    with start() as client:
        create(
            client,
            **PLAIN | {"policy": {"policy": "Greedy", "options": {}}},
            control=ALWAYS_LOW | {"learn": True},
        )
        rows = live(client, 60)
        shown = adds_up(client)
        assert (shown["joined"], shown["not_learned"]) == (60, 0)
        agent = Agent(Greedy(), n_arms=3, n_features=2, seed=SEED)
        for row in rows:
            agent.update(encoded(row), ARMS.index(row["arm"]), row["reward"])
        told = decide(client, {"age": 70.0})["expected_rewards"]
        assert [*told.values()] == pytest.approx(agent.expected_rewards([1.0, 1.0]), abs=1e-9)
    is_restored(path)


@pytest.mark.parametrize("control", [ALWAYS_LOW, BANDIT, BANDIT | {"learn": True}])
def test_corrections_erasures_features_arms_and_restarts(path: Path, control: Any) -> None:
    """The comparison is that of the rewards as they stand; a restart makes the same state."""
    clock = Clock()
    with running(path, clock) as client:
        create(client, **PLAIN, control=control)
        rows = live(client, 40)
        first = {
            group: next(row for row in rows if row["group"] == group)
            for group in ("control", "policy")
        }
        for row in first.values():
            assert correct(client, row["step"], row["reward"] + 1).status_code == 201
            row["reward"] += 1
        assert_shown(client, compared(rows))
        void = [row for row in rows if row["group"] == "control"][1]
        assert correct(client, void["step"], None).status_code == 201
        rows.remove(void)
        assert_shown(client, compared(rows))
        adds_up(client)
    with running(path, clock) as client:
        gone = [row for row in rows if row["group"] == "control"][2]
        assert erase(client, gone["step"]).status_code == 201
        rows.remove(gone)
        assert_shown(client, compared(rows))
        body = {"features": [AGE | {"scale": 5}], **BY}
        assert client.put("/v1/policies/dose/schema", json=body).status_code == 200
        assert_shown(client, compared(rows))
        body = {"arm": "very high", "initial_pulls": 2, **BY}
        assert client.post("/v1/policies/dose/arms", json=body).status_code == 201
        for _ in range(8):
            decide(client, PERSON)
        shown = adds_up(client)
        awaited = shown["control"]["policy"]["awaited"] + shown["control"]["control"]["awaited"]
        assert awaited == shown["pending"] == 8
    since = gone["step"] + 1, 40
    restored(path, (48 - 1 - (since[1] - since[0] + 1), 0, since[1] - since[0] + 2))


def test_where_current_practice_is_not_allowed_the_policy_decides(
    always_low: TestClient[Any], path: Path
) -> None:
    for _ in range(12):
        told = decide(always_low, {"age": 50.0}, eligible_arms=["middle", "high"])
        assert (told["group"], told["arm"] != "low") == (None, True)
        assert sum(told["propensities"].values()) == pytest.approx(1.0)
        reward(always_low, told["decision_id"], 1.0)
    shown = adds_up(always_low)
    assert (shown["joined"], shown["control"]["left_out"]) == (12, 12)
    assert shown["control"]["policy"]["decisions"] == 0
    page = always_low.get("/decisions/dose:1").text
    assert "left out of the comparison" in page
    body = {"arm": "low", **BY}
    assert always_low.post("/v1/policies/dose/retirements", json=body).status_code == 201
    assert {decide(always_low, PERSON)["group"] for _ in range(9)} == {None}
    assert always_low.post("/v1/policies/dose/reinstatements", json=body).status_code == 201
    assert {decide(always_low, PERSON)["group"] for _ in range(12)} == {"policy", "control"}
    assert view(always_low)["control"]["left_out"] == 21


def test_a_dropped_arm_is_dropped_for_the_control_policy_too(start: Start) -> None:
    with start() as client:
        uniform = {"share": 0.5, "policy": {"policy": "Uniform", "options": {}}}
        create(client, **PLAIN, control=uniform)
        body = {"arm": "low", **BY}
        assert client.post("/v1/policies/dose/retirements", json=body).status_code == 201
        made = [decide(client, PERSON, eligible_arms=["low", "high"]) for _ in range(9)]
        assert {each["arm"] for each in made} == {"high"}
        assert {each["propensity"] for each in made} == {1.0}
        assert {each["group"] for each in made} == {"policy", "control"}


def test_with_a_range_the_interval_is_exact_until_a_reward_is_outside(start: Start) -> None:
    with start() as client:
        limits = {"low": -1, "high": 2, "outside": "hold"}
        create(client, **PLAIN, control=ALWAYS_LOW, reward_range=limits)
        rows = live(client, 30)
        assert_shown(client, compared(rows, low=-1.0, high=2.0))
        assert view(client)["control"]["method"] == "bounded"
        told = decide(client, PERSON)
        assert reward(client, told["decision_id"], 5.0) == "held"
        assert view(client)["control"]["method"] == "bounded"
        correct(client, 31, 5.0)
        assert view(client)["control"]["method"] == "asymptotic"


def test_a_default_counts_and_a_missing_reward_does_not(path: Path) -> None:
    clock = Clock()
    for default in (None, 0.25):
        file = path.with_name(f"{default}.db")
        with running(file, clock) as client:
            create(client, **PLAIN, control=ALWAYS_LOW, reward_wait=10, default_reward=default)
            made = [decide(client, PERSON) for _ in range(20)]
            clock.now += 11
            assert correct(client, 99, None).status_code == 404  # any request ends waits
            shown = adds_up(client)["control"]
            in_control_group = sum(each["group"] == "control" for each in made)
            assert shown["control"]["decisions"] == in_control_group
            assert shown["control"]["awaited"] == shown["policy"]["awaited"] == 0
            assert shown["control"]["rewards"] == (0 if default is None else in_control_group)
        is_restored(file)


def test_the_export_has_groups_and_every_arms_propensity(
    always_low: TestClient[Any], tmp_path: Path
) -> None:
    rows = live(always_low, 25)
    body = {"arm": "very high", **BY}
    always_low.post("/v1/policies/dose/arms", json=body)
    file = tmp_path / "export.parquet"
    file.write_bytes(always_low.get("/v1/policies/dose/export").content)
    frame = pd.read_parquet(file)
    assert frame["group"].tolist() == [row["group"] for row in rows]
    assert frame["learned"].tolist() == [row["reward"] for row in rows]  # the control group's too
    for arm in ARMS:
        told = frame[f"propensity.{arm}"].tolist()
        assert told == [row["propensities"].get(arm, 0.0) for row in rows]
    assert (frame["propensity.very high"] == 0.0).all()
    columns = {"arm": "arm", "reward": "learned", "propensity": "propensity"}
    used = [name for name in frame if name.startswith(("propensity.", "context."))]
    found = arm_values(LoggedData.from_table(frame[[*columns.values(), *used]], **columns))
    assert found["low"].decisions == 5


def test_pages_say_how_it_compares(always_low: TestClient[Any]) -> None:
    rows = live(always_low, 30)
    page = always_low.get("/policies/dose").text
    assert compared(rows).sentence() in page
    assert "always low" in page
    assert "30.0 % of decisions" in page
    assert "has nothing to do with the group" in page
    step = next(row["step"] for row in rows if row["group"] == "control")
    page = " ".join(always_low.get(f"/decisions/dose:{step}").text.split())
    assert "current practice chose <strong>low</strong>" in page
    assert "It is in the control group" in page
    assert "it is compared, and the policy does not learn from it" in page


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ({"share": 0.1}, "control must have an arm or a policy"),
        (ALWAYS_LOW | BANDIT, "control must have an arm or a policy"),
        ({"arm": "nix", "share": 0.1}, "control.arm must be one of low, middle, high, got 'nix'"),
        ({"arm": "low", "share": 0.0}, "share"),
        ({"arm": "low", "share": 1.0}, "share"),
        ({"arm": "low"}, "share"),
        ({"share": 0.1, "policy": {"policy": "Nix"}}, "control: policy must be one of"),
        (
            {"share": 0.1, "policy": {"options": {"on_alarm": "drop"}}},
            "control.policy must not drop arms",
        ),
    ],
)
def test_a_control_share_that_cannot_run_is_refused(start: Start, control: Any, said: str) -> None:
    with start() as client:
        answer = client.post("/v1/policies", json={"name": "dose", **PLAIN, "control": control})
        assert answer.status_code == 422
        assert said in answer.json()["detail"]
        assert client.get("/v1/policies").json() == []


def test_a_reward_that_the_control_policy_cannot_learn_is_refused(start: Start) -> None:
    with start() as client:
        clicks = {"share": 0.3, "policy": {"policy": "GLMGreedy", "options": {}}}
        create(client, **PLAIN, control=clicks)
        told = decide(client, PERSON)
        answer = client.put(f"/v1/decisions/{told['decision_id']}/reward", json={"value": 1.5})
        assert answer.status_code == 422
        assert reward(client, told["decision_id"], 1.0) == "counted"


def test_the_same_specification_again_is_no_error(always_low: TestClient[Any]) -> None:
    specification = {"name": "dose", **PLAIN, "control": ALWAYS_LOW}
    assert always_low.post("/v1/policies", json=specification).status_code == 200
    other = specification | {"control": ALWAYS_LOW | {"share": 0.2}}
    assert always_low.post("/v1/policies", json=other).status_code == 409


def test_what_older_logs_lack_is_no_mismatch(always_low: TestClient[Any]) -> None:
    """A log from before every arm's propensity was recorded: a decision made again is the same."""
    live(always_low, 3)
    entries = always_low.app.state.service.log.read("dose")
    decided = next(entry.event for entry in entries if isinstance(entry.event, Decided))
    made = decided.answer
    older = replace(made, propensities={})
    assert restoring._as_logged(made, replace(decided, answer=older)) == older
    other = replace(made, propensities={"high": 1.0})
    assert restoring._as_logged(made, replace(decided, answer=other)) != other
