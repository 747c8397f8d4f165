"""A person's features are erased: gone from the file, and the log is still checkable."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, Clock, create, decide, reward, running, view
from test_corrections import adds_up, correct, shown

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import opening, restoring, snapshots

FEATURES = [
    {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
    {"kind": "categorical", "name": "town", "levels": ["Aachen", "Zwolle", "Zzyzx"]},
]
#: Keeps rows in its state.
CLICKS = {"policy": "GLMGreedy", "options": {"initial_pulls": 1}}
SECRET: dict[str, Any] = {"age": 61.73205080756887, "town": "Zzyzx"}
#: As text, and as the encoded number that a state may hold.
TRACES = (b"61.7320508", b'"town":"Zzyzx"', struct.pack("<d", (SECRET["age"] - 60) / 10))


def erase(client: TestClient[Any], step: int, **body: Any) -> Any:
    return client.post(f"/v1/decisions/dose:{step}/erasure", json=BY | body)


def play(client: TestClient[Any], first: int, last: int) -> list[Any]:
    """Decisions of these numbers, each with its reward; number 7 is the person's."""
    made = []
    for step in range(first, last + 1):
        context = {"age": 40 + 3.1 * (step % 11), "town": ("Aachen", "Zwolle")[step % 2]}
        made.append(decide(client, SECRET if step == 7 else context))
        reward(client, f"dose:{step}", float(step % 3 == 0))
    return made


def whole(path: Path) -> bytes:
    """All bytes of the database, the write-ahead log's too."""
    files = [path, path.with_name(path.name + "-wal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


def restored(path: Path, expected: tuple[int, int, int]) -> None:
    """The log is whole; the state from a snapshot equals that from all entries."""
    log = SqliteLog(path)
    assert log.check() > 0
    quick, slow = (restoring.restore(log, "dose", snapshots=kept)[0] for kept in (True, False))
    assert snapshots.save(quick)() == snapshots.save(slow)()
    assert slow.mismatches == 0
    assert restoring.recompute_last(log, "dose", 10_000) == expected
    log.close()


@pytest.mark.parametrize("policy", [CLICKS, {"policy": "GreedyFirst", "options": {}}])
def test_the_features_are_gone_from_the_file_and_from_what_was_learned(
    path: Path, policy: Any
) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, features=FEATURES, policy=policy, arms=["low", "high"])
        play(client, 1, 20)
    with running(path, clock) as client:  # a snapshot holds rows too
        kept = [trace in whole(path) for trace in TRACES]
        assert kept[:2] == [True, True]
        assert kept[2] or policy is not CLICKS
        before = adds_up(client)
        told = erase(client, 7)
        assert told.status_code == 201, told.text
        seen = told.json()
        assert seen["context"] == {}
        assert seen["answer"]["contributions"] == seen["answer"]["expected_rewards"] == {}
        assert (seen["answer"]["decision_id"], seen["answer"]["step"]) == ("dose:7", 7)
        assert (seen["status"], seen["learned"]) == ("voided", None)
        assert (seen["erased"]["who"], seen["erased"]["why"]) == ("Ada", "a test")
        assert seen["rewards"][0]["value"] == 0.0  # id, arm, time and reward stay
        after = adds_up(client)
        assert (after["joined"], after["voided"]) == (before["joined"] - 1, 1)
        for trace in TRACES:
            assert trace not in whole(path)
        made = play(client, 21, 30)
        assert client.get("/decisions/dose:7").status_code == 200
        assert client.get("/policies/dose").status_code == 200
    restored(path, (16, 0, 14))  # 7 itself, and 8 to 20, which were made with what it taught
    for trace in TRACES:
        assert trace not in path.read_bytes()
    other = path.with_name("other.db")
    with running(other, clock) as client:  # the same life, but 7's reward is void from the start
        create(client, features=FEATURES, policy=policy, arms=["low", "high"])
        play(client, 1, 7)
        correct(client, 7, None)
        for step in range(8, 21):
            context = {"age": 40 + 3.1 * (step % 11), "town": ("Aachen", "Zwolle")[step % 2]}
            arm = logged_arm(path, step)
            decide(client, context, eligible_arms=[arm])
            reward(client, f"dose:{step}", float(step % 3 == 0))
        for one, same in zip(made, play(client, 21, 30), strict=True):
            assert one["arm"] == same["arm"]
            assert one["expected_rewards"] == pytest.approx(same["expected_rewards"], rel=1e-9)


def logged_arm(path: Path, step: int) -> str:
    log = SqliteLog(path)
    event: Any = log.about("dose", step)[0].event
    log.close()
    return str(event.answer.arm)


def test_what_can_and_cannot_be_made_again(path: Path) -> None:
    clock = Clock()
    with running(path, clock) as client:
        create(client, features=FEATURES)
        play(client, 1, 6)
        decide(client, SECRET)  # 7, whose reward comes after decision 10
        decide(client, SECRET | {"age": 50})  # 8
        for _ in range(2):
            decide(client, SECRET | {"age": 55})
        reward(client, "dose:7", 1.0)
        for _ in range(3):  # 11 to 13
            decide(client, SECRET | {"age": 55})
        erase(client, 7).raise_for_status()
        decide(client, SECRET | {"age": 55})  # 14
        for step in (1, 6, 8, 10, 14):
            again = client.get(f"/v1/decisions/dose:{step}/replay")
            assert again.json()["same"]
        for step in (11, 13):
            refused = client.get(f"/v1/decisions/dose:{step}/replay")
            assert refused.status_code == 409
            assert "dose:7, whose features were erased later" in refused.json()["detail"]
        refused = client.get("/v1/decisions/dose:7/replay")
        assert refused.status_code == 409
        assert "its features were erased" in refused.json()["detail"]
    restored(path, (10, 0, 4))


@pytest.mark.parametrize("was", ["pending", "defaulted", "missing", "late", "held", "voided"])
def test_whatever_had_come_of_the_decision(path: Path, was: str) -> None:
    clock = Clock()
    with running(path, clock) as client:
        plausible = {"low": 0, "high": 1, "outside": "hold"}
        default = 0.0 if was == "defaulted" else None
        options = {"reward_range": plausible, "reward_wait": 10, "default_reward": default}
        create(client, features=FEATURES, **options)
        for _ in range(3):
            decide(client, SECRET)
        if was == "held":
            reward(client, "dose:2", 9.0)
        if was == "voided":
            reward(client, "dose:2", 1.0)
            correct(client, 2, None)
        if was in ("defaulted", "missing", "late"):
            clock.now += 11
            assert correct(client, 99, None).status_code == 404
        if was == "late":
            reward(client, "dose:2", 1.0)
        assert shown(client, 2)["status"] == was
        told = erase(client, 2)
        assert told.status_code == 201, told.text
        seen = told.json()
        assert seen["status"] == (was if was in ("missing", "late") else "voided")
        adds_up(client)
        assert view(client)["held"] == []
        refused = client.put("/v1/decisions/dose:2/reward", json={"value": 0.25})
        assert refused.status_code == 409
        assert correct(client, 2, 0.5).status_code == 409
        assert erase(client, 2).status_code == 409
    log = SqliteLog(path)
    log.check()
    log.close()
    restored(path, (2, 0, 1))


@pytest.mark.parametrize("said", [[None], [0.25, None], [None, 0.25], [None, 0.25, None]])
def test_a_reward_that_was_void_before_its_decision_was_erased(
    path: Path, said: list[float | None]
) -> None:
    """What came before and after each correction is made again as it was lived."""
    clock = Clock()
    with running(path, clock) as client:
        create(client, features=FEATURES)
        play(client, 1, 12)
        for value in said:
            correct(client, 7, value).raise_for_status()
            play(client, last := view(client)["decisions"] + 1, last + 2)
        erase(client, 7).raise_for_status()
        play(client, last := view(client)["decisions"] + 1, last + 2)
        seen, last = adds_up(client), last + 2
    log = SqliteLog(path)
    log._writer.execute("DELETE FROM snapshots")
    log.close()
    with running(path, clock) as client:
        assert view(client) == seen
        made_again = [not (7 <= step <= 12) for step in range(1, 13)]
        for value in said:
            made_again += [value is None] * 3
        made_again += [True] * 3
        for step, possible in enumerate(made_again, 1):
            again = client.get(f"/v1/decisions/dose:{step}/replay")
            assert again.status_code == (200 if possible else 409)
            assert not possible or again.json()["same"]
    restored(path, (sum(made_again), 0, last - sum(made_again)))


def test_an_erased_decision_is_not_given_again(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        body, key = {"context": SECRET}, {"Idempotency-Key": "k"}
        url = "/v1/policies/dose/decisions"
        assert client.post(url, json=body, headers=key).status_code == 201
        erase(client, 1).raise_for_status()
        again = client.post(url, json=body, headers=key)
        assert again.status_code == 409
        assert "dose:1 was erased" in again.json()["detail"]
        assert erase(client, 9).status_code == 404
        assert erase(client, 1, who="").status_code == 422


def test_no_snapshot_is_made_of_a_state_that_is_not_known(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a start reads the log from an erased decision's reward to its erasure."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 12)
        erase(client, 3).raise_for_status()
        play(client, 13, 20)
    monkeypatch.setattr(opening, "SNAPSHOT_EVERY", 1)
    monkeypatch.setattr("greedyfirst.service.log.sqlite_log._SNAPSHOTS_KEPT", 100)
    log = SqliteLog(path)
    log._writer.execute("DELETE FROM snapshots")
    erased = next(entry.seq for entry in log.read("dose") if entry.kind == "erased")
    learned = next(entry.seq for entry in log.about("dose", 3) if entry.kind == "rewarded")
    opening.restore_all(log)
    kept = {seq for (seq,) in log._writer.execute("SELECT seq FROM snapshots")}
    assert kept
    assert not kept & set(range(learned, erased))
    assert {learned - 1, erased} <= kept
    log.close()


def test_two_erasures_with_changes_between(path: Path) -> None:
    """Arms, rows and features change while decisions cannot be made again."""
    clock = Clock()
    with running(path, clock) as client:
        create(client, features=FEATURES)
        play(client, 1, 12)
        client.post("/v1/policies/dose/arms", json={"arm": "new", **BY}).raise_for_status()
        row = {"context": {"age": 60, "town": "Aachen"}, "arm": "new", "reward": 1}
        body = {"rows": [row, row], **BY}
        client.post("/v1/policies/dose/history", json=body).raise_for_status()
        hold = {"arm": "low", "resolution": "explore_arm", **BY}
        client.post("/v1/policies/dose/resolutions", json=hold).raise_for_status()
        erase(client, 3).raise_for_status()
        other = [FEATURES[0] | {"scale": 5}, FEATURES[1]]
        change = {"features": other, **BY}
        assert client.put("/v1/policies/dose/schema", json=change).status_code == 200
        correct(client, 5, 0.5).raise_for_status()
        erase(client, 7).raise_for_status()
        play(client, 13, 16)
        seen = adds_up(client)
    with running(path, clock) as client:
        assert view(client) == seen
    restored(path, (6, 0, 10))  # 3 itself, and 4 to 12


def test_other_changes_to_an_erased_entry_are_found(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 8)
        erase(client, 7).raise_for_status()
    with sqlite3.connect(path) as other:
        row = other.execute("SELECT seq, body FROM entries WHERE kind='decided' AND step=7")
        seq, body = row.fetchone()
        row = other.execute("SELECT seq, body FROM entries WHERE kind='decided' AND step=8")
        next_seq, next_body = row.fetchone()
    other.close()
    for name, where, forged in (
        ("mode", seq, body.replace(b'"mode":"greedy"', b'"mode":"policy"')),
        ("mark", next_seq, next_body.replace(b'"erased":false', b'"erased":true')),
    ):
        copy = path.with_name(f"{name}.db")
        shutil.copy(path, copy)
        set_body(copy, where, forged)
        with pytest.raises(DamagedLogError, match=rf"entry {where} .* was changed"):
            SqliteLog(copy)
    SqliteLog(path).close()


def set_body(path: Path, seq: int, body: bytes) -> None:
    """What somebody does who has the file."""
    with sqlite3.connect(path) as other:
        other.execute("DROP TRIGGER entries_stay")
        other.execute("UPDATE entries SET body = ? WHERE seq = ?", (body, seq))
    other.close()
