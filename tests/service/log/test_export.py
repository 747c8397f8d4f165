"""The log as a Parquet file, read by another library."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from litestar.testing import TestClient
from served import CONTEXT, Clock, Start, create, decide, reward


def exported(client: TestClient[Any]) -> pd.DataFrame:
    answer = client.get("/v1/policies/dose/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert 'filename="dose.parquet"' in answer.headers["content-disposition"]
    return pd.read_parquet(io.BytesIO(answer.content))


def test_a_service_that_is_killed_leaves_no_export(path: Path, tmp_path: Path) -> None:
    """It has contexts, and no erasure reaches it: it never has a name."""
    made = tmp_path / "made"
    made.mkdir()
    words = [sys.executable, "-c", _KILLED, str(path)]
    ended = subprocess.run(words, env=os.environ | {"TMPDIR": str(made)}, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    assert list(made.iterdir()) == []


#: A service that gets SIGKILL once an export has been written.
_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, "tests/service")
from served import Clock, create, decide, running
from greedyfirst.service import read_requests

written = read_requests.write_parquet
def killed(*arguments):
    written(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

read_requests.write_parquet = killed
with running(Path(sys.argv[1]), Clock()) as client:
    create(client)
    decide(client)
    client.get("/v1/policies/dose/export")
"""


def test_a_row_per_decision(start: Start, clock: Clock) -> None:
    with start() as client:
        create(client, reward_wait=10, default_reward=-1.0)
        answers = [decide(client, CONTEXT | {"age": 50 + step}) for step in range(4)]
        reward(client, "dose:2", 0.5)
        clock.now += 11
        answers.append(decide(client))
        frame = exported(client)
    assert frame["decision_id"].tolist() == [f"dose:{step}" for step in range(1, 6)]
    assert frame["arm"].tolist() == [answer["arm"] for answer in answers]
    assert frame["status"].tolist() == ["defaulted", "rewarded"] + ["defaulted"] * 2 + ["pending"]
    assert frame["learned"].tolist()[:4] == [-1.0, 0.5, -1.0, -1.0]
    assert pd.isna(frame["learned"].iloc[4])
    assert frame["context.age"].tolist() == [50, 51, 52, 53, 50]
    assert set(frame["context.sex"]) == {"m"}
    assert frame["at"].iloc[0] == datetime.fromtimestamp(1_000_000, UTC)
    expected = [answer["expected_rewards"][answer["arm"]] for answer in answers]
    assert frame["expected_reward"].tolist() == expected


def test_what_came_of_each_reward(start: Start, clock: Clock) -> None:
    with start() as client:
        plausible = {"low": 0, "high": 1, "outside": "hold"}
        create(client, reward_wait=10, reward_range=plausible)
        for step in range(1, 8):
            decide(client, eligible_arms=["low"] if step == 1 else None)
        clock.now += 5
        reward(client, "dose:1", 0.5)
        for step in (2, 3, 4):
            reward(client, f"dose:{step}", 1.0 if step == 2 else 680.0)
        reward(client, "dose:5", 0.5)
        clock.now += 1
        for step, value in ((2, 0.1), (3, 0.68)):
            body = {"value": value, "who": "Ada", "why": "a slip"}
            client.post(f"/v1/decisions/dose:{step}/correction", json=body).raise_for_status()
        body = {"who": "Ada", "why": "asked for"}
        client.post("/v1/decisions/dose:5/erasure", json=body).raise_for_status()
        clock.now += 5
        assert reward(client, "dose:6", 1.0) == "late"
        frame = exported(client).set_index("step")
    assert frame["status"].tolist() == [
        *("rewarded", "rewarded", "rewarded", "held", "voided", "late", "missing")
    ]
    assert list(frame["eligible_arms"][1]) == ["low"]
    assert frame["eligible_arms"][2] is None
    assert frame["late"].tolist() == [False] * 5 + [True, False]
    assert frame["corrected"].tolist() == [False, True, True] + [False] * 4
    assert frame["held"].tolist() == [False] * 3 + [True] + [False] * 3
    assert frame["voided"].tolist() == [False] * 4 + [True] + [False] * 2
    assert frame["erased"].tolist() == [False] * 4 + [True] + [False] * 2
    assert frame["learned"][:3].tolist() == [0.5, 0.1, 0.68]
    assert frame["reward_at"][1] == datetime.fromtimestamp(1_000_005, UTC)
    assert pd.isna(frame["reward_at"][7])
    (corrected,) = frame["rewards"][3]
    assert (corrected["value"], corrected["stands"], corrected["outcome"]) == (680.0, 0.68, "held")
    assert corrected["corrected_at"] == datetime.fromtimestamp(1_000_006, UTC)
    (late,) = frame["rewards"][6]
    assert (late["outcome"], late["value"]) == ("late", 1.0)
    assert pd.isna(frame["context.age"][5])
    assert pd.isna(frame["expected_reward"][5])
    assert frame["arm"].notna().all()


def test_a_policy_without_decisions(client: TestClient[Any]) -> None:
    frame = exported(client)
    assert len(frame) == 0
    assert {"arm", "learned", "context.age", "context.sex"} <= set(frame.columns)


def test_an_unknown_policy_has_no_export(client: TestClient[Any]) -> None:
    assert client.get("/v1/policies/nix/export").status_code == 404


def test_every_decision_has_its_propensity(start: Start) -> None:
    """Of five decisions at random among three arms, and among two that are eligible."""
    with start() as client:
        arms = ["low", "middle", "high"]
        create(client, arms=arms, policy={"policy": "Uniform", "options": {}})
        answers = [decide(client) for _ in range(5)]
        answers.append(decide(client, eligible_arms=["low", "high"]))
        frame = exported(client)
        assert client.get("/v1/decisions/dose:6/replay").json()["same"]
    assert [answer["propensity"] for answer in answers] == [1 / 3] * 5 + [0.5]
    assert frame["propensity"].tolist() == [1 / 3] * 5 + [0.5]
