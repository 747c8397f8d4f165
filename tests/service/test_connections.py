"""Connections that do nothing keep nobody out; the processors are left to requests."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from served import CONTEXT, SPECIFICATION
from test_server import free_port, run, served

from greedyfirst.service import connections
from greedyfirst.service.connections import Connections, allowed, open_connections

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def idle(stack: ExitStack, port: int, count: int, sent: bytes = b"") -> list[socket.socket]:
    made = []
    for _ in range(count):
        one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        if sent:
            one.sendall(sent)
        made.append(one)
    return made


def is_open(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return one.recv(1000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_idle_and_half_sent_connections_keep_nobody_out(path: Path) -> None:
    with served(path) as (_, url), ExitStack() as stack, httpx.Client(base_url=url) as client:
        assert client.post("/v1/policies", json=SPECIFICATION, timeout=60).status_code == 201
        port = int(url.rpartition(":")[2])
        idle(stack, port, 200)
        idle(stack, port, 100, HEALTH)
        idle(stack, port, 60, HEALTH[:20])
        for _ in range(3):
            began = time.monotonic()
            assert httpx.get(f"{url}/healthz", timeout=5).status_code == 200  # a new connection
            assert time.monotonic() - began < 5
        made = client.post("/v1/policies/dose/decisions", json={"context": CONTEXT}, timeout=5)
        assert made.status_code == 201


def test_when_connections_are_many_idle_ones_are_closed_first(path: Path) -> None:
    with (
        served(path, options=("--connections", "64")) as (_, url),
        ExitStack() as stack,
        httpx.Client(base_url=url) as client,
    ):
        assert client.get("/healthz").status_code == 200
        port = int(url.rpartition(":")[2])
        first = idle(stack, port, 55, HEALTH)
        deadline = time.monotonic() + 30
        while sum(map(is_open, first)) > 40 and time.monotonic() < deadline:
            assert client.get("/healthz").status_code == 200  # the one that is used stays
            time.sleep(0.1)
        assert sum(map(is_open, first)) <= 40
        more = idle(stack, port, 25)
        assert httpx.get(f"{url}/healthz", timeout=10).status_code == 200
        assert any(map(is_open, more))


def test_busy_connections_are_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as stack:
        port = server.getsockname()[1]
        mine = idle(stack, port, 4)
        theirs = [stack.enter_context(server.accept()[0]) for _ in mine]
        assert open_connections(port) == 4
        busy = {mine[0].getsockname(), mine[1].getsockname()}
        watch = Connections(port, 4, lambda: busy)
        watch.close_idle()
        assert watch.closed == 2
        assert [is_open(one) for one in theirs] == [True, True, False, False]


def test_more_open_files_are_asked_for_and_fewer_connections_taken_without() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
        assert allowed(1000) == 1000
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1256
        assert allowed(hard) == hard - 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_few_connections_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("serve", "--db", path, "--port", free_port(), "--connections", 3)
    assert run(monkeypatch, *words) == 2
    assert "connections must be" in capsys.readouterr().err


THREADS = """
import os, sys
from threadpoolctl import threadpool_info
from greedyfirst.service import server

def ready():
    print(*(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"))
    sys.stdout.flush()
    os._exit(0)

server.serve(sys.argv[1], port=int(sys.argv[2]), ready=ready)
"""


def test_the_service_has_one_blas_thread(path: Path) -> None:
    command = [sys.executable, "-c", THREADS, str(path), str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    told = done.stdout.split()
    assert told, done.stderr
    assert set(told) == {"1"}
