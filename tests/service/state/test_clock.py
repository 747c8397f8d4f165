"""Jumps of the machine's clock: they move no wait, are told, and a person answers them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from failing_disk import FailingDisk
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, create, decide, reward, state_of, view

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import Access
from greedyfirst.service.http.application import make_application
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.clock import LOOKS, SLEW, TOLERANCE, Clock
from greedyfirst.service.state.restoring import restore
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.specification import Specification

DAY = 86_400.0
WAIT = 30 * DAY
JUMP = 400 * DAY


class Machine:
    """A machine whose clock can be set, while its time passes as it does."""

    def __init__(self) -> None:
        self.passed, self.wall = 50.0, 1_000_000.0

    def pass_(self, seconds: float) -> None:
        self.passed += seconds
        self.wall += seconds

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.passed)


Serve = Callable[..., AbstractContextManager[tuple[TestClient[Any], DecisionService]]]


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def serve(path: Path, machine: Machine) -> Serve:
    """Serves the log; again on the same file each time it is called."""

    @contextmanager
    def serving(**options: Any) -> Any:
        service = DecisionService(lambda: SqliteLog(path), clock=machine.clock(), **options)
        app = make_application(service, access=Access(list))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield client, service

    return serving


def looked(client: TestClient[Any], service: DecisionService, machine: Machine) -> None:
    """Let so many seconds pass that a lasting difference is told."""

    async def look() -> None:
        journal = service.working()
        for _ in range(LOOKS):
            machine.pass_(1.0)
            await service._look_after(journal)
        await journal.durable()

    client.blocking_portal.call(look)


def kinds(path: Path, policy: str = "") -> list[str]:
    return [entry.kind for entry in _entries(path, policy)]


def _entries(path: Path, policy: str) -> list[Any]:
    log = SqliteLog(path)
    try:
        return list(log.read(policy))
    finally:
        log.close()


def answer(client: TestClient[Any], said: str) -> Any:
    return client.post("/v1/clock", json={"answer": said, **BY})


# ---------------------------------------------------------------- the clock alone


def test_time_passes_whatever_the_machines_clock_does(machine: Machine) -> None:
    clock = machine.clock()
    start = clock.base + clock.passing()
    for wall in (5e9, 0.0, 1e6, -1e9):
        machine.wall = wall
        machine.passed += 10.0
    assert clock.base + clock.passing() == pytest.approx(start + 40.0, abs=1e-6)


def test_a_difference_is_told_once_it_lasts_and_when_it_is_gone(machine: Machine) -> None:
    clock = machine.clock()
    machine.wall += JUMP
    told = []
    for _ in range(5):
        machine.pass_(1.0)
        told.append(clock.look())
    assert told == [False] * (LOOKS - 1) + [True] + [False] * (5 - LOOKS)
    assert clock.asks
    assert clock.told == pytest.approx(JUMP)
    machine.wall -= JUMP
    assert [clock.look() for _ in range(LOOKS)][-1]
    assert (clock.asks, clock.told) == (False, 0.0)


def test_a_small_difference_is_followed_slowly_and_never_back(machine: Machine) -> None:
    clock = machine.clock()
    machine.wall -= 0.5 * TOLERANCE
    times = []
    for _ in range(int(0.5 * TOLERANCE / SLEW) + 10):
        machine.pass_(1.0)
        assert not clock.look()
        times.append(clock.base + clock.passing())
    assert all(after > before for before, after in pairwise(times))
    assert clock.offset == pytest.approx(0.0, abs=1e-6)


def test_the_machines_own_clocks_count_a_suspended_machine() -> None:
    clock = Clock()
    assert abs(clock.offset) < 1.0
    before = clock.passing()
    assert clock.passing() >= before


# ---------------------------------------------------------------- in a running service


def test_a_jump_ends_no_wait_and_changes_no_stamp(
    serve: Serve, machine: Machine, path: Path
) -> None:
    with serve() as (client, service):
        create(client, reward_wait=WAIT, default_reward=0.0)
        ids = [decide(client)["decision_id"] for _ in range(50)]
        machine.wall += JUMP
        looked(client, service, machine)
        decided = decide(client)
        assert decided["at"] == pytest.approx(1_000_000.0 + LOOKS)
        machine.wall -= JUMP
        looked(client, service, machine)
        shown = view(client)
        assert (shown["pending"], shown["defaulted"]) == (51, 0)
        assert reward(client, ids[0], 1.0) == "counted"
        assert decide(client)["at"] == pytest.approx(1_000_000.0 + 2 * LOOKS)
        machine.pass_(WAIT + 1.0)  # time that does pass ends waits as ever
        assert reward(client, ids[1], 1.0) == "late"
        assert view(client)["defaulted"] == 51
    assert kinds(path) == ["clock_jumped", "clock_jumped"]


def test_a_jump_is_told_everywhere(serve: Serve, machine: Machine, path: Path) -> None:
    with serve() as (client, service):
        assert client.get("/readyz").json() == {"status": "ready", "warnings": []}
        assert "clock" not in client.get("/").text
        machine.wall += JUMP
        looked(client, service, machine)
        ready = client.get("/readyz")
        assert ready.status_code == 200
        (warning,) = ready.json()["warnings"]
        assert "400 days ahead" in warning
        offset = re.search(
            r"^greedyfirst_clock_offset_seconds (\S+)$", client.get("/metrics").text, re.M
        )
        assert offset
        assert float(offset.group(1)) == pytest.approx(JUMP)
        assert "clock has jumped" in client.get("/", headers={"Accept": "text/html"}).text
        assert client.get("/v1/clock").json()["question"] == warning
    (event,) = (entry.event for entry in _entries(path, ""))
    assert (event.offset, event.holds) == (pytest.approx(JUMP), False)


@pytest.mark.parametrize("jump", [JUMP, -JUMP])
def test_following_moves_stamps_and_waits_together(
    serve: Serve, machine: Machine, path: Path, jump: float
) -> None:
    with serve() as (client, service):
        create(client, reward_wait=WAIT, default_reward=0.0)
        first = decide(client)["decision_id"]
        machine.pass_(10 * DAY)
        second = decide(client)["decision_id"]
        machine.wall += jump
        looked(client, service, machine)
        told = answer(client, "follow").json()
        assert told["question"] is None
        assert told["offset"] == pytest.approx(0.0, abs=1e-6)
        assert client.get("/readyz").json()["warnings"] == []
        assert decide(client)["at"] == pytest.approx(machine.wall, abs=1e-6)
        assert client.get("/v1/policies/dose/audit").json()[0]["event"]["event"] == "waits_moved"
        machine.pass_(20 * DAY - 60.0)  # a minute before the end of the first one's wait
        assert view(client)["defaulted"] == 0
        live = state_of(service)
        log = service.log
        again, _ = restore(log, "dose", snapshots=False)
        assert save(again)() == live
        machine.pass_(61.0)
        assert reward(client, first, 1.0) == "late"
        assert reward(client, second, 1.0) == "counted"
    assert kinds(path) == ["clock_jumped", "clock_answered"]
    with serve() as (client, service):  # and no question is left
        assert client.get("/readyz").json()["warnings"] == []


def test_time_that_has_passed_counts(serve: Serve, machine: Machine) -> None:
    """As after a pause of a virtual machine, which its clocks do not count."""
    with serve() as (client, service):
        create(client, reward_wait=WAIT, default_reward=0.0)
        decide(client)
        machine.wall += JUMP
        looked(client, service, machine)
        assert answer(client, "passed").status_code == 200
        looked(client, service, machine)
        assert view(client)["defaulted"] == 1
        machine.wall -= JUMP
        looked(client, service, machine)
        refused = answer(client, "passed")
        assert refused.status_code == 409
        assert "behind" in refused.json()["detail"]


def test_keeping_asks_again_when_the_difference_changes(serve: Serve, machine: Machine) -> None:
    with serve() as (client, service):
        create(client, reward_wait=WAIT)
        machine.wall += JUMP
        looked(client, service, machine)
        assert answer(client, "keep").status_code == 200
        looked(client, service, machine)
        assert client.get("/readyz").json()["warnings"] == []
        assert decide(client)["at"] == pytest.approx(1_000_000.0 + 2 * LOOKS)
        machine.wall += DAY
        looked(client, service, machine)
        assert "401 days ahead" in client.get("/readyz").json()["warnings"][0]


def test_answers_that_do_not_fit_are_refused(serve: Serve, machine: Machine) -> None:
    with serve() as (client, service):
        assert answer(client, "follow").status_code == 409
        assert answer(client, "perhaps").status_code == 422
        machine.wall += JUMP
        looked(client, service, machine)
        machine.wall -= JUMP  # set right again, which nobody has seen yet
        changed = answer(client, "follow")
        assert (changed.status_code, service.clock.asks) == (409, True)
        looked(client, service, machine)
        assert answer(client, "follow").status_code == 409
        machine.wall += JUMP
        looked(client, service, machine)
        assert answer(client, "follow").status_code == 200
        assert answer(client, "follow").status_code == 409  # the second of two people


def test_the_form_of_the_page_answers(serve: Serve, machine: Machine) -> None:
    with serve() as (client, service):
        machine.wall += JUMP
        looked(client, service, machine)
        page = client.get("/", headers={"Accept": "text/html"}).text
        token = re.search(r'name="token" value="(\w+)"', page)
        assert token
        fields = {"token": token.group(1), "answer": "follow", **BY}
        assert client.post("/clock", data=fields | {"who": ""}).status_code == 422
        assert client.post("/clock", data=fields, follow_redirects=False).status_code == 303
        assert service.clock.offset == pytest.approx(0.0, abs=1e-6)


# ---------------------------------------------------------------- at a start


@pytest.mark.parametrize("jump", [JUMP, -JUMP])
def test_a_start_far_from_the_last_entry_ends_no_wait(
    serve: Serve, machine: Machine, path: Path, jump: float
) -> None:
    with serve() as (client, _):
        create(client, reward_wait=60.0, default_reward=0.0)
        first = decide(client)
    machine.wall += jump
    with serve() as (client, service):
        machine.pass_(120.0)
        looked(client, service, machine)
        assert view(client)["pending"] == 1
        assert "no wait for a reward ends" in client.get("/readyz").json()["warnings"][0]
        assert decide(client)["at"] == pytest.approx(first["at"] + 120.0 + LOOKS)
        assert answer(client, "follow").status_code == 200
        looked(client, service, machine)  # it waited for more than its minute by the steady clock
        assert view(client)["defaulted"] == 1
    assert kinds(path) == ["clock_jumped", "clock_answered"]


def test_a_start_after_a_pause_asks_only_if_a_wait_would_end(
    serve: Serve, machine: Machine
) -> None:
    with serve() as (client, _):
        create(client, reward_wait=WAIT, default_reward=0.0)
        decide(client)
    machine.pass_(20 * DAY)  # longer than the longest pause, but nothing ends
    with serve() as (client, _):
        assert client.get("/readyz").json()["warnings"] == []
        assert decide(client)["at"] == pytest.approx(machine.wall)
    machine.pass_(6 * DAY)
    with serve(longest_pause=5 * DAY) as (client, _):
        assert client.get("/readyz").json()["warnings"] == []
    machine.pass_(6 * DAY)
    with serve(longest_pause=5 * DAY) as (client, _):
        assert "12 days ahead" in client.get("/readyz").json()["warnings"][0]


def test_an_answer_that_is_not_on_disk_is_no_answer(
    path: Path, machine: Machine, disk: FailingDisk
) -> None:
    async def run() -> None:
        service = DecisionService(lambda: SqliteLog(path, vfs=disk.name), clock=machine.clock())
        app = make_application(service, access=Access(list))
        async with app.lifespan():
            asked = SPECIFICATION | {"reward_wait": WAIT, "default_reward": 0.0}
            await service.admin.create(msgspec.convert(asked, Specification))
            await service.decide("dose", CONTEXT)
            machine.wall += JUMP
            for _ in range(LOOKS):
                await service._look_after(service.working())
            await service.durable()
            disk.failing = "write"
            with pytest.raises(UnavailableError):
                await service.admin.answer_clock("follow", "Ada", "a test")
            disk.failing = None
            while not service.ready:
                await asyncio.sleep(0.05)
            assert service.clock.asks
            assert service.clock.offset == pytest.approx(JUMP)
            decided = await service.decide("dose", CONTEXT)
            assert decided.at < machine.wall - JUMP + 60.0
            assert len(service.deployments["dose"].pending) == 2

    asyncio.run(run())


def test_a_correction_during_the_question_and_beside_its_answer(
    path: Path, machine: Machine
) -> None:
    async def run() -> bytes:
        service = DecisionService(lambda: SqliteLog(path), clock=machine.clock())
        async with make_application(service, access=Access(list)).lifespan():
            asked = SPECIFICATION | {"reward_wait": WAIT, "default_reward": 0.0}
            await service.admin.create(msgspec.convert(asked, Specification))
            for number in range(30):
                made = await service.decide("dose", CONTEXT)
                if number % 2:
                    await service.reward(made.decision_id, 1.0)
            machine.wall += JUMP
            for _ in range(LOOKS):
                await service._look_after(service.working())
            await service.admin.correct("dose:2", 0.5, "", "Ada", "a test")
            await asyncio.gather(  # the answer comes while the past is learned again
                service.admin.correct("dose:4", 0.25, "", "Ada", "a test"),
                service.admin.answer_clock("follow", "Ada", "a test"),
            )
            await service.decide("dose", CONTEXT)
            assert len(service.deployments["dose"].pending) == 16  # no wait has ended
            return state_of(service)

    lived = asyncio.run(run())
    log = SqliteLog(path)
    for kept in (True, False):
        assert save(restore(log, "dose", snapshots=kept)[0])() == lived
    log.close()
