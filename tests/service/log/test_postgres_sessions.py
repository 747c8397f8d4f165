"""The table of sessions: when they end, how many there are, and a server that goes and comes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from greedyfirst.service.errors import LogFailedError
from greedyfirst.service.log import postgres_sessions
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.log.postgres_sessions import SessionTable
from support.postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def tables(url: PostgresUrl) -> None:
    """The database has a log."""
    PostgresLog(url).close()


def table_at(url: PostgresUrl, most: int = 100) -> SessionTable:
    return SessionTable(url, longest=43_200.0, longest_idle=3600.0, most=most)


@pytest.fixture
def table(url: PostgresUrl) -> Iterator[SessionTable]:
    with closing(table_at(url)) as made:
        yield made


def sql(url: PostgresUrl, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url.conninfo, autocommit=True) as connection:
        connection.execute("SET search_path = greedyfirst")
        found = connection.execute(statement)
        return found.fetchall() if found.description else []


@pytest.mark.parametrize(
    ("began", "used", "is_open"),
    [
        ("0 seconds", "0 seconds", True),
        ("11:59:50", "0 seconds", True),
        ("12:00:01", "0 seconds", False),
        ("2 hours", "00:59:50", True),
        ("2 hours", "01:00:01", False),
    ],
)
def test_a_session_ends_twelve_hours_after_it_began_and_an_hour_after_its_use(
    url: PostgresUrl, table: SessionTable, began: str, used: str, is_open: bool
) -> None:
    table.begin(b"token", b"key")
    sql(url, f"UPDATE sessions SET began = now() - '{began}'::interval")
    sql(url, f"UPDATE sessions SET used = now() - '{used}'::interval")
    with closing(table_at(url)) as other:
        for each in (table, other):
            assert each.keys_of({b"token", b"made up"}) == ({b"token": b"key"} if is_open else {})


def test_the_use_is_noted_once_a_minute(url: PostgresUrl, table: SessionTable) -> None:
    table.begin(b"token", b"key")
    table.begin(b"idle", b"key")
    ages = "SELECT token, extract(epoch FROM now() - used) < 10 FROM sessions ORDER BY token"
    for seconds, noted in ((50, False), (70, True)):
        sql(url, f"UPDATE sessions SET used = now() - interval '{seconds} seconds'")
        assert table.keys_of([b"token"]) == {b"token": b"key"}
        assert sql(url, ages) == [(b"idle", False), (b"token", noted)]
    sql(url, "UPDATE sessions SET used = now() - interval '2 hours'")
    assert table.keys_of([b"token"]) == {}
    assert sql(url, ages) == [(b"idle", False), (b"token", False)]  # it begins not anew


def test_old_sessions_are_removed_and_the_newest_are_kept(url: PostgresUrl) -> None:
    with closing(table_at(url, most=3)) as table:
        for number in range(5):
            table.begin(b"%d" % number, b"key")
        left = "SELECT token FROM sessions ORDER BY token"
        assert sql(url, left) == [(b"2",), (b"3",), (b"4",)]
        sql(url, "UPDATE sessions SET used = now() - interval '2 hours' WHERE token = '2'")
        sql(url, "UPDATE sessions SET began = now() - interval '13 hours' WHERE token = '3'")
        table.begin(b"5", b"key")
        assert sql(url, left) == [(b"4",), (b"5",)]
        table.end(b"4")
        table.end(b"4")
        assert sql(url, left) == [(b"5",)]


def test_nobody_waits_for_a_service_that_stands_still(
    url: PostgresUrl, table: SessionTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_sessions, "_LONGEST", 0.3)
    table.begin(b"token", b"key")
    sql(url, "UPDATE sessions SET used = now() - interval '2 minutes'")
    with closing(table_at(url)) as other, psycopg.connect(url.conninfo) as holding:
        holding.execute("SELECT FROM greedyfirst.sessions FOR UPDATE")
        began = time.monotonic()
        assert other.keys_of([b"token"]) == {b"token": b"key"}
        other.begin(b"another", b"key")
        with pytest.raises(LogFailedError, match="statement timeout"):
            other.end(b"token")
        assert time.monotonic() - began < 2.0
        holding.rollback()
        other.end(b"token")
        assert other.keys_of([b"token"]) == {}


def test_a_server_that_comes_back_still_has_them(
    postgres: PostgresServer, url: PostgresUrl, table: SessionTable
) -> None:
    table.begin(b"token", b"key")
    postgres.end(signal.SIGQUIT)
    with pytest.raises(LogFailedError):
        table.keys_of([b"token"])
    postgres.start()
    assert table.keys_of([b"token"]) == {b"token": b"key"}
    sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert table.keys_of([b"token"]) == {b"token": b"key"}  # on a new connection, at once


def test_threads_take_turns_and_closing_does_not_wait_for_a_silent_server(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_sessions, "_LONGEST", 0.5)
    table = table_at(url)
    tokens = [b"%d" % number for number in range(20)]
    threads = [threading.Thread(target=table.begin, args=(token, b"key")) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.keys_of(tokens).keys() == {*tokens}
    ((backend,),) = sql(
        url,
        "SELECT pid FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND query LIKE '%WITH noted%'",
    )
    assert isinstance(backend, int)
    os.kill(backend, signal.SIGSTOP)
    try:
        asking = threading.Thread(target=table.keys_of, args=(tokens,))
        asking.start()
        time.sleep(0.1)
        began = time.monotonic()
        table.close()
        assert time.monotonic() - began < 2.0
    finally:
        os.kill(backend, signal.SIGCONT)
        asking.join()
    table.close()
