"""Keys that are new are known to be; keys that are not are never taken for new."""

import asyncio
import time
import uuid

import pytest

from greedyfirst.service.events import Rewarded
from greedyfirst.service.key_filter import KeyFilter
from greedyfirst.service.log import Entry
from greedyfirst.service.service import DecisionService
from greedyfirst.service.specification import NumericFeature, PolicyDescription, Specification
from greedyfirst.service.sqlite_log import SqliteLog

SPECIFICATION = Specification(
    name="dose",
    arms=("low", "high"),
    features=(NumericFeature(name="age"),),
    policy=PolicyDescription(policy="Greedy"),
    seed=1,
)


def entry(number, key=None):
    event = Rewarded(step=number, part="", value=1.0, outcome="counted")
    return Entry.of(event, seq=number, at=float(number), policy="dose", key=key)


def test_added_keys_are_found_and_most_others_are_not():
    """Of 10 000 new keys 10 000 · 10 000 / 2²⁷ ≈ 0.75 share a bit; 10 do with chance 1e-9."""
    known = [uuid.uuid4().hex for _ in range(10_000)]
    keys = KeyFilter(("dose", key) for key in known[:5000])
    for key in known[5000:]:
        keys.add("dose", key)
    assert all(keys.may_have("dose", key) for key in known)
    assert sum(keys.may_have("dose", uuid.uuid4().hex) for _ in range(10_000)) < 10
    assert sum(keys.may_have("another", key) for key in known) < 10


@pytest.mark.parametrize("restarted", [False, True])
def test_a_key_is_known_after_a_restart_too(tmp_path, restarted):
    async def run():
        service = DecisionService(lambda: SqliteLog(tmp_path / "log.db"))
        await service.start()
        await service.create(SPECIFICATION)
        first = await service.decide("dose", {"age": 1.0}, key="once")
        await service.decide("dose", {"age": 2.0}, key="twice")
        if restarted:
            await service.stop()
            service = DecisionService(lambda: SqliteLog(tmp_path / "log.db"))
            await service.start()
        again = await service.decide("dose", {"age": 1.0}, key="once")
        decisions = service.policy("dose").agent.decisions
        await service.stop()
        return first == again, decisions

    assert asyncio.run(run()) == (True, 2)


def test_large_appends_are_one_transaction(tmp_path):
    log = SqliteLog(tmp_path / "log.db")
    log.append([entry(number, key=f"k{number}") for number in range(1, 251)])
    assert (log.last()[0], log.check()) == (250, 250)
    assert set(log.keys()) == {("dose", f"k{number}") for number in range(1, 251)}
    with pytest.raises(Exception, match="UNIQUE"):
        log.append([*[entry(number) for number in range(251, 600)], entry(600, key="k7")])
    assert (log.last()[0], log.check()) == (250, 250)
    log.append([entry(251)])
    log.close()
    log = SqliteLog(tmp_path / "log.db")
    assert log.check() == 251
    log.close()


def test_the_write_ahead_log_begins_anew_while_commits_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("greedyfirst.service.sqlite_log._PAGES_IN_WAL", 20)
    log = SqliteLog(tmp_path / "log.db")
    for number in range(1, 401):
        log.append([entry(number)])
        time.sleep(0.001)
    # 400 commits of at least three pages each would make it 4.9 MB long.
    assert (tmp_path / "log.db-wal").stat().st_size < 1_500_000
    assert (tmp_path / "log.db").stat().st_size > 50_000
    assert log.check() == 400
    log.close()
