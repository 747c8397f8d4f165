"""A copy that ends half-way, by a signal, a server that goes or a full disk, leaves no log."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from stores import FileStore, Place, Store, has_log, write

from greedyfirst.service.errors import LogFailedError
from greedyfirst.service.log.copying import copy_log
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.table_reader import silently
from support.interrupts import hear_interrupts
from support.postgres_server import PostgresServer


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_copy_that_is_killed_leaves_no_log(
    tmp_path: Path, target: Place, how: signal.Signals
) -> None:
    store = FileStore(tmp_path)
    write(store, 40_000)
    words = [sys.executable, "-m", "greedyfirst", "log", "copy", str(store.place), str(target)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts
    ) as process:
        while not filling(target):
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(how)
        said = process.stderr.read() if process.stderr else b""
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    assert said == (b"" if how == signal.SIGKILL else b"interrupted\n")
    assert not has_log(target)
    if how == signal.SIGINT:
        assert names(tmp_path) == [store.place.name]
    end = time.monotonic() + 10
    while filling(target) and not isinstance(target, Path):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert copy_log(store.place, target).head.seq == 40_000


def filling(place: Place) -> bool:
    """Whether entries are being copied to it."""
    if isinstance(place, Path):
        return any(each.stat().st_size for each in place.parent.glob(f".{place.name}.*"))
    with psycopg.connect(place.conninfo) as connection:
        found = connection.execute(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() "
            "AND query LIKE 'COPY entries%'"
        )
        return found.fetchone() is not None


def test_a_server_that_goes_meanwhile_has_no_log(
    store: Store, postgres: PostgresServer, fresh_url: PostgresUrl
) -> None:
    write(store)

    def begin(doing: str, total: int) -> Any:
        if doing == "checking":
            postgres.end()
        return silently

    try:
        with pytest.raises(LogFailedError):
            copy_log(store.place, fresh_url, begin=begin)
    finally:
        postgres.start()
    assert not has_log(fresh_url)
    assert copy_log(store.place, fresh_url).head.seq == 30


def fill(disk: Path) -> Path:
    """Take all room of a disk but for a megabyte, which the tables of a log need."""
    filler = disk / "filler"
    filler.write_bytes(bytes((shutil.disk_usage(disk).free - 1_000_000) // 4096 * 4096))
    return filler


def test_a_file_on_a_full_disk_is_no_copy(store: Store, small_disk: Path) -> None:
    write(store, 10_000)
    target = small_disk / "copy.db"
    filler = fill(small_disk)
    with pytest.raises(LogFailedError, match="is full") as caught:
        copy_log(store.place, target)
    assert str(caught.value).startswith(f"{target}: ")
    assert names(small_disk) == ["filler"]
    filler.unlink()
    assert copy_log(store.place, target).head.seq == 10_000


def test_a_database_on_a_full_disk_has_no_copy(store: Store, small_disk: Path) -> None:
    write(store, 10_000)
    server = PostgresServer(small_disk, "max_wal_size=32MB", "min_wal_size=32MB", "wal_recycle=off")
    try:
        url = PostgresUrl.parse(server.url(server.new_database()))
        assert not has_log(url)  # the first connection writes files too
        filler = fill(small_disk)
        with pytest.raises(LogFailedError) as caught:
            copy_log(store.place, url)
        assert str(caught.value).startswith(f"{url}: ")
        filler.unlink()
        if server.process.poll() is not None:
            server.start()
        assert not has_log(url)
        assert copy_log(store.place, url).head.seq == 10_000
    finally:
        server.remove()
