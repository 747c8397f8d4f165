"""The log as a Parquet file, read by another library."""

from __future__ import annotations

import io
from datetime import UTC, datetime
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


def test_a_policy_without_decisions(client: TestClient[Any]) -> None:
    frame = exported(client)
    assert len(frame) == 0
    assert {"arm", "learned", "context.age", "context.sex"} <= set(frame.columns)


def test_an_unknown_policy_has_no_export(client: TestClient[Any]) -> None:
    assert client.get("/v1/policies/nix/export").status_code == 404
