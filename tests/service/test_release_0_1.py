"""A log that release 0.1.0 wrote: read, made again, and gone on with.

It has 51 decisions of each of four policies, with alarms, one of them answered, an added arm, a
schema change, history, default rewards, snapshots, and a key for each role.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient
from served import BY, Clock, running

from greedyfirst.cli import main
from greedyfirst.service.http.access import Access
from greedyfirst.service.log.access_keys import all_keys
from greedyfirst.service.log.sqlite_file import IS_AUDITED
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.restoring import count_alarms, restore
from greedyfirst.service.state.snapshots import load

WRITTEN = Path(__file__).parent / "release_0_1" / "log.db"
ENTRIES, DECISIONS = 418, 51
POLICIES = ("held", "explored", "clicks", "thompson")


@pytest.fixture
def old(path: Path, clock: Clock) -> Path:
    """The log, where it may be written to, and the clock after its last entry."""
    shutil.copy(WRITTEN, path)
    clock.now += 10_000.0
    return path


def context_of(policy: str, number: int) -> dict[str, Any]:
    context: dict[str, Any] = {"age": 45.0 + number, "sex": "fm"[number % 2]}
    return context | ({"bmi": 0.25 * number} if policy == "held" else {})


def check_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["greedyfirst", "log", "check", str(path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code


def test_every_decision_comes_out_as_it_was_logged(
    old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_log(old, monkeypatch)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{ENTRIES} entries, all as they were written"
    assert told[1].startswith(f"head {ENTRIES}:")
    assert sorted(told[2:]) == sorted(
        f"{policy}: {DECISIONS} decisions recomputed, 0 differ from the log" for policy in POLICIES
    )


def test_its_audit_list_has_an_index_of_this_releases_events(old: Path) -> None:
    SqliteLog(old).close()
    with sqlite3.connect(old) as plain:
        asked = f"SELECT seq FROM entries WHERE policy = 'held' AND {IS_AUDITED} ORDER BY seq"
        plan = plain.execute(f"EXPLAIN QUERY PLAN {asked}").fetchall()
    plain.close()
    assert "entries_not_daily" in str(plan)


@pytest.mark.parametrize("policy", POLICIES)
def test_its_snapshots_give_the_state_of_its_entries(old: Path, policy: str) -> None:
    log = SqliteLog(old)

    def recall(step: int) -> list[Any]:
        return [entry.event for entry in log.about(policy, step)]

    try:
        seq, content = log.snapshot(policy, None) or (0, b"")
        assert seq == ENTRIES
        saved = load(content, recall)
        assert saved is not None
        count_alarms(saved, log, seq)
        again, last = restore(log, policy, snapshots=False)
        assert last <= ENTRIES
        assert view(saved) == view(again)
        assert_close(reports(saved), reports(again))
        for number in range(40):
            answers = [
                deployment.decide(context_of(policy, number), None, 2e6).answer
                for deployment in (saved, again)
            ]
            assert answers[0] == answers[1]
            for deployment in (saved, again):
                encoded = deployment.encode(context_of(policy, number))
                deployment.agent.update(encoded, answers[0].arm, float(number % 3 == 0))
    finally:
        log.close()


def view(deployment: Deployment) -> Any:
    """What is known of a deployment but for its agent's numbers."""
    agent = deployment.agent
    return (
        deployment.specification,
        (deployment.schema_version, deployment.model_version, deployment.backfill),
        [column.tolist() for column in deployment.pending.columns()],
        (deployment.parts, deployment.counts),
        deployment.mismatches,
        (agent.decisions, agent.joined, agent.foreign, agent.arm_names, agent.dropped.tolist()),
    )


def reports(deployment: Deployment) -> Any:
    """What is reported of eigenvalues: no decision follows from it."""
    report = asdict(deployment.agent.diversity())
    return msgspec.to_builtins([deployment.history, deployment.alarms, report])


def assert_close(one: Any, other: Any) -> None:
    """Equal but for what differs from one kind of processor to another.

    So do LAPACK's last digits, and the direction of an eigenvector: in its sign, and where the
    eigenvalue is 0 for several directions.
    """
    if isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for name, value in one.items():
            if name != "weakest_direction":
                assert_close(value, other[name])
            elif one["min_eigenvalue"] > 1e-9:
                assert_close(
                    *({key: abs(x) for key, x in each[name].items()} for each in (one, other))
                )
    elif isinstance(one, list | tuple):
        for value, expected in zip(one, other, strict=True):
            assert_close(value, expected)
    else:
        assert one == other


def test_it_is_gone_on_with(
    old: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    access = Access(lambda: all_keys(old), needed=True)
    with running(old, clock, access=access) as client:
        assert client.get("/v1/policies").status_code == 401
        client.headers["Authorization"] = "Bearer key of the admin"
        for policy in POLICIES:
            go_on(client, policy)
        low = {"arm": "low", "resolution": "explore", **BY}
        assert client.post("/v1/policies/held/resolutions", json=low).status_code == 201
        go_on(client, "held")
        alarms = client.get("/v1/policies/held/audit").json()
        kinds = [entry["event"]["event"] for entry in alarms]
        assert kinds[0] == "resolved"
        assert {"created", "alarmed", "arm_added", "schema_changed"} < set(kinds)
    check_log(old, monkeypatch)
    told = capsys.readouterr().out
    assert told.count(" 0 differ from the log") == len(POLICIES)
    assert f"held: {DECISIONS + 20} decisions" in told
    assert f"clicks: {DECISIONS + 10} decisions" in told


def go_on(client: TestClient[Any], policy: str) -> None:
    for number in range(10):
        context = context_of(policy, number)
        decided = client.post(f"/v1/policies/{policy}/decisions", json={"context": context})
        assert decided.status_code == 201, decided.text
        body = {"value": float(number % 2)} | ({"part": "a"} if policy == "explored" else {})
        name = decided.json()["decision_id"]
        rewarded = client.put(f"/v1/decisions/{name}/reward", json=body)
        assert rewarded.status_code == 200, rewarded.text
        again = client.get(f"/v1/decisions/{name}/replay")
        assert again.json()["same"], again.text


def test_a_decision_is_found_by_its_old_key(old: Path, clock: Clock) -> None:
    with running(old, clock) as client:
        logged = client.get("/v1/decisions/thompson:51").json()
        again = client.post(
            "/v1/policies/thompson/decisions",
            json={"context": logged["context"]},
            headers={"Idempotency-Key": "k50"},
        )
        assert again.json()["decision_id"] == "thompson:51"
