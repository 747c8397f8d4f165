"""What operators see: metrics of requests, the access log, structured lines, proxies' clients."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.testing import TestClient
from served import CONTEXT, SPECIFICATION, Start, create, decide
from test_server import free_port, run, served

from greedyfirst.service import logs
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.observations import _QUIET
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.version import __version__

DECISIONS = "/v1/policies/{policy}/decisions"
KEY = "a secret key"
ACCESS = Access(lambda: [AccessKey("anna", "admin", hashed(KEY))])


def value(client: TestClient[Any], name: str, **labels: str) -> float:
    """A metric's value; all of these labels must fit."""
    for line in client.get("/metrics").text.splitlines():
        found = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if found and all(f'{key}="{text}"' in (found[1] or "") for key, text in labels.items()):
            return float(found[2])
    raise AssertionError(f"{name} {labels} is not there")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "greedyfirst.access")
    return caplog


def fields(lines: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.fields for record in lines.records if record.name == "greedyfirst.access"]


def test_requests_are_counted_by_route_and_status(client: TestClient[Any]) -> None:
    for _ in range(3):
        decide(client)
    client.post("/v1/policies/nix/decisions", json={"context": CONTEXT})
    client.request("BREW", "/coffee")
    labels = {"method": "POST", "route": DECISIONS}
    name = "greedyfirst_request_seconds"
    assert value(client, f"{name}_count", status="201", **labels) == 3
    assert value(client, f"{name}_count", status="404", **labels) == 1
    assert value(client, f"{name}_bucket", le="+Inf", status="201", **labels) == 3
    assert value(client, f"{name}_bucket", le="10.0", status="201", **labels) == 3
    assert 0 < value(client, f"{name}_sum", status="201", **labels) < 30
    assert value(client, f"{name}_count", method="other", route="") == 1
    assert "coffee" not in client.get("/metrics").text
    assert value(client, "greedyfirst_requests_in_flight") == 1  # the one that asks


def test_failures_of_the_service_are_counted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with start() as client:
        create(client)
        monkeypatch.setattr("greedyfirst.service.http.decisions.parse", lambda *_: 1 / 0)
        failed = client.post("/v1/policies/dose/decisions", json={"context": CONTEXT})
        assert failed.status_code == 500
        assert value(client, "greedyfirst_failed_requests_total", status="500") == 1


def test_the_process_is_described(client: TestClient[Any]) -> None:
    assert value(client, "greedyfirst_info", version=__version__) == 1
    assert abs(value(client, "greedyfirst_start_time_seconds") - time.time()) < 600
    assert value(client, "greedyfirst_restore_seconds") > 0
    assert value(client, "greedyfirst_wal_bytes") > 0
    assert value(client, "greedyfirst_warnings") == 0
    assert value(client, "greedyfirst_long_jobs", kind="export") == 0


def test_open_connections_are_counted(path: Path) -> None:
    with served(path) as (_, url), httpx.Client(base_url=url) as client:
        text = client.get("/metrics").text
        assert re.search(r"^greedyfirst_open_connections [1-9]", text, re.M)


def test_the_access_log_tells_who_and_what_but_no_secret(
    start: Start, lines: pytest.LogCaptureFixture
) -> None:
    with start(access=ACCESS) as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        create(client)
        decided = decide(client, {"age": 51.625, "sex": "m"})
        client.put(f"/v1/decisions/{decided['decision_id']}/reward", json={"value": 0.8125})
        client.get("/healthz")
        client.post("/v1/policies/dose/decisions", json={"context": {"age": "51.625"}})
        client.get("/metrics")
    told = [(one["method"], one["route"], one["status"], one["caller"]) for one in fields(lines)]
    assert told == [("POST", "/v1/policies", 201, "anna"), ("POST", DECISIONS, 422, "anna")]
    assert all(one["ms"] >= 0 for one in fields(lines))
    assert not re.search(f"51.625|0.8125|{KEY}", lines.text + json.dumps(fields(lines)))


def test_the_access_log_can_have_everything(start: Start, lines: pytest.LogCaptureFixture) -> None:
    with start(access_log=True) as client:
        create(client)
        decided = decide(client)
        client.put(f"/v1/decisions/{decided['decision_id']}/reward", json={"value": 1.0})
        for url in ("/healthz", "/readyz", "/metrics", "/static/style.css"):
            client.get(url)
    alone = {*_QUIET} - {"/peer"}  # is there where several services share a log
    assert {one["route"] for one in fields(lines)} == {"/v1/policies", *alone}


def test_lines_have_time_level_event_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("greedyfirst")
    extra = {"event": "disk_full", "fields": {"path": "a\nb"}}
    with logs.written(form="json", level="warning"):
        logger.warning("the disk is %s", "full", extra=extra)
        logger.info("not told")
    line = json.loads(capsys.readouterr().err)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "warning",
        "event": "disk_full",
        "message": "the disk is full",
        "path": "a\nb",
    }
    with logs.written(form="text", level="info"):
        logger.warning("the disk is full", extra=extra)
    told = capsys.readouterr().err
    assert re.fullmatch(r"\S+Z warning disk_full the disk is full path=a\\nb\n", told)
    assert logger.propagate


def test_the_command_writes_json_lines(path: Path) -> None:
    options = ("--log-format", "json", "--access-log")
    with served(path, options=options) as (process, url):
        httpx.post(f"{url}/v1/policies", json=SPECIFICATION, timeout=60)
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr
        told = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert {"restored", "request"} <= {line["event"] for line in told}
    assert all({"time", "level", "event", "message"} <= {*line} for line in told)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--log-format", "xml"), "log_format must be"),
        (("--log-level", "loud"), "log_level must be"),
        (("--proxy", "nginx"), "proxy must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: tuple[str, str],
    sentence: str,
) -> None:
    assert run(monkeypatch, "serve", "--db", path, "--port", free_port(), *option) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.7", b"203.0.113.9", "203.0.113.9"),
        ("10.0.0.7", b"1.2.3.4, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.7", b"203.0.113.9, 10.1.2.3", "203.0.113.9"),
        ("10.0.0.7", b"2001:db8::1", "2001:db8::1"),
        ("10.0.0.7", b"", "10.0.0.7"),
        ("10.0.0.7", b"203.0.113.9, nonsense", "10.0.0.7"),
        ("10.0.0.7", b"10.1.2.3", "10.0.0.7"),
        ("192.0.2.1", b"203.0.113.9", "192.0.2.1"),
    ],
)
def test_only_proxies_are_believed_about_the_client(
    peer: str, forwarded: bytes, client: str
) -> None:
    scope: dict[str, Any] = {"client": (peer, 1), "scheme": "http"}
    headers = {b"x-forwarded-proto": b"https", b"x-forwarded-for": forwarded}
    Proxies(["10.0.0.0/8"]).believe(scope, headers)
    assert scope["client"] == (client, 1)
    assert scope["scheme"] == ("https" if peer.startswith("10.") else "http")


def test_the_rate_limit_is_the_clients_behind_a_proxy(start: Start) -> None:
    with start(access=ACCESS, proxies=Proxies(["127.0.0.1"]), per_second=0.5) as client:
        app = client.app.asgi_handler
        asked = {"X-Forwarded-For": "203.0.113.1"}

        async def as_proxy(scope: Any, receive: Any, send: Any) -> None:
            await app(scope | {"client": ("127.0.0.1", 1)}, receive, send)

        client.app.asgi_handler = as_proxy
        assert client.get("/healthz", headers=asked).status_code == 200
        assert client.get("/healthz", headers=asked).status_code == 429
        other = {"X-Forwarded-For": "203.0.113.2"}
        assert client.get("/healthz", headers=other).status_code == 200


def test_a_service_in_a_process_of_its_own_ends_with_its_access_log_written() -> None:
    code = (
        "import asyncio, logging\n"
        "from greedyfirst.service import logs\n"
        "from greedyfirst.service.http.observations import Observations\n"
        "async def main():\n"
        "    seen = Observations()\n"
        "    task = asyncio.create_task(seen.keep_counting())\n"
        "    await asyncio.sleep(0)\n"
        "    seen.seen.append((1.0, 0.5, 'GET', '/x', 200, 'anna', '::1'))\n"
        "    task.cancel()\n"
        "    await asyncio.wait([task])\n"
        "with logs.written(form='json', level='info'):\n"
        "    asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stderr)["ms"] == 500.0
