"""Sessions: when they end, in memory and in a table; what is asked while the table is silent."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import psycopg
import pytest

from greedyfirst.service.errors import LogFailedError, UnavailableError
from greedyfirst.service.http import sessions
from greedyfirst.service.http.sessions import (
    LONGEST,
    LONGEST_IDLE,
    Sessions,
    SessionsInMemory,
    SharedSessions,
    sessions_of,
)
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from support.postgres_server import PostgresServer


class Table:
    """A table that answers when a test lets it, or fails; of each question, what it was about."""

    def __init__(self) -> None:
        self.asked: list[set[bytes]] = []
        self.open: dict[bytes, bytes] = {}
        self.lets = threading.Event()
        self.lets.set()
        self.failure: str | None = None

    def begin(self, token: bytes, key: bytes) -> None:
        self._wait()
        self.open[token] = key

    def keys_of(self, tokens: Collection[bytes]) -> dict[bytes, bytes]:
        self._wait()
        self.asked.append({*tokens})
        return {token: key for token, key in self.open.items() if token in tokens}

    def end(self, token: bytes) -> None:
        self._wait()
        self.open.pop(token, None)

    def close(self) -> None:
        self.lets.set()

    def _wait(self) -> None:
        self.lets.wait(10)
        if self.failure is not None:
            raise LogFailedError(self.failure)


def shared(table: Table) -> SharedSessions:
    as_table: Any = table
    return SharedSessions(as_table, b"secret")


async def live(opened: Sessions) -> None:
    """One person signs in twice, and out once."""
    one, two = await opened.begin(b"key"), await opened.begin(b"key")
    assert one != two
    assert [await opened.key_of(each) for each in (one, two, "made up")] == [b"key", b"key", None]
    await opened.end(one)
    await opened.end("made up")
    assert [await opened.key_of(each) for each in (one, two)] == [None, b"key"]
    for strange in ("", "\udcff", "x" * 10_000, "\0"):
        assert await opened.key_of(strange) is None
    await opened.close()


def test_sessions_begin_and_end_wherever_they_are(url: PostgresUrl) -> None:
    PostgresLog(url).close()
    for place in (url, Path("log.db")):
        asyncio.run(live(sessions_of(place)))
    asyncio.run(live(shared(Table())))


def test_all_services_on_a_database_mark_forms_alike(
    postgres: PostgresServer, url: PostgresUrl
) -> None:
    PostgresLog(url).close()
    secret = sessions_of(url).form_secret
    assert len(secret) == 32
    PostgresLog(url).close()
    assert sessions_of(url).form_secret == secret
    postgres.emptied()
    PostgresLog(url).close()
    assert sessions_of(url).form_secret != secret
    assert SessionsInMemory().form_secret != SessionsInMemory().form_secret


def test_a_database_keeps_hashes_and_a_hash_is_no_token(url: PostgresUrl) -> None:
    PostgresLog(url).close()

    async def life() -> None:
        opened = sessions_of(url)
        token = await opened.begin(b"key")
        with psycopg.connect(url.conninfo) as connection:
            rows = connection.execute("SELECT token, key FROM greedyfirst.sessions").fetchall()
        known = hashlib.sha256(token.encode()).digest()
        assert rows == [(known, b"key")]
        for stolen in (known.hex(), known.decode("latin-1"), known.decode("utf-8", "replace")):
            assert await opened.key_of(stolen) is None
        assert await opened.key_of(token) == b"key"
        await opened.close()

    asyncio.run(life())


def test_sessions_in_memory_end() -> None:
    asyncio.run(_end_in_memory())


async def _end_in_memory() -> None:
    now = [0.0]
    opened = SessionsInMemory(clock=lambda: now[0])
    idle, busy = await opened.begin(b"a"), await opened.begin(b"b")
    while now[0] < LONGEST:
        assert await opened.key_of(busy) == b"b"
        now[0] += LONGEST_IDLE / 2
    assert await opened.key_of(idle) is None
    now[0] += 1.0
    assert await opened.key_of(busy) is None
    now[0] = 0.0
    assert await opened.key_of(busy) is None  # ended for good


def test_of_too_many_in_memory_the_oldest_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 2)

    async def life() -> list[bytes | None]:
        opened = SessionsInMemory()
        tokens = [await opened.begin(key) for key in (b"1", b"2", b"3")]
        return [await opened.key_of(token) for token in tokens]

    assert asyncio.run(life()) == [None, b"2", b"3"]


# -------------------------------------------------------------------- many, and a silent database


def test_a_flood_of_tokens_asks_the_table_no_more_often() -> None:
    table = Table()

    async def flood() -> None:
        opened = shared(table)
        token = await opened.begin(b"key")
        table.lets.clear()
        first = asyncio.create_task(opened.key_of("first"))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(opened.key_of(f"made up {n}")) for n in range(500)]
        signed_in = asyncio.create_task(opened.key_of(token))
        await asyncio.sleep(0.05)
        table.lets.set()
        assert await signed_in == b"key"
        assert {await each for each in (first, *others)} == {None}

    asyncio.run(flood())
    assert [len(asked) for asked in table.asked] == [1, 501]


def test_a_silent_table_keeps_nobody_waiting_and_the_loop_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_LONGEST_WAIT", 0.2)
    monkeypatch.setattr(sessions, "_MOST_ASKED", 3)
    table = Table()

    async def life() -> None:
        opened = shared(table)
        token = await opened.begin(b"key")
        table.lets.clear()
        asking = [asyncio.create_task(opened.key_of(f"{n}")) for n in range(10)]
        ending = asyncio.create_task(opened.end(token))
        for _ in range(10):
            await asyncio.sleep(0.01)  # the loop turns meanwhile
        for each in (*asking, ending):
            with pytest.raises(UnavailableError, match="you need not sign in again"):
                await each
        table.lets.set()
        while table.open:  # signed out all the same, a little later
            await asyncio.sleep(0.01)
        assert await opened.key_of(token) is None

    asyncio.run(life())
    assert max(len(asked) for asked in table.asked) <= 3


def test_why_the_table_cannot_be_asked_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    table = Table()

    async def life() -> None:
        opened = shared(table)
        token = await opened.begin(b"key")
        for table.failure in ("cut", "cut", "full", None):
            if table.failure is None:
                assert await opened.key_of(token) == b"key"
                continue
            for asking in (opened.key_of(token), opened.begin(b"key"), opened.end("x")):
                with pytest.raises(UnavailableError) as told:
                    await asking
                assert table.failure not in told.value.sentence

    asyncio.run(life())
    assert [record.message for record in caplog.records] == [
        "sessions cannot be looked up: cut",
        "sessions cannot be looked up: full",
    ]
