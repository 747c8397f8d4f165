"""What is answered is on disk: proved on SQLite's file layer, and with a disk that fails."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from failing_disk import FailingDisk
from served import BY, CONTEXT, SPECIFICATION, Start, at_once, create, decide, reward, view

from greedyfirst.service.errors import LogFailedError
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import rewards

ERRORS = [apsw.IOError, apsw.FullError]
AUDIT = "/v1/policies/dose/audit"
KEY = {"Idempotency-Key": "k"}


def until_ready(client: Any) -> None:
    for _ in range(100):
        if client.get("/readyz").status_code == 200:
            return
        time.sleep(0.05)
    raise AssertionError("the service did not recover")


def synced_after_write(disk: FailingDisk, row: bytes, since: int = 0) -> bool:
    """Whether the write-ahead log was synced after the first write that holds ``row``."""
    written = False
    for what, kind, data in disk.notes[since:]:
        written = written or (kind == "wal" and what == "write" and row in data)
        if written and (kind, what) == ("wal", "sync"):
            return True
    return False


def test_each_answer_comes_after_the_sync_of_its_row(path: Path, disk: FailingDisk) -> None:
    asyncio.run(_many_at_once(path, disk))


async def _many_at_once(path: Path, disk: FailingDisk) -> None:
    async with at_once(path, vfs=disk.name) as (client, _):
        await client.post("/v1/policies", json=SPECIFICATION)
        assert synced_after_write(disk, b'"event":"created"')

        async def one(number: int) -> None:
            age = 50 + number / 1024  # names this request in the bytes of its row
            since = len(disk.notes)
            answer = await client.post(
                "/v1/policies/dose/decisions", json={"context": {"age": age, "sex": "m"}}
            )
            assert answer.status_code == 201
            assert synced_after_write(disk, f'"age":{age}'.encode(), since)
            decision = answer.json()["decision_id"]
            value = 1 + number / 1024
            answer = await client.put(f"/v1/decisions/{decision}/reward", json={"value": value})
            assert answer.json()["outcome"] == "counted"
            assert synced_after_write(disk, f'"value":{value},'.encode(), since)

        before = len(disk.notes)
        await asyncio.gather(*[one(number) for number in range(40)])
        syncs = sum(note[:2] == ("sync", "wal") for note in disk.notes[before:])
        assert syncs < 80  # several rows in one: without that there would be one for each


def test_nothing_is_told_of_a_decision_before_it_is_synced(path: Path, disk: FailingDisk) -> None:
    """A duplicate, a repeated key and a reader all wait for the first one's sync."""
    asyncio.run(_readers_wait(path, disk))


async def _readers_wait(path: Path, disk: FailingDisk) -> None:
    async with at_once(path, vfs=disk.name) as (client, service):
        await client.post("/v1/policies", json=SPECIFICATION)
        body = {"context": CONTEXT}
        url = "/v1/policies/dose/decisions"
        with disk.held():
            first = asyncio.create_task(client.post(url, json=body, headers=KEY))
            while not service.deployments["dose"].pending:
                await asyncio.sleep(0.01)
            others = [
                asyncio.create_task(request)
                for request in (
                    client.post(url, json=body, headers=KEY),
                    client.get("/v1/decisions/dose:1"),
                    client.get("/v1/policies"),
                )
            ]
            done, _ = await asyncio.wait([first, *others], timeout=0.3)
            assert not done
        again, shown, listed = await asyncio.gather(*others)
        assert again.json() == (await first).json() == shown.json()["answer"]
        assert listed.json()[0]["decisions"] == 1


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("failing", ["write", "sync"])
def test_a_failing_disk_is_503_and_recovers(
    start: Start, disk: FailingDisk, failing: str, error: type[apsw.Error]
) -> None:
    with start(vfs=disk.name) as client:
        create(client)
        first = decide(client)
        assert reward(client, first["decision_id"], 1.0) == "counted"
        disk.error, disk.failing = error, failing
        body = {"context": CONTEXT}
        url = "/v1/policies/dose/decisions"
        answer = client.post(url, json=body, headers=KEY)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert client.get("/v1/policies/dose").status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        time.sleep(1.2)  # long enough for an attempt to open the log, which fails too
        assert client.put("/v1/decisions/dose:1/reward", json={"value": 1.0}).status_code == 503
        disk.failing = None
        until_ready(client)
        again = client.post(url, json=body, headers=KEY)
        assert again.status_code == 201
        # Written but not synced: the row may be there. Never twice, and never another answer.
        assert view(client)["decisions"] == 2
        assert again.json()["decision_id"] == "dose:2"
        assert client.post(url, json=body, headers=KEY).json() == again.json()
        assert reward(client, first["decision_id"], 1.0) == "duplicate"
    with start() as client:
        assert client.post(url, json=body, headers=KEY).json() == again.json()
        assert view(client)["decisions"] == 2


@pytest.mark.parametrize("failing", ["write", "sync"])
@pytest.mark.parametrize("what", ["correction", "erasure"])
def test_a_disk_that_fails_at_a_correction_or_erasure_leaves_all_or_nothing(
    start: Start, path: Path, disk: FailingDisk, what: str, failing: str
) -> None:
    body = BY | ({"value": 0.25} if what == "correction" else {})
    url = f"/v1/decisions/dose:2/{what}"
    with start(vfs=disk.name) as client:
        create(client)
        for step in (1, 2, 3):
            decide(client)
            reward(client, f"dose:{step}", 1.0)
        disk.error, disk.failing = ERRORS[0], failing
        assert client.post(url, json=body).status_code == 503
        disk.failing = None
        until_ready(client)
        again = client.post(url, json=body)
        assert again.status_code in (201, 409)  # it may have reached the log all the same
        shown = client.get("/v1/decisions/dose:2").json()
        assert shown["learned"] == (0.25 if what == "correction" else None)
        assert (shown["context"] == {}) == (what == "erasure")
        before = view(client)
        kinds = {entry["event"]["event"] for entry in client.get(AUDIT).json()}
        assert kinds - {"reduced"} == {"created", shown_kind(what)}
    log = SqliteLog(path)
    log.check()
    log.close()
    with start() as client:
        assert view(client) == before


def shown_kind(what: str) -> str:
    return "reward_corrected" if what == "correction" else "erased"


def test_a_decision_that_reached_the_log_in_spite_of_a_failure_is_the_answer_to_its_key(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = SqliteLog.append

    def appended_but_failed(self: SqliteLog, entries: Any) -> None:
        append(self, entries)
        raise LogFailedError("after the commit")

    url, body = "/v1/policies/dose/decisions", {"context": CONTEXT}
    with start() as client:
        create(client)
        with monkeypatch.context() as patched:
            patched.setattr(SqliteLog, "append", appended_but_failed)
            assert client.post(url, json=body, headers=KEY).status_code == 503
        until_ready(client)
        kept = client.get("/v1/decisions/dose:1").json()["answer"]
        assert client.post(url, json=body, headers=KEY).json() == kept
        other = {"context": CONTEXT | {"age": 51}}
        assert client.post(url, json=other, headers=KEY).status_code == 422
        assert view(client)["decisions"] == 1


def test_a_snapshot_that_cannot_be_kept_loses_nothing(
    start: Start, disk: FailingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greedyfirst.service.service.SNAPSHOT_EVERY", 5)
    saved = SqliteLog.save_snapshot
    broken: list[int] = []

    def save(self: SqliteLog, policy: str, seq: int, content: bytes) -> None:
        if not broken:
            broken.append(seq)
            disk.failing = "write"
        saved(self, policy, seq, content)

    monkeypatch.setattr(SqliteLog, "save_snapshot", save)
    with start(vfs=disk.name) as client:
        create(client)
        done = 0
        for _ in range(40):
            answer = client.post("/v1/policies/dose/decisions", json={"context": CONTEXT})
            done += answer.status_code == 201
            if answer.status_code == 503:
                disk.failing = None
                until_ready(client)
        assert broken
        assert view(client)["decisions"] == done
    with start() as client:
        assert view(client)["decisions"] == done


def test_an_error_half_way_makes_the_state_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = rewards.learn

    def broken(*args: Any) -> Any:
        learn(*args)
        raise RuntimeError("after the state was changed")

    with start() as client:
        create(client)
        decision = decide(client)["decision_id"]
        with monkeypatch.context() as patched:
            patched.setattr(rewards, "learn", broken)
            answer = client.put(f"/v1/decisions/{decision}/reward", json={"value": 1.0})
            assert answer.status_code == 500
            assert client.get("/v1/policies/dose").status_code == 503
        until_ready(client)
        assert view(client)["joined"] == 0
        assert reward(client, decision, 2.0) == "counted"
