"""Snapshots outlive releases of the same layout; a long reading of the log leaves some behind."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from served import Clock, Start, create, decide, reward, running, view

from greedyfirst import version
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import opening, restoring, snapshots
from greedyfirst.service.state.snapshots import FORMAT, SavedState

RELEASE_0_1 = Path(__file__).parents[1] / "release_0_1" / "log.db"


def applied(path: Path, policy: str = "dose") -> int:
    """How many entries a start applies, beside the snapshot that it takes."""
    count = 0

    def one(*_: object) -> None:
        nonlocal count
        count += 1

    log = SqliteLog(path)
    restoring.restore(log, policy, applied=one)
    log.close()
    return count


@pytest.fixture
def filled(start: Start, path: Path) -> Any:
    with start() as client:
        create(client)
        for _ in range(20):
            reward(client, decide(client)["decision_id"], 1.0)
        return view(client)


def resave(path: Path, **changes: Any) -> None:
    """The newest snapshot, as another release might have written it; older ones are gone."""
    log = SqliteLog(path)
    seq, content = log.snapshot("dose") or (0, b"")
    state = msgspec.msgpack.decode(content)
    log._writer.execute("DELETE FROM snapshots")
    log.save_snapshot("dose", seq, msgspec.msgpack.encode(state | changes))
    log.close()


@pytest.mark.parametrize("release", ["0.0.9", "0.2.0", "17.0"])
def test_another_release_takes_the_snapshot(
    filled: Any, path: Path, start: Start, release: str
) -> None:
    resave(path, release=release)
    assert applied(path) == 0
    with start() as client:
        assert view(client) == filled


def test_an_upgrade_and_a_rollback_read_nothing_again(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(RELEASE_0_1, path)
    clock.now += 10_000.0
    for release in ("0.2.0", "0.1.0", "0.3.0"):
        monkeypatch.setattr(version, "__version__", release)
        assert applied(path, "held") == 0
        with running(path, clock) as client:
            body = {"context": {"age": 50.0, "sex": "f", "bmi": 1.0}}
            assert client.post("/v1/policies/held/decisions", json=body).status_code == 201
    log = SqliteLog(path)
    assert restoring.recompute_last(log, "held", 10_000) == (54, 0, 0)
    log.close()


@pytest.mark.parametrize(
    "changes", [{"format": FORMAT + 1}, {"format": 0}, {"fields": ("decisions", "another")}]
)
def test_a_snapshot_of_another_layout_is_left_out(
    filled: Any, path: Path, start: Start, changes: dict[str, Any]
) -> None:
    resave(path, **changes)
    assert applied(path) == 41
    with start() as client:
        assert view(client) == filled


def test_an_older_snapshot_is_taken_where_the_newest_is_of_another_layout(
    filled: Any, path: Path
) -> None:
    log = SqliteLog(path)
    seq, content = log.snapshot("dose") or (0, b"")
    half, done = restoring.restore(log, "dose", before=20)
    log._writer.execute("DELETE FROM snapshots")
    log.save_snapshot("dose", done, snapshots.save(half)())
    later = msgspec.msgpack.decode(content) | {"format": FORMAT + 1}
    log.save_snapshot("dose", seq, msgspec.msgpack.encode(later))
    log.close()
    assert applied(path) == 41 - done


def test_the_layout_of_this_format() -> None:
    """What a snapshot holds; whoever changes it takes another number for FORMAT."""
    names = {
        2: "format specification agent fields encoding schema_version model_version fill pending "
        "parts counts course open_alarms departures asked tags",
        3: "format specification agent fields encoding schema_version model_version fill pending "
        "parts counts course departures asked alarms dubious held standing amendments open_alarms "
        "tags",
        4: "format specification agent fields encoding schema_version model_version fill pending "
        "parts counts course departures asked alarms dubious held standing amendments open_alarms "
        "tags control",
    }
    written = [field.encode_name for field in msgspec.structs.fields(SavedState)]
    assert written == names[FORMAT].split()


def test_a_long_reading_leaves_snapshots_and_words(
    filled: Any, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(opening, "SNAPSHOT_EVERY", 15)
    monkeypatch.setattr(opening, "_WORTH_A_SNAPSHOT", 5)
    monkeypatch.setattr(opening, "_SECONDS_BETWEEN_WORDS", -1.0)
    resave(path, format=FORMAT + 1)
    log = SqliteLog(path)
    with caplog.at_level(logging.INFO):
        opening.restore_all(log)
    assert "making policy dose from the log: at entry 30 of 41" in caplog.text
    kept = [seq for (seq,) in log._writer.execute("SELECT seq FROM snapshots ORDER BY seq")]
    assert kept == [15, 30, 41]
    log.close()
    assert applied(path) == 0


#: A start that is killed when 30 entries have been applied.
KILLED = """
import os, sys
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import opening
opening.SNAPSHOT_EVERY = 15
saved = SqliteLog.save_snapshot
def save(self, policy, seq, content):
    saved(self, policy, seq, content)
    if seq == 30:
        os.kill(os.getpid(), 9)
SqliteLog.save_snapshot = save
opening.restore_all(SqliteLog(sys.argv[1]))
"""


def test_a_start_that_is_killed_goes_on_where_it_was(filled: Any, path: Path) -> None:
    log = SqliteLog(path)
    log._writer.execute("DELETE FROM snapshots")
    log.close()
    assert applied(path) == 41
    assert subprocess.run([sys.executable, "-c", KILLED, path]).returncode == -9
    assert applied(path) == 11
