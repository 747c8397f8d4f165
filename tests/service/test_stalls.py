"""Services on a PostgreSQL that says nothing, or locks: they stay awake, and others take over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import psycopg
import pytest
from load_balancer import Service
from served import SPECIFICATION

from support.postgres_server import PostgresServer
from support.stopped_wire import StoppedWire

#: Seconds within which `/healthz` answers, and within which a process ends.
AWAKE, ENDED = 1.0, 15.0


class Pulse:
    """Asks a service twenty times a second whether it is alive; the longest answer."""

    def __init__(self, service: Service) -> None:
        self._url = f"{service.client.base_url}/healthz"
        self.longest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._ended.wait(0.05):
                began = time.monotonic()
                with suppress(httpx.HTTPError):
                    client.get(self._url)
                self.longest = max(self.longest, time.monotonic() - began)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


class Busy:
    """Asks a service for all kinds of things, some at a time, and takes whatever it answers."""

    def __init__(self, service: Service) -> None:
        self._base, self._ended = service.client.base_url, threading.Event()
        calls: list[Callable[[httpx.Client], object]] = [
            lambda client: client.post(
                "/v1/policies/dose/decisions",
                json={"context": {"age": 50, "sex": "m"}},
            ),
            lambda client: client.post(
                "/v1/policies/dose/decisions",
                json={"context": {"age": 50, "sex": "m"}},
                headers={"Idempotency-Key": "a"},
            ),
            lambda client: client.put("/v1/decisions/dose:1/reward", json={"value": 1.0}),
            lambda client: client.get("/v1/decisions/dose:1"),
            lambda client: client.get("/policies/dose", headers={"Accept": "text/html"}),
            lambda client: client.get("/v1/policies/dose/audit"),
            lambda client: client.get("/v1/policies/nix"),
        ]
        self._threads = [threading.Thread(target=self._ask, args=(call,)) for call in calls]

    def _ask(self, call: Callable[[httpx.Client], object]) -> None:
        with httpx.Client(base_url=self._base, timeout=30) as client:
            while not self._ended.wait(0.1):
                with suppress(httpx.HTTPError):
                    call(client)

    def __enter__(self) -> Busy:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def begin(service: Service) -> None:
    """A policy with a decision and its reward, which the service owns."""
    assert service.client.post("/v1/policies", json=SPECIFICATION).status_code == 201
    assert service.decide("a").status_code == 201
    rewarded = service.client.put("/v1/decisions/dose:1/reward", json={"value": 1.0})
    assert rewarded.status_code == 200


def until_decided(service: Service, key: str) -> float:
    """Seconds until the service decides."""
    began = time.monotonic()
    while service.decide(key).status_code != 201:
        assert time.monotonic() - began < 30
        time.sleep(0.05)
    return time.monotonic() - began


def ended_in(service: Service) -> float:
    """Seconds from SIGTERM to the end of the process."""
    began = time.monotonic()
    service.process.terminate()
    service.process.wait(40)
    return time.monotonic() - began


@pytest.fixture
def wired(postgres: PostgresServer) -> Iterator[tuple[Service, Service, StoppedWire]]:
    """A service behind a wire that can be stopped, and one that is not."""
    postgres.emptied()
    direct = postgres.tcp_url("postgres")
    with StoppedWire(postgres.port) as wire:
        through = direct.replace(f":{postgres.port}/", f":{wire.port}/")
        services = Service(through), Service(direct)
        try:
            for service in services:
                service.wait()
            yield *services, wire
        finally:
            for service in services:
                service.process.kill()
                service.end()


def test_a_wire_that_stands_still_keeps_no_process(
    wired: tuple[Service, Service, StoppedWire],
) -> None:
    one, two, wire = wired
    begin(one)
    with Pulse(one) as pulse:
        with Busy(one):
            wire.stall()
            assert until_decided(two, "b") < 10.0
            time.sleep(4)
        assert ended_in(one) < ENDED
    assert pulse.longest < AWAKE


def test_a_lock_on_the_log_keeps_no_process_awake_with_its_leases(
    wired: tuple[Service, Service, StoppedWire], postgres: PostgresServer
) -> None:
    one, _, _ = wired
    begin(one)
    left = (
        "SELECT extract(epoch FROM until - clock_timestamp())::float8 FROM greedyfirst.leases "
        "WHERE policy = 'dose'"
    )
    with Pulse(one) as pulse, psycopg.connect(postgres.url("postgres")) as locking:
        with Busy(one):
            locking.execute("LOCK TABLE greedyfirst.entries IN ACCESS EXCLUSIVE MODE")
            time.sleep(9.5)
            row = locking.execute(left).fetchone()
        assert row is not None
        assert row[0] < 3.0  # it does not serve, and renews nothing
        assert ended_in(one) < ENDED
    assert pulse.longest < AWAKE


def test_a_lock_on_the_leases_keeps_nobody(
    wired: tuple[Service, Service, StoppedWire], postgres: PostgresServer
) -> None:
    one, two, _ = wired
    begin(one)
    with Pulse(one) as pulse, Busy(one), psycopg.connect(postgres.url("postgres")) as locking:
        locking.execute("LOCK TABLE greedyfirst.leases IN ACCESS EXCLUSIVE MODE")
        time.sleep(6)
        locking.rollback()
        assert until_decided(two, "b") < 10.0
    assert pulse.longest < AWAKE


def test_a_process_that_ends_gives_its_policies_back_before_anything_else(
    wired: tuple[Service, Service, StoppedWire], postgres: PostgresServer
) -> None:
    one, two, _ = wired
    begin(one)
    held = "SELECT owner FROM greedyfirst.leases WHERE policy = 'dose'"
    with psycopg.connect(postgres.url("postgres")) as locking:
        before = locking.execute(held).fetchone()
        locking.execute("LOCK TABLE greedyfirst.access_keys IN ACCESS EXCLUSIVE MODE")
        time.sleep(1.5)  # both wait for it
        began = time.monotonic()
        one.process.terminate()
        while locking.execute(held).fetchone() == before:
            assert time.monotonic() - began < 10.0
            time.sleep(0.05)
        one.process.wait(ENDED)
        assert one.process.returncode == 0
    assert until_decided(two, "b") < 10.0
