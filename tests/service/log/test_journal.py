"""Group commit: what gathers is written at once, in order, and failures reach whoever waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from greedyfirst.service.errors import LogFailedError, UnavailableError
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Expired
from greedyfirst.service.log.journal import Journal


class SlowLog:
    """A log in memory whose writes wait until they are let go."""

    remote = False

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.kept: list[Entry] = []
        self.snapshots: list[int] = []
        self.go = threading.Semaphore(0)
        self.began = threading.Semaphore(0)
        self.broken = False

    def last(self, policy: str | None = None) -> tuple[int, float]:
        return (0, 0.0)

    def keys(self, policy: str | None = None) -> Iterator[tuple[str, str]]:
        return iter(())

    def append(self, entries: Sequence[Entry]) -> int:
        self.began.release()
        assert self.go.acquire(timeout=10)
        if self.broken:
            raise LogFailedError("the disk is gone")
        self.batches.append([entry.seq for entry in entries])
        self.kept += entries
        return entries[0].seq

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        self.snapshots.append(seq)

    def about(self, policy: str, step: int) -> list[Entry]:
        return [entry for entry in self.kept if entry.step == step]

    def with_key(self, policy: str, key: str) -> Entry | None:
        return next((entry for entry in self.kept if entry.key == key), None)


def add(journal: Journal, step: int, key: str | None = None) -> Entry:
    return journal.add(Expired(step=step, learned=None), at=0.0, policy="p", key=key)


def run(scenario: Any) -> None:
    async def main() -> None:
        log: Any = SlowLog()
        journal = Journal(log)
        await scenario(log, journal)
        log.go.release(100)
        journal.close()

    asyncio.run(main())


async def in_thread(semaphore: threading.Semaphore) -> None:
    assert await asyncio.to_thread(semaphore.acquire, True, 10)


def test_what_gathers_during_a_write_is_written_together() -> None:
    async def scenario(log: SlowLog, journal: Journal) -> None:
        add(journal, 1)
        await in_thread(log.began)
        waits = []
        for step in range(2, 12):
            add(journal, step)
            waits.append(asyncio.create_task(journal.durable()))
        await asyncio.sleep(0.05)
        assert not any(wait.done() for wait in waits)
        log.go.release(2)
        await asyncio.wait_for(asyncio.gather(*waits), 10)
        assert log.batches == [[1], list(range(2, 12))]
        assert journal.written == 11

    run(scenario)


def test_entries_on_their_way_are_found() -> None:
    async def scenario(log: SlowLog, journal: Journal) -> None:
        first = add(journal, 1, "k")
        await in_thread(log.began)
        second = add(journal, 1)
        assert journal.about("p", 1) == [first, second]
        assert journal.with_key("p", "k") == first
        assert journal.with_key("q", "k") is None
        log.go.release()  # the first is kept now, the second not yet
        await in_thread(log.began)
        await asyncio.sleep(0.05)
        assert log.kept == [first]
        assert journal.about("p", 1) == [first, second]
        assert journal.with_key("p", "k") == first
        log.go.release()
        await asyncio.wait_for(journal.durable(), 10)
        assert journal.about("p", 1) == [first, second]

    run(scenario)


def test_a_failure_reaches_all_who_wait_and_all_who_come() -> None:
    async def scenario(log: SlowLog, journal: Journal) -> None:
        add(journal, 1)
        waits = [asyncio.create_task(journal.durable()) for _ in range(3)]
        gone = asyncio.create_task(journal.durable())
        await in_thread(log.began)
        gone.cancel()  # a caller who hung up
        log.broken = True
        log.go.release()
        results = await asyncio.gather(*waits, return_exceptions=True)
        assert [type(result) for result in results] == [UnavailableError] * 3
        assert "the disk is gone" in str(results[0])
        assert journal.failure == "the disk is gone"
        assert log.batches == []

    run(scenario)


def test_a_snapshot_is_kept_after_its_entries_and_holds_up_no_answer() -> None:
    async def scenario(log: SlowLog, journal: Journal) -> None:
        add(journal, 1)
        journal.keep("p", lambda: b"")
        log.go.release()
        await asyncio.wait_for(journal.durable(), 10)
        add(journal, 2)
        log.go.release()
        await asyncio.wait_for(journal.durable(), 10)
        assert log.snapshots == [1]

    run(scenario)


def test_closing_writes_what_is_left() -> None:
    async def scenario(log: SlowLog, journal: Journal) -> None:
        for step in range(1, 4):
            add(journal, step)
        log.go.release(10)
        journal.close()
        assert [entry.seq for entry in log.kept] == [1, 2, 3]

    run(scenario)


def test_what_comes_while_a_thread_reads_is_not_missed() -> None:
    class RemoteLog(SlowLog):
        """Its reads wait until they are let go; they give what was there at the beginning."""

        remote = True
        read = threading.Semaphore(0)
        reading = threading.Semaphore(0)

        def about(self, policy: str, step: int) -> list[Entry]:
            found = super().about(policy, step)
            self.reading.release()
            assert self.read.acquire(timeout=10)
            return found

    async def scenario(log: RemoteLog, journal: Journal) -> None:
        log.go.release(100)
        first = add(journal, 1)
        await asyncio.wait_for(journal.durable(), 10)
        on_its_way = add(journal, 1)
        holding = journal.at_hand("p", steps=[1])
        entering = asyncio.create_task(holding.__aenter__())
        await in_thread(log.reading)
        later = add(journal, 1, "k")
        await asyncio.wait_for(journal.durable(), 10)  # the journal has forgotten both
        assert not entering.done()
        log.read.release()
        await entering
        assert journal.about("p", 1) == [first, on_its_way, later]
        async with journal.at_hand("p", key="k"):
            assert journal.with_key("p", "k") == later
        await holding.__aexit__(None, None, None)
        log.read.release()
        assert journal.about("p", 1) == [first, on_its_way, later]

    async def main() -> None:
        log: Any = RemoteLog()
        journal = Journal(log)
        await scenario(log, journal)
        await asyncio.to_thread(journal.close)

    asyncio.run(main())
