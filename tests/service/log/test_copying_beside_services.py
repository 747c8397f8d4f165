"""A copy beside services: of one moment, and nobody else sees it before it is whole."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from log_entries import entries
from stores import FileStore, Place, Store, has_log, write
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.log.copying import copy_log
from greedyfirst.service.log.entries import Head
from greedyfirst.service.log.places import open_log, reading
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.table_reader import silently


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_copy_beside_commits_is_a_state_that_was(store: Store, target: Place) -> None:
    log = store.open()
    ended = threading.Event()
    written = 0

    def go_on() -> None:
        nonlocal written
        while not ended.is_set():
            log.append(entries(written + 1, written + 3))
            written += 3

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        while written < 30:
            time.sleep(0.01)
        before = written
        done = copy_log(store.place, target)
        assert before <= done.head.seq <= written + 3
    finally:
        ended.set()
        writer.join()
    assert done.head.seq % 3 == 0
    assert done.in_use
    with reading(target) as copied:
        assert (copied.check(), copied.head()) == (done.head.seq, log.head_at(done.head.seq))
    log.close()


def test_what_is_recorded_from_now_on_is_said_to_be_lacking(store: Store, target: Place) -> None:
    log = store.open()
    log.append(entries(1, 3))
    told = run("log", "copy", store.place, target)
    assert told.exit_code == 0, told.output
    assert "has 3 entries, all as they were written; head 3:" in told.output
    assert "a service uses" in told.output
    assert "to move the log, end all its services" in told.output
    log.close()


def test_services_are_to_start_on_the_copy_only(store: Store, target: Place) -> None:
    write(store, 3)
    told = run("log", "copy", store.place, target)
    assert told.exit_code == 0, told.output
    assert "no service uses" in told.output
    assert f"start services on {target} only" in told.output
    assert "the same decision ids twice" in told.output


def test_a_service_that_starts_on_a_file_meanwhile_makes_no_copy(
    tmp_path: Path, target: Place
) -> None:
    source = FileStore(tmp_path)
    write(source, 1200)

    def begin(doing: str, total: int) -> Any:
        if doing == "checking":
            log = source.open()
            log.append(entries(1201, 1201))
            log.close()
        return silently

    with pytest.raises(OSError, match=r"log.db was changed while it was copied"):
        copy_log(source.place, target, begin=begin)
    assert not has_log(target)


def test_a_service_that_starts_in_the_database_meanwhile_waits_and_has_the_whole_log(
    tmp_path: Path, fresh_url: PostgresUrl
) -> None:
    source = FileStore(tmp_path)
    write(source, 30)
    found: list[Head] = []

    def start() -> None:
        log = open_log(fresh_url)
        found.append(log.head())
        log.close()

    service = threading.Thread(target=start)

    def begin(doing: str, total: int) -> Any:
        if doing == "checking":
            service.start()
            service.join(0.5)
            assert service.is_alive()
            assert run("log", "copy", source.place, fresh_url).exception is not None
        return silently

    done = copy_log(source.place, fresh_url, begin=begin)
    service.join()
    assert found == [done.head]


def test_a_slow_copy_is_not_cut_off(store: Store, fresh_url: PostgresUrl) -> None:
    """Services' transactions are, when they stand still for two seconds."""
    write(store, 30)

    def begin(doing: str, total: int) -> Any:
        time.sleep(2.5)
        return silently

    assert copy_log(store.place, fresh_url, begin=begin).head.seq == 30


def test_a_terminal_shows_bars(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    write(store, 1200)
    terminal, screen = os.openpty()
    words = ["log", "copy", str(store.place), str(tmp_path / "copy.db")]
    done = subprocess.run(
        [sys.executable, "-m", "greedyfirst", *words], stdout=subprocess.PIPE, stderr=screen
    )
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    os.close(screen)
    assert "copying" in shown
    assert "checking" in shown
    assert "100%" in shown
    assert len(done.stdout.splitlines()) == 3


def test_how_far_it_is_is_told(store: Store, target: Place) -> None:
    write(store, 1200)
    begun: list[tuple[str, int]] = []
    told: list[int] = []

    def begin(doing: str, total: int) -> Any:
        begun.append((doing, total))
        return told.append

    copy_log(store.place, target, begin=begin)
    assert begun == [("copying", 1200), ("checking", 2400)]
    assert (sum(told), max(told)) == (3600, 500)
