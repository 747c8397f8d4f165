"""The log's file under a running service: removed, replaced, written over, or read by others."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from log_entries import entries
from served import CONTEXT, Start, create, decide, view
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.access_keys import AccessKey, add_key, all_keys
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.restore import restore
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.log.sqlite_reader import SqliteReader

DECISIONS = "/v1/policies/dose/decisions"


def ask(client: Any) -> int:
    return int(client.post(DECISIONS, json={"context": CONTEXT}).status_code)


def wait_for(client: Any, status: int) -> None:
    for _ in range(100):
        if client.get("/readyz").status_code == status:
            return
        time.sleep(0.05)
    raise AssertionError(f"readiness did not become {status}")


def test_a_log_that_is_removed_is_never_written_to_again(start: Start, path: Path) -> None:
    with start() as client:
        create(client)
        decide(client)
        path.unlink()
        assert [ask(client) for _ in range(20)] == [503] * 20
        time.sleep(1.2)  # long enough for an attempt to open it again
        answer = client.post(DECISIONS, json={"context": CONTEXT})
        assert answer.status_code == 503
        assert "is gone; put it back where it was" in answer.json()["detail"]
        assert client.get("/readyz").status_code == 503
        assert not path.exists()
    (rescued,) = path.parent.glob("log.db.rescued-*")
    assert f"use greedyfirst restore {rescued}" in answer.json()["detail"]
    with reading(rescued) as copied:
        assert copied.check() >= 2  # all that was acknowledged, and perhaps a refused one
        assert [entry.kind for entry in copied.read("dose")][:2] == ["created", "decided"]
    restore(rescued, path, who="Ada", why="somebody removed it")
    with start() as client:
        assert view(client)["decisions"] >= 1


def test_without_requests_it_is_noticed_too(start: Start, path: Path) -> None:
    with start() as client:
        create(client)
        path.rename(path.with_name("away.db"))
        wait_for(client, 503)


def test_a_log_that_comes_back_goes_on_with_all_that_was_acknowledged(
    start: Start, path: Path
) -> None:
    away = path.with_name("away.db")
    with start() as client:
        create(client)
        for _ in range(5):
            decide(client)
        path.rename(away)
        assert ask(client) == 503
        time.sleep(1.2)
        away.rename(path)
        wait_for(client, 200)
        assert view(client)["decisions"] in (5, 6)  # the refused one may be there
        decide(client)
    log = SqliteLog(path)
    assert log.check() == 1 + view_decisions(log)
    log.close()


def view_decisions(log: SqliteReader) -> int:
    return sum(entry.kind == "decided" for entry in log.read("dose"))


@pytest.mark.parametrize("how", ["replaced", "written over"])
def test_a_backup_in_its_place_is_not_gone_on_with(start: Start, path: Path, how: str) -> None:
    copy = path.with_name("copy.db")
    with start() as client:
        create(client)
        decide(client)
        back_up(path, copy)
        decide(client)
        if how == "replaced":
            shutil.copy(copy, path.with_name("new.db"))
            path.with_name("new.db").rename(path)
        else:
            path.write_bytes(copy.read_bytes())
        assert [ask(client) for _ in range(5)] == [503] * 5
        time.sleep(1.2)
        answer = client.post(DECISIONS, json={"context": CONTEXT})
        assert answer.status_code == 503
        assert client.get("/readyz").status_code == 503
    if how == "replaced":  # what the copy lacks is not lost, and the sentence says where it is
        (rescued,) = path.parent.glob("log.db.rescued-*")
        assert f"use greedyfirst restore {rescued} --db" in answer.json()["detail"]
        with reading(rescued) as kept:
            assert view_decisions(kept) >= 2


def test_an_older_state_of_the_same_log_is_refused_until_the_newest_is_back(
    start: Start, path: Path
) -> None:
    """The same identity is not enough: what was acknowledged must be there."""
    aside = path.with_name("aside.db")
    with start() as client:
        create(client)
        decide(client)
    shutil.copy(path, aside)
    with start() as client:
        decide(client)
        newest = path.rename(path.with_name("newest.db"))
        wal = Path(f"{path}-wal").rename(path.with_name("newest.db-wal"))
        wait_for(client, 503)
        shutil.copy(aside, path)
        time.sleep(1.2)
        answer = client.post(DECISIONS, json={"context": CONTEXT})
        assert answer.status_code == 503
        assert "lacks entries that were acknowledged" in answer.json()["detail"]
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        newest.rename(path)
        wal.rename(f"{path}-wal")
        wait_for(client, 200)
        assert view(client)["decisions"] == 2


def test_a_write_ahead_log_that_is_removed_loses_nothing(start: Start, path: Path) -> None:
    with start() as client:
        create(client)
        for _ in range(5):
            decide(client)
        Path(f"{path}-wal").unlink()
        assert ask(client) == 503
        wait_for(client, 200)
        assert view(client)["decisions"] in (5, 6)
        decide(client)


def test_no_file_beside_it_lets_a_second_service_in(path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 3))
    for file in path.parent.iterdir():
        if file.name not in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            file.unlink()
    with pytest.raises(DamagedLogError, match="another service is using"):
        SqliteLog(path)
    log.append(entries(4, 5))
    log.close()


def test_a_running_release_0_1_is_not_disturbed(path: Path) -> None:
    import fcntl

    SqliteLog(path).close()
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DamagedLogError, match="another service is using"):
            SqliteLog(path)
    SqliteLog(path).close()


def test_files_are_for_their_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        log = SqliteLog(path)
        log.append(entries(1, 3))
        back_up(path, path.with_name("copy.db"))
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
        log.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["log.db", "log.db-wal", "log.db-shm", "copy.db"], "0o600")


#: With SQLite's own locks, and no other.
WRITE_ELSEWHERE = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as file:
    file.execute("INSERT INTO access_keys (name, role, hash) VALUES ('clinic', 'reader', x'00')")
    print(file.execute("SELECT count(*) FROM entries").fetchone()[0])
file.close()
"""


def test_the_lock_does_not_meet_those_of_sqlite(path: Path) -> None:
    """Another process writes to the file while it is held and written."""
    log = SqliteLog(path)
    log.append(entries(1, 10))
    words = [sys.executable, "-c", WRITE_ELSEWHERE, str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout == "10\n", done.stderr
    log.append(entries(11, 20))
    add_key(path, AccessKey("other", "reader", b"h" * 32))
    log.append(entries(21, 30))
    assert [key.name for key in all_keys(path)] == ["clinic", "other"]
    assert log.check() == 30
    log.close()
    with reading(path) as again:
        assert again.check() == 30


def test_an_idle_reader_leaves_the_file_whole_at_the_end(path: Path) -> None:
    log = SqliteLog(path)
    idle = apsw.Connection(str(path))
    assert idle.execute("SELECT count(*) FROM entries").get == 0
    log.append(entries(1, 100))
    log.close()
    shutil.copy(path, path.with_name("alone.db"))
    with reading(path.with_name("alone.db")) as alone:
        assert alone.check() == 100
    idle.close()


def test_a_busy_reader_is_told_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = SqliteLog(path)
    busy = apsw.Connection(str(path))
    busy.execute("BEGIN; SELECT count(*) FROM entries").fetchall()
    log.append(entries(1, 100))
    log._writer.set_busy_timeout(0)
    log.close()
    assert "another program reads" in caplog.text
    assert "use greedyfirst backup" in caplog.text
    busy.close()


def fingerprints(path: Path) -> dict[str, tuple[str, int]]:
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in path.parent.iterdir()
        if file.is_file()
    }


def check(path: Path) -> Any:
    return CliRunner().invoke(app, ["log", "check", str(path)])


def test_a_check_changes_no_byte(path: Path, tmp_path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 500))
    killed = tmp_path / "killed" / "log.db"
    killed.parent.mkdir()
    for ending in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{ending}", f"{killed}{ending}")
    log.close()
    for each in (path, killed):  # ended in good order; as a kill leaves it
        before = fingerprints(each)
        os.chmod(each.parent, 0o500)
        done = check(each)
        os.chmod(each.parent, 0o700)
        assert done.exit_code == 0, done.output
        assert "500 entries, all as they were written" in done.stdout
        assert fingerprints(each) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("killed", [False, True])
def test_a_check_works_where_nothing_may_be_written(killed: bool) -> None:
    with TemporaryDirectory() as folder:
        path, place = Path(folder, "log.db"), Path(folder, "read-only", "log.db")
        log = SqliteLog(path)
        log.append(entries(1, 20))
        place.parent.mkdir()
        if not killed:
            log.close()
        for ending in ("", "-wal") if killed else ("",):
            shutil.copy(f"{path}{ending}", f"{place}{ending}")
            os.chmod(f"{place}{ending}", 0o444)
        if killed:
            log.close()
        os.chmod(place.parent, 0o555)
        os.chmod(folder, 0o755)
        os.seteuid(65534)
        try:
            with reading(place) as looked_at:
                assert looked_at.check() == 20
        finally:
            os.seteuid(0)


def test_a_check_beside_a_running_service(path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 300))
    done = check(path)
    assert "300 entries, all as they were written" in done.stdout, done.output
    log.append(entries(301, 302))
    log.close()


def test_a_log_without_entries_is_told_as_such(path: Path) -> None:
    SqliteLog(path).close()
    assert check(path).stdout == f"{path} has no entries: there is nothing to check\n"


def test_another_programs_file_is_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(DamagedLogError, match="another program"):
        SqliteLog(path)
    assert path.read_bytes() == before


def test_a_log_is_reopened_only_as_itself(path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 3))
    again = log.reopened()
    again.append(entries(4, 4))
    path.unlink()
    with pytest.raises(LogFailedError, match="was removed"):
        again.append(entries(5, 5))
    with pytest.raises(DamagedLogError, match="is not there, but its -wal is"):
        SqliteLog(path)
    assert not path.exists()
    Path(f"{path}-wal").unlink()
    SqliteLog(path).close()
    before = path.read_bytes()
    with pytest.raises(LogFailedError, match="is another log now"):
        again.reopened()
    assert path.read_bytes() == before
