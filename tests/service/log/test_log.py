"""The log's file: damaged ones are refused, torn ones recover, nobody shares one."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from log_entries import entries

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.sqlite_log import SqliteLog


@pytest.fixture
def crashed(path: Path, tmp_path: Path) -> Path:
    """A log of 3000 entries as a kill leaves it: the last 50 only in the write-ahead log."""
    log = SqliteLog(path)
    log.append(entries(1, 2950))
    log._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    log._writer.wal_autocheckpoint(0)
    for seq in range(2951, 3001):
        log.append(entries(seq, seq))
    copy = tmp_path / "crashed.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{copy}{ending}")
    log.close()
    return copy


def cut(path: Path | str, length: int) -> None:
    with open(path, "r+b") as file:
        file.truncate(length)


@pytest.mark.parametrize("question", ["policies", "audit"])
def test_a_start_does_not_read_the_daily_work(path: Path, question: str) -> None:
    """A log of a million decisions is a gigabyte, which a disk takes many seconds to read."""
    log = SqliteLog(path)
    asked: list[str] = []
    log.connection.exec_trace = lambda _, sql, __: asked.append(sql) is None
    log.policies() if question == "policies" else log.audit("p")
    log.connection.exec_trace = None
    plan = log.connection.execute(f"EXPLAIN QUERY PLAN {asked[0].replace('?', '1')}").fetchall()
    assert all("INDEX" in str(row[3]) or "ORDER BY" in str(row[3]) for row in plan), plan
    log.close()


def test_a_crashed_log_recovers_whole(crashed: Path) -> None:
    log = SqliteLog(crashed)
    assert log.check() == 3000
    log.close()


@pytest.mark.parametrize("lost", [1, 24, 4096, 4120, 5000, 40_000, 150_000])
def test_a_torn_write_ahead_log_recovers_to_a_commit(crashed: Path, lost: int) -> None:
    wal = Path(f"{crashed}-wal")
    cut(wal, wal.stat().st_size - lost)
    log = SqliteLog(crashed)
    count = log.check()
    assert 2950 <= count < 3000
    assert list(log.read("p")) == entries(1, count)
    log.append(entries(count + 1, count + 1))
    log.close()


def test_rubbish_at_the_end_of_the_write_ahead_log_is_no_entry(crashed: Path) -> None:
    with open(f"{crashed}-wal", "r+b") as file:
        file.seek(-3000, 2)
        file.write(bytes(2000))
    log = SqliteLog(crashed)
    assert log.check() == 2999
    log.close()


@pytest.mark.parametrize("with_wal", [True, False])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(crashed: Path, part: float, with_wal: bool) -> None:
    if not with_wal:
        Path(f"{crashed}-wal").unlink()
    cut(crashed, int(crashed.stat().st_size * part))
    try:
        log = SqliteLog(crashed)
    except (DamagedLogError, LogFailedError):
        return
    # Only the last page was lost, and the write-ahead log has it.
    assert with_wal
    assert part > 0.9
    assert log.check() == 3000
    log.close()


@pytest.mark.parametrize("content", [b"rubbish" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises((DamagedLogError, LogFailedError)):
        SqliteLog(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(DamagedLogError, match="another program"):
        SqliteLog(path)


def test_a_log_of_a_later_format_is_refused(path: Path) -> None:
    SqliteLog(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 2")
    other.close()
    with pytest.raises(DamagedLogError, match="format version 2"):
        SqliteLog(path)


def test_a_log_has_one_owner_by_whatever_name(path: Path, tmp_path: Path) -> None:
    log = SqliteLog(path)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(DamagedLogError, match="another service"):
            SqliteLog(name)
    log.close()
    SqliteLog(link).close()


def test_places_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(DamagedLogError, match="folder"):
        SqliteLog(tmp_path)
    with pytest.raises(DamagedLogError, match="No such file or directory"):
        SqliteLog(tmp_path / "nix" / "log.db")


def test_a_reader_of_the_file_does_not_keep_the_service_from_starting(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SqliteLog(path)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT count(*) FROM entries").fetchall()
    log.append(entries(1, 500))
    log._writer.set_busy_timeout(0)
    log.close()
    reopened = SqliteLog(path)  # waits for the reader at first, then goes on without
    assert reopened.check() == 500
    reopened.close()
    reader.close()


@pytest.mark.parametrize("mark", ["application_id", "user_version"])
def test_an_empty_file_that_another_program_marked_is_not_taken(path: Path, mark: str) -> None:
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA {mark} = 7")
    other.close()
    with pytest.raises(DamagedLogError, match="another program"):
        SqliteLog(path)


#: Another program that holds the lock of checkpoints (byte 121 of the shared memory).
CHECKPOINTING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def checkpoint_elsewhere(path: Path) -> Iterator[None]:
    """Have another program at its own checkpoint meanwhile."""
    words = [sys.executable, "-c", CHECKPOINTING, f"{path}-shm"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        yield
        other.communicate()


def test_the_write_ahead_log_begins_anew_while_commits_go_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greedyfirst.service.log.sqlite_log._PAGES_IN_WAL", 20)
    log = SqliteLog(path)

    def append(first: int, last: int) -> None:
        for seq in range(first, last + 1):
            log.append(entries(seq, seq))
            time.sleep(0.001)

    append(1, 50)
    with checkpoint_elsewhere(path):
        append(51, 100)
    append(101, 500)
    # 500 commits of at least three pages each would make it 6.1 MB long.
    assert Path(f"{path}-wal").stat().st_size < 2_000_000
    assert path.stat().st_size > 50_000
    assert log.check() == 500
    log.close()
