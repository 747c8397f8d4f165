"""Restart and replay: the state from the log equals the one that was lost, bit for bit."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from litestar.testing import TestClient
from served import BY, SPECIFICATION, Clock, Start, at_once, create, decide, reward, running, view

from greedyfirst import GreedyFirst, simulate
from greedyfirst.problems.problem import Draw
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state import restoring, snapshots
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.specification import NumericFeature, Specification

HORIZON = 400
OPTIONS = {"t0": 40, "lambda0": 0.12, "span": "full"}


class Fixed:
    """One draw of contexts (1, x, y) and rewards; the second arm wins ever more rarely."""

    n_arms, n_features = 2, 3

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        contexts = np.column_stack([np.ones(HORIZON), rng.normal(size=(HORIZON, 2))])
        parameters = np.array([[1.0, 0.5, 0.0], [-0.4, 0.0, 0.5]])
        expected = contexts @ parameters.T
        rewards = expected + 0.3 * rng.normal(size=(HORIZON, 1))
        self.tables = Draw(contexts, rewards, expected.max(axis=1, keepdims=True) - expected)

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        return self.tables


def decision_seed(seed: int) -> int:
    """The seed of the first instance's decisions in ``simulate``."""
    source = np.random.SeedSequence(seed, spawn_key=(0,))
    return int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))


@pytest.mark.parametrize("delay", [0, 7])
def test_the_switch_fires_when_it_does_in_simulate_and_once(
    path: Path, delay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greedyfirst.service.service.SNAPSHOT_EVERY", 150)
    problem = Fixed()
    result = simulate(
        problem, {"GF": GreedyFirst(**OPTIONS)}, n_instances=1, horizon=HORIZON, seed=3
    )
    expected = int(result.switched_at[0, 0])
    assert OPTIONS["t0"] < expected < HORIZON
    specification = Specification(
        name="gf",
        arms=("first", "second"),
        features=(NumericFeature(name="x"), NumericFeature(name="y")),
        policy=PolicyDescription(options=OPTIONS),
        on_alarm="explore",
        seed=decision_seed(3),
    )

    async def run(first: int, last: int) -> list[str]:
        service = DecisionService(lambda: SqliteLog(path))
        await service.start()
        await service.admin.create(specification)
        modes, waiting = [], list[tuple[str, float]]()
        for context, rewards in list(
            zip(problem.tables.contexts, problem.tables.rewards, strict=True)
        )[first:last]:
            answer = await service.decide("gf", {"x": float(context[1]), "y": float(context[2])})
            modes.append(answer.mode)
            paid = float(rewards[0 if answer.arm == "first" else 1])
            waiting.append((answer.decision_id, paid))
            if len(waiting) > delay:
                await service.reward(*waiting.pop(0))
        for late in waiting:
            await service.reward(*late)
        alarms = [
            entry.event
            for entry in await service.reading.audit("gf", None, 100)
            if entry.kind == "alarmed"
        ]
        report = service.deployments["gf"].agent.diversity()
        await service.stop()
        if not delay and last >= expected:
            assert report.switched_at == expected
            assert [alarm.rewards for alarm in alarms] == [expected]
            assert alarms[0].arm == report.culprit
        assert len(alarms) == (report.switched_at is not None)
        return modes

    middle = expected + 20
    modes = asyncio.run(run(0, expected - 5)) + asyncio.run(run(expected - 5, middle))
    modes += asyncio.run(run(middle, HORIZON))
    if not delay:
        assert set(modes[:expected]) == {"greedy"}
        assert "greedy" not in modes[expected:]


def test_waiting_for_rewards_trips_no_alarm(start: Start) -> None:
    """t counts rewards that came, not decisions: delay alone says nothing about diversity."""
    policy = {"policy": "GreedyFirst", "options": {"t0": 10, "lambda0": 0.2}}
    with start() as client:
        create(client, policy=policy)
        rng = np.random.default_rng(1)
        for _ in range(60):  # far beyond t0
            decide(client, {"age": 60 + 10 * rng.normal(), "sex": "fm"[rng.integers(2)]})
        shown = client.get("/v1/policies/dose/diversity").json()
        assert shown["rewards"] == 0
        assert shown["culprit"] is None
        for step in range(1, 12):
            reward(client, f"dose:{step}", 1.0)
        after = client.get("/v1/policies/dose/diversity").json()
        assert after["rewards"] == 11
        # One arm has got all samples: the other one trips the test as soon as there may be one.
        assert [alarm["rewards"] for alarm in after["open_alarms"]] == [11]


def test_a_restart_takes_the_snapshot_and_the_rest(
    path: Path, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SqliteLog(path)
    newest = log.snapshot("dose")
    assert newest is not None
    whole = restoring.restore(log, "dose", snapshots=False)
    assert whole[0].mismatches == 0
    # From every snapshot that is left: its state, and what came after.
    before = None
    taken = 0
    while (kept := log.snapshot("dose", before)) is not None:
        monkeypatch.setattr(log, "snapshot", lambda *_, kept=kept: kept)
        again, done = restoring.restore(log, "dose")
        monkeypatch.undo()
        assert snapshots.save(again)() == snapshots.save(whole[0])()
        assert done == whole[1]
        before, taken = kept[0], taken + 1
    assert taken == 4
    log.close()


def test_a_snapshot_that_cannot_be_read_is_left_out(path: Path, work: Any, start: Start) -> None:
    log = SqliteLog(path)
    log.save_snapshot("dose", log.last()[0], b"rubbish")
    log.close()
    with start() as client:
        assert view(client) == work


def test_a_snapshot_that_was_changed_is_not_believed(path: Path, work: Any, start: Start) -> None:
    log = SqliteLog(path)
    newest = log.snapshot("dose")
    assert newest is not None
    older = log.snapshot("dose", newest[0])
    assert older is not None
    assert log.changed_snapshots() == []
    log.close()
    state = msgspec.msgpack.decode(newest[1], type=snapshots.SavedState)
    forged = msgspec.msgpack.encode(msgspec.structs.replace(state, pending=(b"", b"")))
    with sqlite3.connect(path) as other:
        row = other.execute("SELECT content FROM snapshots WHERE seq = ?", (newest[0],)).fetchone()
        sealed = row[0].removesuffix(newest[1]) + forged
        other.execute("UPDATE snapshots SET content = ? WHERE seq = ?", (sealed, newest[0]))
    other.close()
    log = SqliteLog(path)
    assert log.snapshot("dose") == older
    assert log.changed_snapshots() == [("dose", newest[0])]
    log.close()
    with sqlite3.connect(path) as other:  # the right content, but of another entry
        move = "UPDATE snapshots SET content = (SELECT content FROM snapshots WHERE seq = ?)"
        other.execute(f"{move} WHERE seq = ?", (older[0], newest[0]))
    other.close()
    log = SqliteLog(path)
    assert log.snapshot("dose") == older
    log.close()
    with start() as client:
        assert view(client) == work


def test_the_last_decisions_come_out_the_same(path: Path, work: Any) -> None:
    log = SqliteLog(path)
    assert restoring.recompute_last(log, "dose", 10_000) == (250, 0, 0)
    assert restoring.recompute_last(log, "dose", 100) == (100, 0, 0)
    assert restoring.recompute_last(log, "dose", 0) == (0, 0, 0)
    log.close()


def test_a_decision_that_differs_from_the_log_is_told(path: Path, work: Any) -> None:
    log = SqliteLog(path)
    rows = list(log.read("dose"))
    log.close()
    forged = rows[0]._replace(body=rows[0].body.replace(b'"seed":1', b'"seed":2'))
    other = SqliteLog(path.with_name("forged.db"))
    other.append([forged, *rows[1:]])
    count, differ, _ = restoring.recompute_last(other, "dose", 1000)
    assert count == 250
    assert differ > 0
    other.close()


def test_replays_of_single_decisions(work: Any, start: Start) -> None:
    with start() as client:
        for step in (1, 77, 140, 250):
            answer = client.get(f"/v1/decisions/dose:{step}/replay").json()
            assert answer["same"]
            assert answer["logged"] == answer["replayed"]
            assert answer["logged"]["step"] == step


def test_long_reads_beside_requests(path: Path, work: Any) -> None:

    async def run() -> None:
        async with at_once(path) as (client, _):
            context = {"age": 50, "sex": "m", "weight": 1}
            slow = [client.get(f"/v1/decisions/dose:{step}/replay") for step in (100, 249)]
            slow += [client.get("/v1/policies/dose/export") for _ in range(2)]
            quick = [
                client.post("/v1/policies/dose/decisions", json={"context": context})
                for _ in range(50)
            ]
            answers = await asyncio.gather(*slow, *quick)
            assert {answer.status_code for answer in answers} == {200, 201}

    asyncio.run(run())


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A log of some of everything, and the policy as it stands in the end."""
    rng = np.random.default_rng(2)
    policy = {"policy": "GreedyFirst", "options": {"t0": 20}}
    path = tmp_path_factory.mktemp("worked") / "log.db"
    with pytest.MonkeyPatch.context() as patched, running(path, Clock()) as client:
        patched.setattr("greedyfirst.service.service.SNAPSHOT_EVERY", 50)
        create(client, policy=policy)
        _decide(client, rng, 120)
        client.post("/v1/policies/dose/arms", json={"arm": "middle", **BY})
        rows = [{"context": {"age": 41.5, "sex": "f"}, "arm": "middle", "reward": 0.5}] * 3
        client.post("/v1/policies/dose/history", json={"rows": rows, **BY})
        _decide(client, rng, 30)
        features = [*SPECIFICATION["features"], {"kind": "numeric", "name": "weight"}]
        body = {"features": features, "fill": {"weight": 0}, **BY}
        assert client.put("/v1/policies/dose/schema", json=body).status_code == 200
        _decide(client, rng, 60, weight=0.5)
        explore = {"arm": "low", "resolution": "explore", **BY}
        assert client.post("/v1/policies/dose/resolutions", json=explore).status_code == 201
        client.post("/v1/policies/dose/retirements", json={"arm": "high", **BY})
        _decide(client, rng, 40, weight=0.25)
        shown = view(client)
    return path, shown


@pytest.fixture
def work(worked: tuple[Path, Any], path: Path) -> Any:
    """That log, copied to ``path``; the policy as it stands."""
    shutil.copy(worked[0], path)
    return worked[1]


def _decide(client: TestClient[Any], rng: Any, times: int, **more: float) -> None:
    for _ in range(times):
        context = {"age": 60 + 10 * rng.normal(), "sex": "fm"[rng.integers(2)], **more}
        decision = decide(client, context)
        if rng.random() < 0.9:
            reward(client, decision["decision_id"], float(rng.normal()))


@pytest.mark.nightly
def test_ten_thousand_decisions_come_out_the_same(path: Path) -> None:
    async def run() -> None:
        service = DecisionService(lambda: SqliteLog(path))
        await service.start()
        await service.admin.create(
            Specification(
                name="p",
                arms=("a", "b", "c"),
                features=tuple(NumericFeature(name=f"x{i}") for i in range(5)),
                seed=1,
            )
        )

        async def caller(number: int) -> None:
            rng = np.random.default_rng(number)
            for _ in range(375):
                context = {f"x{i}": float(x) for i, x in enumerate(rng.normal(size=5))}
                decision = await service.decide("p", context)
                await service.reward(decision.decision_id, float(rng.normal()))

        await asyncio.gather(*[caller(number) for number in range(32)])
        await service.stop()

    asyncio.run(run())
    log = SqliteLog(path)
    assert restoring.recompute_last(log, "p", 10_000) == (10_000, 0, 0)
    log.close()
