"""Backups are whole and checked; a restored log gives no decision id twice and no key back."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from log_entries import entries
from served import CONTEXT, Clock, Start, create, decide, reward, running, view
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.log.access_keys import (
    AccessKey,
    add_key,
    all_keys,
    remove_key,
    rotate_key,
)
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.restore import restore
from greedyfirst.service.log.sqlite_log import SqliteLog

BY = {"who": "Ada", "why": "a test"}


@pytest.fixture
def copy(path: Path) -> Path:
    return path.with_name("copy.db")


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_backup_beside_commits_is_a_state_that_was(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    ended = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not ended.is_set():
            log.append(entries(written + 1, written + 3))
            written += 3

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(5):
        before = written
        head = back_up(path, copy, force=True)
        assert before <= head.seq <= written + 3
        assert head.seq % 3 == 0
        with reading(copy) as copied:
            assert (copied.check(), copied.head()) == (head.seq, log.head_at(head.seq))
        assert not Path(f"{copy}-wal").exists()
    ended.set()
    writer.join()
    log.close()


def test_a_backup_of_what_a_kill_left(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 50))
    killed = path.with_name("killed.db")
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{killed}{ending}")
    log.close()
    assert back_up(killed, copy).seq == 50


def test_a_backup_is_not_written_over(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 5))
    log.close()
    told = run("backup", path, copy)
    assert told.exit_code == 0, told.output
    assert "has 5 entries, all as they were written; head 5:" in told.output
    before = copy.read_bytes()
    assert isinstance(run("backup", path, copy).exception, ValueError)
    assert copy.read_bytes() == before
    assert run("backup", path, copy, "--force").exit_code == 0
    with pytest.raises(ValueError, match="the log itself"):
        back_up(path, path, force=True)


def test_a_damaged_log_makes_no_backup(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 50))
    log.close()
    with sqlite3.connect(path) as other:
        other.execute("DROP TRIGGER entries_stay")
        other.execute("UPDATE entries SET at = 0 WHERE seq = 7")
    other.close()
    with pytest.raises(DamagedLogError, match="entry 7"):
        back_up(path, copy)
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_a_backup_can_be_served_and_restored_elsewhere(
    start: Start, path: Path, copy: Path, clock: Clock
) -> None:
    with start() as client:
        create(client)
        reward(client, decide(client)["decision_id"], 1.0)
        before = view(client)
    back_up(path, copy)
    with running(copy, clock) as client:
        assert view(client) == before
    elsewhere = path.with_name("elsewhere.db")
    done = restore(copy, elsewhere, **BY)
    assert done.replaced is None
    with running(elsewhere, clock, access=Access(list)) as client:
        assert view(client) == before


def test_after_a_restore_no_decision_id_is_given_twice(
    start: Start, path: Path, copy: Path, clock: Clock
) -> None:
    with start() as client:
        create(client)
        decide(client)
        back_up(path, copy)
        lost = [decide(client)["decision_id"] for _ in range(3)]
    done = restore(copy, path, **BY)
    assert (done.backup.seq, done.lost) == (2, 3)
    with start() as client:
        # The person with dose:2 was A. B is another one, and A's reward must not be B's.
        again = [decide(client)["decision_id"] for _ in range(3)]
        assert not {*lost} & {*again}
        assert all(name.startswith("dose:") and "-" in name for name in again)
        for name in lost:
            answer = client.put(f"/v1/decisions/{name}/reward", json={"value": 1.0})
            assert answer.status_code == 404
            assert "put back from a backup, which ended at decision 1;" in answer.json()["detail"]
            assert client.get(f"/v1/decisions/{name}").status_code == 404
        assert reward(client, "dose:1", 1.0) == "counted"
        assert [reward(client, name, 1.0) for name in again] == ["counted"] * 3
        assert client.get(f"/v1/decisions/{again[0]}/replay").json()["same"]
        events = [entry["event"] for entry in client.get("/v1/policies/dose/audit").json()]
        assert events[0]["event"] == "restored"
        assert (events[0]["who"], events[0]["why"], events[0]["entries"]) == ("Ada", "a test", 2)
        service = client.get("/v1/audit").json()
        assert service[0]["event"]["event"] == "restored"
        shown = view(client)
    with start() as client:  # from a snapshot
        assert view(client) == shown
        assert client.get(f"/v1/decisions/{again[0]}").status_code == 200
    log = SqliteLog(path)
    log._writer.execute("DELETE FROM snapshots")
    log.close()
    with start() as client:  # and from the entries
        assert view(client) == shown
        assert decide(client)["decision_id"].endswith(again[0][-7:])
    assert run("log", "check", path).exit_code == 0


def test_an_old_backup_ends_no_wait_before_a_person_has_answered(
    path: Path, copy: Path, start: Start, clock: Clock
) -> None:
    """The rewards of that time may have come and be lost: their senders can send them again."""
    day = 86_400.0
    clock.now = time.time() - 20 * day
    with start() as client:
        create(client, reward_wait=10 * day, default_reward=0.0)
        decide(client)
    back_up(path, copy)
    restore(copy, path, **BY)
    clock.now = time.time()
    with start() as client:
        assert "no wait for a reward ends before" in client.get("/v1/clock").json()["question"]
        assert view(client)["pending"] == 1
        newest = client.get("/v1/policies/dose/audit").json()[0]
        assert newest["event"]["event"] == "restored"
        assert newest["event"]["machine_time"] == pytest.approx(clock.now, abs=60)
        assert client.post("/v1/clock", json={"answer": "follow", **BY}).status_code == 200
        assert reward(client, "dose:1", 0.5) == "counted"
    log = SqliteLog(path)
    assert log.check() > 0
    log.close()


def test_each_restore_has_ids_of_its_own(start: Start, path: Path, copy: Path) -> None:
    with start() as client:
        create(client)
    back_up(path, copy)
    given: list[str] = []
    for _ in range(3):
        restore(copy, path, **BY)
        with start() as client:
            given += [decide(client)["decision_id"] for _ in range(2)]
    assert len({*given}) == 6


def test_a_restore_keeps_what_was_there(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 20))
    back_up(path, copy)
    log.append(entries(21, 30))
    with pytest.raises(DamagedLogError, match="another service is using"):
        restore(copy, path, **BY)
    killed = path.with_name("killed.db")
    for ending in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{ending}", f"{killed}{ending}")
    log.close()
    told = run("restore", copy, "--db", killed, "--who", "Ada", "--why", "a test")
    assert told.exit_code == 0, told.output
    assert "lost with it: 10 entries" in told.output
    assert not Path(f"{killed}-wal").exists()
    assert not Path(f"{killed}-shm").exists()
    aside = next(path.parent.glob("killed.db.replaced-*[0-9]"))
    with reading(aside) as replaced:
        assert replaced.check() == 30
    restored = SqliteLog(killed)
    assert restored.check() == 21  # the backup's, and that it was put back
    restored.close()
    assert killed.stat().st_mode & 0o777 == 0o600


def test_a_damaged_copy_is_not_put_back(path: Path, copy: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 20))
    log.close()
    back_up(path, copy)
    with open(copy, "r+b") as file:
        file.seek(copy.stat().st_size // 2)
        file.write(bytes(2000))
    before = path.read_bytes()
    with pytest.raises(DamagedLogError):
        restore(copy, path, **BY)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == [copy.name, path.name]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("readable", [False, True])
def test_a_restore_brings_no_revoked_key_back(
    path: Path, copy: Path, keep: bool, readable: bool
) -> None:
    SqliteLog(path).close()
    for name in ("stays", "goes", "rotates"):
        add_key(path, AccessKey(name, "admin", hashed(name)))
    back_up(path, copy)
    remove_key(path, "goes")
    rotate_key(path, "rotates", hashed("new"))
    if not readable:
        path.write_bytes(b"rubbish" * 1000)
    told = run("restore", copy, "--db", path, *(["--keep-keys"] if keep else []))
    assert told.exit_code == 0, told.output
    access = Access(lambda: all_keys(path))
    in_use = {name for name in ("stays", "goes", "rotates", "new") if access.caller(name)}
    expected = {"stays"} if readable else {"stays", "goes", "rotates"}
    assert in_use == (expected if keep else set())
    assert access.caller(None) is None  # keys were there once
    assert ("no key is in use" in told.output) == (not keep)


def test_a_log_never_restored_has_plain_ids(start: Start) -> None:
    with start() as client:
        create(client)
        assert decide(client)["decision_id"] == "dose:1"
        for wrong in ("dose:1-abcdef", "dose:01", "dose:1-", "dose:2"):
            answer = client.put(f"/v1/decisions/{wrong}/reward", json={"value": 1.0})
            assert answer.status_code == 404
            assert "backup" not in answer.json()["detail"]
        assert (
            client.post("/v1/policies/dose/decisions", json={"context": CONTEXT}).json()[
                "decision_id"
            ]
            == "dose:2"
        )
