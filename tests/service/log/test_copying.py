"""A log moves between a file and PostgreSQL with its seals, and goes on there."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from litestar.testing import TestClient
from log_entries import entries
from served import BY, CONTEXT, Clock, create, decide, reward, running, view
from stores import FileStore, Place, Store
from test_release_0_1 import WRITTEN
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.log.access_keys import (
    AccessKey,
    add_key,
    all_keys,
    remove_key,
    rotate_key,
)
from greedyfirst.service.log.copying import copy_log
from greedyfirst.service.log.entries import Head
from greedyfirst.service.log.places import open_log, reading
from greedyfirst.service.log.postgres_database import PostgresUrl

BOSS = {"Authorization": "Bearer boss"}
ENTRIES = "SELECT seq, at, policy, kind, step, key, body, seal FROM entries ORDER BY seq"


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


class Content(NamedTuple):
    """All that a copy must have."""

    entries: list[tuple[Any, ...]]
    snapshots: list[tuple[Any, ...]]
    keys: list[AccessKey]
    changes: list[tuple[int, bytes]]


def content(place: Place) -> Content:
    with reading(place) as log:
        log.check()
        return Content(
            log.rows(ENTRIES), [*log.kept_snapshots()], log.access_keys(),
            log.key_tables.noted_changes(),
        )  # fmt: skip


def identity(place: Place) -> str:
    with reading(place) as log:
        return str(log.rows("SELECT value FROM meta WHERE name = 'identity'")[0][0])


def live(client: TestClient[Any]) -> None:
    """Make all kinds of entries: also what was corrected and what was erased."""
    create(client)
    for number in range(30):
        made = decide(client, {"age": 40 + number, "sex": "fm"[number % 2]})
        if number % 3:
            reward(client, made["decision_id"], number / 10)
    once = {"context": CONTEXT}, {"Idempotency-Key": "once"}
    client.post("/v1/policies/dose/decisions", json=once[0], headers=once[1])
    slip = "/v1/decisions/dose:5/correction"
    assert client.post(slip, json={"value": 0.25, **BY}).is_success
    for step in (2, 4):
        asked = f"/v1/decisions/dose:{step}/erasure"
        assert client.post(asked, json=BY).is_success


def within_two_seconds(condition: Callable[[], bool]) -> bool:
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.02)
    return False


def served(place: Place, clock: Clock) -> Any:
    """A client of a service with keys, where "boss" is an admin's."""
    return running(place, clock, access=Access(lambda: all_keys(place)), keys_in=place)


def noted(client: TestClient[Any]) -> list[str]:
    """The changes of keys that are in the log, the oldest first."""
    listed = client.get("/v1/audit?limit=1000").json()
    events = [entry["event"] for entry in reversed(listed)]
    return [event["change"] for event in events if event["event"] == "key_changed"]


@pytest.fixture
def lived(store: Store, clock: Clock) -> Place:
    """A log that a service has written, with keys that came and went."""
    open_log(store.place).close()
    add_key(store.place, AccessKey("boss", "admin", hashed("boss")), who="root")
    add_key(store.place, AccessKey("gone", "reader", hashed("gone"), policies=("dose",)))
    remove_key(store.place, "gone")
    rotate_key(store.place, "boss", hashed("boss"), overlap=3600.0)
    with served(store.place, clock) as client:
        client.headers.update(BOSS)
        live(client)
        assert within_two_seconds(lambda: len(noted(client)) == 4)
    return store.place


# -------------------------------------------------------------------- what a copy has


def test_a_copy_has_everything_as_it_was(lived: Place, target: Place) -> None:
    before = content(lived)
    done = copy_log(lived, target)
    assert content(target) == content(lived) == before
    assert len(before.snapshots) == 1
    assert [number for number, _ in before.changes] == [1, 2, 3, 4]
    assert (done.head.seq, done.left_out, done.in_use) == (len(before.entries), [], False)
    assert identity(target) != identity(lived)
    assert run("log", "check", target, "--head", done.head).exit_code == 0


def test_there_and_back_again(fresh_url: PostgresUrl, lived: Place, tmp_path: Path) -> None:
    back = tmp_path / "back.db"
    assert copy_log(lived, fresh_url).head == copy_log(fresh_url, back).head
    assert content(back) == content(lived)
    assert back.stat().st_mode & 0o777 == 0o600
    assert not [*tmp_path.glob("back.db?*"), *tmp_path.glob(".back.db*")]


def test_a_file_is_copied_without_a_change_of_it(tmp_path: Path, fresh_url: PostgresUrl) -> None:
    """Also one of release 0.1, whose tables of keys lack columns."""
    old = Path(shutil.copy(WRITTEN, tmp_path))
    bytes_before, time_before = old.read_bytes(), old.stat().st_mtime_ns
    heads = {copy_log(old, fresh_url).head, copy_log(old, tmp_path / "copy.db").head}
    assert (old.read_bytes(), old.stat().st_mtime_ns) == (bytes_before, time_before)
    assert content(fresh_url) == content(tmp_path / "copy.db") == content(old)
    assert len(heads) == 1
    told = run("log", "check", fresh_url)
    assert told.exit_code == 0, told.output
    assert told.output.count(" 0 differ from the log") == 4


def test_what_a_kill_left_is_copied_with_its_newest_entries(
    tmp_path: Path, fresh_url: PostgresUrl
) -> None:
    store = FileStore(tmp_path)
    log = store.open()
    log.append(entries(1, 50))
    killed = tmp_path / "killed.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{store.place}{ending}", f"{killed}{ending}")
    log.close()
    left = {each.name: each.read_bytes() for each in tmp_path.glob("killed.db*")}
    assert copy_log(killed, fresh_url).head.seq == 50
    assert {each.name: each.read_bytes() for each in tmp_path.glob("killed.db*")} == left


def test_a_log_without_entries_is_copied_with_its_keys(store: Store, target: Place) -> None:
    open_log(store.place).close()
    add_key(store.place, AccessKey("boss", "admin", hashed("boss")))
    assert copy_log(store.place, target).head == Head(0, bytes(32))
    assert content(target) == content(store.place)
    assert [key.name for key in all_keys(target)] == ["boss"]


def test_a_service_goes_on_with_the_copy(lived: Place, target: Place, clock: Clock) -> None:
    with served(lived, clock) as client:
        client.headers.update(BOSS)
        before = view(client)
    copy_log(lived, target)
    with served(target, clock) as client:
        assert client.get("/v1/policies/dose").status_code == 401
        client.headers.update(BOSS)
        assert view(client) == before
        again = decide_once(client, "once")
        assert again["decision_id"] == "dose:31"
        assert reward(client, "dose:1", 0.5) == "counted"
        assert reward(client, "dose:3", 0.2) == "duplicate"
        assert decide(client)["decision_id"] == "dose:32"
        assert client.get("/v1/decisions/dose:32/replay").json()["same"]
        add_key(target, AccessKey("new", "reader", hashed("new")))
        assert within_two_seconds(lambda: len(noted(client)) == 5)
        assert noted(client)[-1] == "added"
    told = run("log", "check", target)
    assert told.exit_code == 0, told.output
    assert "0 differ from the log" in told.output


def decide_once(client: TestClient[Any], key: str) -> Any:
    headers = {"Idempotency-Key": key}
    asked: httpx.Response = client.post(
        "/v1/policies/dose/decisions", json={"context": CONTEXT}, headers=headers
    )
    return asked.json()


def test_changed_snapshots_are_left_out(store: Store, target: Place) -> None:
    log = store.open()
    log.append(entries(1, 30))
    for seq in (10, 20, 30):
        log.save_snapshot("p", seq, f"state {seq}".encode())
    log.close()
    store.change("UPDATE snapshots SET seq = 15 WHERE seq = 20")
    told = run("log", "copy", store.place, target)
    assert told.exit_code == 0, told.output
    assert "the snapshot of p after entry 15 was changed, and is not in the copy" in told.output
    with reading(target) as copied:
        assert copied.snapshot("p") == (30, b"state 30")
        assert copied.snapshot("p", 30) == (10, b"state 10")
        assert copied.changed_snapshots() == []


def test_numbers_of_key_changes_go_on_after_gaps(store: Store, target: Place) -> None:
    open_log(store.place).close()
    for name in ("a", "b", "c"):
        add_key(store.place, AccessKey(name, "reader", hashed(name)))
    store.change("DELETE FROM key_changes WHERE number = 2")
    copy_log(store.place, target)
    add_key(target, AccessKey("d", "reader", hashed("d")))
    assert [number for number, _ in content(target).changes] == [1, 3, 4]
