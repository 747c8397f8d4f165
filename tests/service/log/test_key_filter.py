"""Keys that are new are known to be; keys that are not are never taken for new."""

import asyncio
import uuid

import pytest

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Rewarded
from greedyfirst.service.log.journal import KeyFilter
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.specification import NumericFeature, Specification

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
        await service.admin.create(SPECIFICATION)
        first = await service.decide("dose", {"age": 1.0}, key="once")
        await service.decide("dose", {"age": 2.0}, key="twice")
        if restarted:
            await service.stop()
            service = DecisionService(lambda: SqliteLog(tmp_path / "log.db"))
            await service.start()
        again = await service.decide("dose", {"age": 1.0}, key="once")
        decisions = service.deployment("dose").agent.decisions
        await service.stop()
        return first == again, decisions

    assert asyncio.run(run()) == (True, 2)
