"""Who may do what: keys and roles, the service's names, other sites, limits; no secrets told."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, CONTEXT, SPECIFICATION, Start, at_once, create, decide, reward, view

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.http.access import COOKIE, ROLES, Access, hashed, new_key
from greedyfirst.service.http.middleware import RateLimit
from greedyfirst.service.log.access_keys import AccessKey, add_key, all_keys, remove_key
from greedyfirst.service.log.sqlite_log import SqliteLog

KEYS = {role: new_key() for role in ROLES}
HELD = [AccessKey(f"the {role}", role, hashed(key)) for role, key in KEYS.items()]
ACCESS = Access(lambda: HELD)
REQUESTS = [
    ("reader", "GET", "/v1/policies", None),
    ("reader", "GET", "/v1/policies/dose", None),
    ("reader", "GET", "/v1/policies/dose/diversity", None),
    ("reader", "GET", "/v1/policies/dose/course", None),
    ("reader", "GET", "/v1/policies/dose/audit", None),
    ("reader", "GET", "/v1/policies/dose/export", None),
    ("reader", "GET", "/v1/decisions/dose:1", None),
    ("reader", "GET", "/v1/decisions/dose:1/replay", None),
    ("reader", "GET", "/v1/decisions/dose:1/intervals", None),
    ("reader", "GET", "/v1/policies/dose/effects", None),
    ("reader", "GET", "/v1/policies/dose/subgroups?by=sex", None),
    ("operator", "GET", "/v1/policies/dose/protocol", None),
    ("operator", "GET", "/v1/policies/dose/operations", None),
    ("operator", "GET", "/v1/operations", None),
    ("operator", "GET", "/v1/clock", None),
    ("operator", "GET", "/metrics", None),
    ("operator", "GET", "/v1/log/head", None),
    ("admin", "GET", "/v1/audit", None),
    ("decider", "POST", "/v1/policies/dose/decisions", {"context": CONTEXT}),
    ("decider", "PUT", "/v1/decisions/dose:1/reward", {"value": 1.0}),
    ("admin", "POST", "/v1/decisions/dose:1/correction", {"value": None, **BY}),
    ("admin", "POST", "/v1/decisions/dose:1/erasure", BY),
    ("admin", "POST", "/v1/policies", SPECIFICATION | {"name": "other"}),
    ("admin", "POST", "/v1/policies/dose/resolutions", {"arm": "low", "resolution": "hold", **BY}),
    ("admin", "POST", "/v1/policies/dose/arms", {"arm": "middle", **BY}),
    ("admin", "POST", "/v1/policies/dose/retirements", {"arm": "low", **BY}),
    ("admin", "POST", "/v1/policies/dose/state", {"state": "paused", **BY}),
    ("admin", "POST", "/v1/policies/dose/reinstatements", {"arm": "gone", **BY}),
    (
        "admin",
        "POST",
        "/v1/policies/dose/history",
        {"rows": [{"context": CONTEXT, "arm": "low", "reward": 1}], **BY},
    ),
    ("admin", "POST", "/v1/clock", {"answer": "keep", **BY}),
    (
        "admin",
        "PUT",
        "/v1/policies/dose/schema",
        {"features": SPECIFICATION["features"], **BY},
    ),
]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def guarded(start: Start) -> Iterator[TestClient[Any]]:
    with start(access=ACCESS) as client:
        client.headers.update(bearer(KEYS["admin"]))
        create(client, arms=["low", "high", "gone"])
        reward(client, decide(client)["decision_id"], 1.0)
        gone = client.post("/v1/policies/dose/retirements", json={"arm": "gone", **BY})
        assert gone.status_code == 201
        del client.headers["Authorization"]
        yield client


@pytest.mark.parametrize(("needed", "method", "url", "body"), REQUESTS)
def test_each_role_may_do_its_part(
    guarded: TestClient[Any], needed: str, method: str, url: str, body: Any
) -> None:
    assert guarded.request(method, url, json=body).status_code == 401
    wrong = guarded.request(method, url, json=body, headers=bearer(new_key()))
    assert wrong.status_code == 401
    for role in ROLES:
        answer = guarded.request(method, url, json=body, headers=bearer(KEYS[role]))
        allowed = ROLES.index(role) >= ROLES.index(needed)
        done = answer.status_code in (200, 201, 409)  # 409: the clock needs no answer here
        assert done == allowed, answer.text
        assert allowed or answer.status_code == 403


def test_every_route_of_the_interface_is_in_that_list(guarded: TestClient[Any]) -> None:
    documented = guarded.get("/openapi.json").json()["paths"]
    routes = {
        (method.upper(), path.replace("{policy}", "dose").replace("{decision_id}", "dose:1"))
        for path, methods in documented.items()
        for method in methods
    }
    asked = {(method, url.partition("?")[0]) for _, method, url, _ in REQUESTS}
    assert routes == asked - {("GET", "/metrics")}


#: What is about the whole service: a key of some policies may not change it, nor see the trail.
OF_ALL_POLICIES = {
    ("POST", "/v1/policies"),
    ("POST", "/v1/clock"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/log/head"),
}
#: What every key may ask: the answers have nothing of a policy that the key is not good for.
OF_NO_POLICY = {("GET", url) for url in ("/v1/policies", "/v1/operations", "/v1/clock", "/metrics")}


@pytest.mark.parametrize(("method", "url", "body"), [each[1:] for each in REQUESTS])
def test_a_key_of_another_policy_finds_nothing_on_any_route(
    start: Start, method: str, url: str, body: Any
) -> None:
    local = AccessKey("local", "admin", hashed("local"), policies=("elsewhere",))
    with start(access=Access(lambda: [*HELD, local])) as client:
        client.headers.update(bearer(KEYS["admin"]))
        create(client)
        reward(client, decide(client)["decision_id"], 1.0)
        before = view(client), client.get("/v1/policies/dose/audit").json()
        answer = client.request(method, url, json=body, headers=bearer("local"))
        if (method, url) in OF_NO_POLICY:
            assert answer.status_code == 200
            assert "dose" not in answer.text
        elif (method, url) in OF_ALL_POLICIES:
            assert answer.status_code == 403
            assert "it is good for elsewhere only" in answer.json()["detail"]
        else:
            assert answer.status_code == 404
            nowhere = url.replace("dose", "nowhere")
            unknown = client.request(method, nowhere, json=body, headers=bearer("local"))
            assert answer.text.replace("dose", "nowhere") == unknown.text
        assert (view(client), client.get("/v1/policies/dose/audit").json()) == before


def test_a_key_of_some_policies_does_not_set_the_clock_of_all_by_the_form(start: Start) -> None:
    local = AccessKey("local", "admin", hashed("local"), policies=("elsewhere",))
    with start(access=Access(lambda: [local])) as client:
        form = {"answer": "keep", **BY}
        answer = client.post("/clock", data=form, headers=bearer("local"))
        assert answer.status_code == 403
        assert "it is good for elsewhere only" in answer.text


def test_a_key_is_no_cookie(guarded: TestClient[Any]) -> None:
    for name in ("greedyfirst_key", "greedyfirst_session"):
        cookie = {"Cookie": f"other=1; {name}={KEYS['reader']}"}
        assert guarded.get("/v1/policies", headers=cookie).status_code == 401
    for strange in ("a@b=1; greedyfirst_session=x", "=;=", "\xff", ";" * 1000, COOKIE):
        answer = guarded.get("/v1/policies", headers={"Cookie": strange.encode("latin-1")})
        assert answer.status_code == 401
    for strange in ("Bearer", "Basic x", "bearer  ", "\xff \xff"):
        headers = {"Authorization": strange.encode("latin-1")}
        assert guarded.get("/v1/policies", headers=headers).status_code == 401


def test_no_key_is_ever_told(
    guarded: TestClient[Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    stolen = new_key()
    told = []
    for key in (stolen, KEYS["reader"], KEYS["admin"]):
        for _, method, url, body in REQUESTS:
            answer = guarded.request(method, url, json=body, headers=bearer(key))
            told.append(answer.text if "export" not in url else "")
        told.append(guarded.get(f"/{key[:5]}", headers=bearer(key)).text)
    monkeypatch.setattr("greedyfirst.service.http.views.policy_view", None)
    told.append(guarded.get("/v1/policies/dose", headers=bearer(KEYS["admin"])).text)
    assert "something went wrong" in told[-1]
    everything = "".join(told) + caplog.text
    assert "GET /v1/policies/dose failed" in caplog.text
    for key in (stolen, *KEYS.values()):
        assert key not in everything
        assert hashed(key).hex() not in everything


def test_the_audit_names_the_key_even_with_the_longest_names(start: Start) -> None:
    who, name = "w" * 200, "n" * 200
    access = Access(lambda: [AccessKey(name, "admin", hashed(KEYS["admin"]))])
    headers = bearer(KEYS["admin"])
    with start(access=access) as client:
        client.headers.update(headers)
        create(client)
        added = {"arm": "x" * 100, "who": who, "why": "y" * 2000}
        assert client.post("/v1/policies/dose/arms", json=added).status_code == 201
    with start(access=access) as client:
        entry = client.get("/v1/policies/dose/audit", headers=headers).json()[0]
        assert entry["event"]["who"] == f"{who} (key {name})"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]"])
def test_other_names_of_the_service_are_refused(client: TestClient[Any], host: str) -> None:
    answer = client.get("/v1/policies", headers={"Host": host})
    assert (answer.status_code, answer.json()["status"]) == (421, 421)
    person = client.get("/", headers={"Host": host, "Accept": "text/html,*/*"})
    assert (person.status_code, person.headers["content-type"]) == (
        421,
        "text/plain; charset=utf-8",
    )
    assert person.text.startswith("this service is not known as")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "LOCALHOST", "[::1]:80"])
def test_its_own_names_are_taken(client: TestClient[Any], host: str) -> None:
    assert client.get("/v1/policies", headers={"Host": host}).status_code == 200


def test_names_are_the_same_in_capitals(start: Start) -> None:
    with start(hosts=frozenset({"Trial.Example.org", "FE80::A"})) as client:
        for host in ("trial.example.org", "TRIAL.example.ORG:8000", "[fe80::a]:80", "[FE80::A]"):
            assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8000", 201),
        ("https://LOCALHOST:8000", 201),
        ("http://localhost:3000", 403),
        ("http://localhost", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_pages_of_other_sites_cannot_write(
    client: TestClient[Any], origin: str, status: int
) -> None:
    headers = {"Host": "localhost:8000", "Origin": origin}
    url, body = "/v1/policies/dose/decisions", {"context": CONTEXT}
    assert client.post(url, json=body, headers=headers).status_code == status
    assert view(client)["decisions"] == (status == 201)
    answer = client.get("/v1/policies", headers=headers)
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_beyond_the_limit_is_413(start: Start) -> None:
    with start(most_bytes=2000) as client:
        create(client)
        url = "/v1/policies/dose/decisions"
        assert client.post(url, content=b" " * 2001).status_code == 413
        pieces = (b" " * 100 for _ in range(100))  # without a length that tells
        assert client.post(url, content=pieces).status_code == 413
        other = client.post("/v1/policies", content=b" " * 2001)
        assert other.status_code == 413
        assert other.json()["detail"] == "a body may have at most 2000 bytes"
        decide(client)


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("POST", "/v1/policies/dose/decisions"),
        ("PUT", "/v1/decisions/dose:1/reward"),
        ("POST", "/v1/policies"),
        ("POST", "/policies/dose"),
    ],
)
def test_a_body_that_does_not_come_is_408(path: Path, method: str, url: str) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async def run() -> None:
        async with at_once(path, body_seconds=0.01) as (client, _):
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = await client.request(method, url, content=half(), headers=form)
            assert answer.status_code == 408
            assert "did not come within 0.01 seconds" in answer.text

    asyncio.run(run())


def test_too_many_requests_are_429(start: Start) -> None:
    with start(per_second=5) as client:
        statuses = [client.get("/v1/policies").status_code for _ in range(30)]
        assert statuses[:10] == [200] * 10
        assert 429 in statuses
        refused = next(
            answer
            for answer in (client.get("/v1/policies") for _ in range(50))
            if answer.status_code == 429
        )
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["status"] == 429


def test_the_rate_by_the_clock() -> None:
    now = [0.0]
    rate = RateLimit(10.0, clock=lambda: now[0])
    assert [rate.admits("a") for _ in range(21)] == [True] * 20 + [False]
    assert rate.admits("b")
    now[0] = 0.1
    assert [rate.admits("a") for _ in range(2)] == [True, False]
    now[0] = 1000.0
    assert sum(rate.admits("a") for _ in range(100)) == 20


def test_keys_change_while_the_service_runs(start: Start, path: Path) -> None:
    with start(access=Access(list)) as client:
        create(client)
    access = Access(lambda: all_keys(path))
    with start(access=access) as client:
        assert client.get("/v1/policies").status_code == 200
        add_key(path, AccessKey("boss", "admin", hashed("gf_boss")))
        for _ in range(200):  # it reads them every second by itself
            if client.get("/v1/policies").status_code == 401:
                break
            time.sleep(0.05)
        assert client.get("/v1/policies").status_code == 401
        assert client.get("/v1/policies", headers=bearer("gf_boss")).status_code == 200
        add_key(path, AccessKey("clinic", "reader", hashed("gf_clinic")))
        assert remove_key(path, "boss")
        assert not remove_key(path, "boss")
        access.refresh()
        assert client.get("/v1/policies", headers=bearer("gf_boss")).status_code == 401
        assert client.get("/v1/policies", headers=bearer("gf_clinic")).status_code == 200


def test_where_others_can_reach_it_nothing_goes_without_a_key() -> None:
    held = [AccessKey("boss", "admin", hashed("gf_boss"))]
    access = Access(lambda: held, needed=True)
    assert access.caller("gf_boss") is not None
    held.clear()
    access.refresh()
    assert access.caller("gf_boss") is None
    assert access.caller(None) is None


def test_keys_stay_in_force_while_they_cannot_be_read(path: Path) -> None:
    SqliteLog(path).close()
    add_key(path, AccessKey("boss", "admin", hashed("gf_boss")))
    access = Access(lambda: all_keys(path))
    moved = path.rename(path.with_name("away.db"))
    access.refresh()
    assert access.caller("gf_boss") is not None
    assert access.caller(None) is None
    assert not path.exists()
    moved.rename(path)
    remove_key(path, "boss")
    access.refresh()
    assert access.caller("gf_boss") is None
    assert access.caller(None) is None


def test_keys_are_not_written_into_other_files(path: Path) -> None:
    with pytest.raises(LogFailedError):
        all_keys(path)
    path.write_text("a letter, not a database" * 100)
    with pytest.raises(DamagedLogError):
        all_keys(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE access_keys (name, role, hash)")
    other.close()
    with pytest.raises(DamagedLogError, match="another program"):
        add_key(path, AccessKey("boss", "admin", b"hash"))
