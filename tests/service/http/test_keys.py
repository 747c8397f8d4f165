"""Keys fail closed: once there was one, nothing goes without; they end, and leave a trail."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from litestar.testing import TestClient
from served import CONTEXT, SPECIFICATION, Start, at_once, create, decide, running
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.errors import LogFailedError
from greedyfirst.service.http import access as access_of
from greedyfirst.service.http.access import COOKIE, Access, hashed
from greedyfirst.service.http.access_trail import AccessTrail
from greedyfirst.service.http.key_watch import KeyWatch
from greedyfirst.service.log import postgres_database
from greedyfirst.service.log.access_keys import (
    AccessKey,
    KeyReader,
    add_key,
    all_keys,
    ever_had_keys,
    remove_key,
    rotate_key,
)
from greedyfirst.service.log.events import Refused
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.log.sqlite_log import SqliteLog
from support.service_process import service_process

RELEASE_0_1 = Path(__file__).parents[1] / "release_0_1" / "log.db"
BOSS = {"Authorization": "Bearer boss"}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def within_two_seconds(condition: Callable[[], bool]) -> bool:
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def keyed(start: Start, path: Path) -> Iterator[TestClient[Any]]:
    """A service whose keys are in its log; "boss" is an admin's."""
    SqliteLog(path).close()
    add_key(path, AccessKey("boss", "admin", hashed("boss")), who="root")
    with start(access=Access(lambda: all_keys(path)), keys_in=path) as client:
        create_with(client, "dose")
        yield client


def create_with(client: TestClient[Any], name: str) -> None:
    made = client.post("/v1/policies", json=SPECIFICATION | {"name": name}, headers=BOSS)
    assert made.status_code == 201, made.text


def test_without_its_last_key_a_service_is_closed(keyed: TestClient[Any], path: Path) -> None:
    body = {"context": CONTEXT}
    assert keyed.post("/v1/policies/dose/decisions", json=body).status_code == 401
    remove_key(path, "boss")
    assert within_two_seconds(lambda: keyed.get("/v1/policies", headers=BOSS).status_code == 401)
    assert keyed.post("/v1/policies/dose/decisions", json=body).status_code == 401
    assert keyed.get("/v1/policies").status_code == 401


def test_a_service_that_had_keys_starts_closed(keyed: TestClient[Any], path: Path) -> None:
    remove_key(path, "boss")
    assert Access(lambda: all_keys(path)).caller(None) is None


def test_a_service_whose_keys_are_gone_from_the_table_starts_closed(
    keyed: TestClient[Any], path: Path
) -> None:
    """The log shows that there were some, or the changes that are noted for it."""
    assert within_two_seconds(lambda: bool(events(keyed, "key_changed")))
    keyed.__exit__(None, None, None)
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM access_keys")
    other.close()
    noted = shutil.copy(path, path.with_name("noted.db"))
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM key_changes")
    with sqlite3.connect(noted) as other:
        other.execute("DROP TRIGGER entries_remain")
        other.execute("DELETE FROM entries WHERE kind = 'key_changed'")
    for place in (path, Path(noted)):
        assert ever_had_keys(place)
    with service_process("--db", path) as url, httpx.Client(base_url=url) as client:
        assert client.get("/v1/policies").status_code == 401
    SqliteLog(path.with_name("new.db")).close()
    assert not ever_had_keys(path.with_name("new.db"))


@pytest.mark.parametrize(
    "how", [["--name", "trial.example"], ["--host", "0.0.0.0"], ["--proxy", "127.0.0.1"]]
)
def test_a_name_a_proxy_or_another_address_needs_keys(path: Path, how: list[str]) -> None:
    told = str(run("serve", "--db", path, "--port", 1, *how).exception)
    assert "can be reached from elsewhere, which needs keys" in told


def test_a_removed_key_ends_though_all_threads_are_busy(path: Path) -> None:
    async def scenario() -> None:
        SqliteLog(path).close()
        add_key(path, AccessKey("boss", "admin", hashed("boss")))
        add_key(path, AccessKey("clinic", "reader", hashed("clinic")))
        access = Access(lambda: all_keys(path))
        busy = threading.Event()
        async with at_once(path, access=access, keys_in=path) as (client, _):
            loop = asyncio.get_running_loop()
            work = [loop.run_in_executor(None, busy.wait, 30) for _ in range(200)]
            try:
                headers = bearer("clinic")
                assert (await client.get("/v1/policies", headers=headers)).status_code == 200
                remove_key(path, "clinic")
                for _ in range(100):
                    await asyncio.sleep(0.1)
                    answer = await client.get("/v1/policies", headers=headers)
                    if answer.status_code == 401:
                        break
                assert answer.status_code == 401
            finally:
                busy.set()
                await asyncio.gather(*work)

    asyncio.run(scenario())


def test_rotation_expiry_and_their_end(path: Path) -> None:
    SqliteLog(path).close()
    now = [time.time()]
    add_key(path, AccessKey("clinic", "reader", hashed("first"), expires=now[0] + 1000))
    access = Access(lambda: all_keys(path), clock=lambda: now[0])
    assert access.caller("first")
    rotate_key(path, "clinic", hashed("second"), overlap=500)
    access.refresh()
    assert access.caller("first")
    assert access.caller("second")
    now[0] += 600
    assert access.caller("first") is None
    assert access.caller("second")
    now[0] += 600
    assert access.caller("second") is None
    assert (access.reason("second"), access.reason("third")) == ("expired key", "unknown key")
    assert access.caller(None) is None
    rotate_key(path, "clinic", hashed("third"), expires=now[0] + 10)
    access.refresh()
    assert access.caller("third")
    assert access.caller("second") is None


def test_the_commands_of_keys(path: Path) -> None:
    made = run("keys", "add", "clinic", "--expires", "90d", "--policy", "dose", "--db", path)
    assert made.exit_code == 0, made.output
    secret = made.output.strip()
    rotated = run("keys", "rotate", "clinic", "--db", path)
    assert rotated.output.strip() not in ("", secret)
    access = Access(lambda: all_keys(path))
    assert access.caller(secret) is None
    caller = access.caller(rotated.output.strip())
    assert caller is not None
    assert caller.policies == {"dose"}
    row = run("keys", "list", "--db", path).output.splitlines()[1].split("\t")
    assert row[:3] == ["clinic", "decider", "dose"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", row[4])
    assert row[6] == "in use"
    removed = run("keys", "remove", "clinic", "--db", path)
    assert "no key is in use any more" in removed.output
    assert run("keys", "list", "--db", path).output.splitlines()[1].endswith("\tremoved")
    again = run("keys", "add", "clinic", "--db", path)
    assert again.exit_code == 0
    assert Access(lambda: all_keys(path)).caller(again.output.strip()) is not None
    assert run("keys", "rotate", "nobody", "--db", path).exit_code != 0
    for wrong in ("90", "d", "0d", "-1d", "1y", "٣d"):
        told = run("keys", "add", "x", "--expires", wrong, "--db", path)
        assert "expires must be a number with s, m, h, d or w" in str(told.exception)


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "x" * 65])
def test_a_key_is_for_policies_that_can_be(path: Path, name: str) -> None:
    told = run("keys", "add", "x", "--policy", name, "--db", path)
    assert "policy must be the name of a policy" in str(told.exception)
    assert not path.exists()


def test_a_key_of_one_policy_knows_of_no_other(keyed: TestClient[Any], path: Path) -> None:
    create_with(keyed, "other")
    for policy in ("dose", "other"):
        url = f"/v1/policies/{policy}/decisions"
        assert keyed.post(url, json={"context": CONTEXT}, headers=BOSS).status_code == 201
    add_key(path, AccessKey("local", "admin", hashed("local"), policies=("dose",)))
    headers = bearer("local")
    assert within_two_seconds(lambda: keyed.get("/v1/policies", headers=headers).status_code == 200)
    listed = keyed.get("/v1/policies", headers=headers).json()
    assert [policy["name"] for policy in listed] == ["dose"]
    metrics = keyed.get("/metrics", headers=headers).text
    assert 'policy="dose"' in metrics
    assert "other" not in metrics
    assert "request_seconds" not in metrics  # which counts those of all policies
    front = keyed.get("/", headers=headers).text
    assert "/policies/dose" in front
    assert "other" not in front
    body = {"context": CONTEXT}
    reads = ["", "/diversity", "/course", "/audit", "/export"]
    for method, url, json in [
        *(("GET", f"/v1/policies/{{}}{end}", None) for end in reads),
        ("GET", "/v1/decisions/{}:1", None),
        ("GET", "/v1/decisions/{}:1/replay", None),
        ("GET", "/policies/{}", None),
        ("GET", "/decisions/{}:1", None),
        ("GET", "/decisions?number=1&policy={}", None),
        ("POST", "/v1/policies/{}/decisions", body),
        ("PUT", "/v1/decisions/{}:1/reward", {"value": 1.0}),
        ("POST", "/v1/policies/{}/arms", {"arm": "third", "who": "a", "why": "b"}),
    ]:
        other = keyed.request(method, url.format("other"), json=json, headers=headers)
        assert other.status_code == 404, url
        unknown = keyed.request(method, url.format("nix"), json=json, headers=headers)
        assert unknown.status_code == 404
        assert other.text.replace("other", "nix") == unknown.text
        own = keyed.request(method, url.format("dose"), json=json, headers=headers)
        assert own.status_code in (200, 201), (url, own.text)
    new = keyed.post("/v1/policies", json=SPECIFICATION | {"name": "new"}, headers=headers)
    assert new.status_code == 403
    assert keyed.get("/v1/audit", headers=headers).status_code == 403
    assert keyed.get("/access", headers=headers).status_code == 403
    assert 'href="/access"' not in front


def test_a_key_of_one_policy_does_not_see_the_end_of_the_log(
    keyed: TestClient[Any], path: Path
) -> None:
    """It counts the entries of all policies."""
    body, url = {"context": CONTEXT}, "/v1/policies/dose/decisions"
    for role in ("operator", "decider", "admin"):
        add_key(path, AccessKey(role, role, hashed(role), policies=("dose",)))
    headers = bearer("admin")
    assert within_two_seconds(lambda: keyed.get("/v1/policies", headers=headers).status_code == 200)
    for role in ("operator", "decider", "admin"):
        refused = keyed.get("/v1/log/head", headers=bearer(role))
        assert refused.status_code == 403
        assert "it is good for dose only" in refused.json()["detail"]
        metrics = keyed.get("/metrics", headers=bearer(role))
        assert metrics.status_code == 200
        assert "greedyfirst_log_" not in metrics.text
    assert "x-log-head" not in keyed.post(url, json=body, headers=bearer("decider")).headers
    assert "x-log-head" in keyed.post(url, json=body, headers=BOSS).headers


def events(client: TestClient[Any], kind: str) -> list[dict[str, Any]]:
    listed = client.get("/v1/audit?limit=1000", headers=BOSS).json()
    return [entry["event"] for entry in listed if entry["event"]["event"] == kind]


def test_changes_of_keys_are_in_the_log_once(
    keyed: TestClient[Any], path: Path, start: Start
) -> None:
    run("keys", "add", "clinic", "--policy", "dose", "--db", path)
    run("keys", "rotate", "clinic", "--overlap", "1h", "--db", path)
    run("keys", "remove", "clinic", "--db", path)
    assert within_two_seconds(lambda: len(events(keyed, "key_changed")) == 4)
    newest = events(keyed, "key_changed")
    assert [event["change"] for event in newest] == ["removed", "rotated", "added", "added"]
    assert [event["name"] for event in newest] == ["clinic", "clinic", "clinic", "boss"]
    assert newest[3]["who"] == "root"
    assert newest[2]["policies"] == ["dose"]
    assert newest[1]["old_until"] > time.time() + 3000


def test_changes_made_while_nothing_ran_are_recorded_at_the_start(path: Path, start: Start) -> None:
    SqliteLog(path).close()
    add_key(path, AccessKey("boss", "admin", hashed("boss")), who="root")
    for _ in range(2):  # the second start has nothing to add
        with start(access=Access(lambda: all_keys(path)), keys_in=path) as client:
            assert within_two_seconds(lambda: len(events(client, "key_changed")) == 1)
            time.sleep(1.1)
            assert len(events(client, "key_changed")) == 1


def test_who_created_a_policy_is_recorded(keyed: TestClient[Any]) -> None:
    created = keyed.get("/v1/policies/dose/audit", headers=BOSS).json()[-1]["event"]
    assert (created["event"], created["who"]) == ("created", "boss")


def test_refusals_are_recorded_and_counted(keyed: TestClient[Any], path: Path) -> None:
    add_key(path, AccessKey("reads", "reader", hashed("reads")))
    assert within_two_seconds(
        lambda: keyed.get("/v1/policies", headers=bearer("reads")).status_code == 200
    )
    for _ in range(50):
        keyed.get("/v1/policies")
        keyed.get("/v1/policies", headers=bearer("guess"))
        keyed.get("/v1/audit", headers=bearer("reads"))
    found = {(event["reason"], event["key"]): event["count"] for event in events(keyed, "refused")}
    assert found == {("no key", None): 1, ("unknown key", None): 1, ("not allowed", "reads"): 1}


def test_a_flood_makes_one_entry_a_minute() -> None:
    now = [0.0]
    recorded: list[Any] = []

    class Service:
        def record(self, event: Any, **_: Any) -> bool:
            recorded.append(event)
            return True

    service: Any = Service()
    trail = AccessTrail(service, KeyWatch(Access(list)), clock=lambda: now[0])
    for second in range(181):
        now[0] = float(second)
        for _ in range(100):
            trail.refused("10.0.0.1", "unknown key", None)
        asyncio.run(trail.flush())
    assert [event.count for event in recorded] == [1, 5999 + 1, 6000, 6000]
    assert all(isinstance(event, Refused) for event in recorded)
    recorded.clear()
    for number in range(5000):  # many clients at once
        trail.refused(f"10.1.{number // 256}.{number % 256}", "unknown key", None)
    assert len(recorded) <= 1001


def test_when_a_key_was_used_is_noted(keyed: TestClient[Any], path: Path) -> None:
    assert within_two_seconds(lambda: all_keys(path)[0].last_used is not None)
    first = all_keys(path)[0].last_used
    assert first is not None
    assert abs(first - time.time()) < 60
    keyed.get("/v1/policies", headers=BOSS)
    time.sleep(1.2)
    assert all_keys(path)[0].last_used == first  # once a minute


def sign_in(client: TestClient[Any], key: str) -> Any:
    page = client.get("/sign-in").text
    found = re.search(r'name="token" value="(\w+)"', page)
    assert found is not None
    fields = {"token": found[1], "key": key, "next": "/"}
    return client.post("/sign-in", data=fields, follow_redirects=False)


def test_the_cookie_is_a_session_not_the_key(keyed: TestClient[Any], path: Path) -> None:
    assert sign_in(keyed, "guess").status_code == 401
    answer = sign_in(keyed, "boss")
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "boss" not in cookie
    assert keyed.get("/").status_code == 200
    assert [event["key"] for event in events(keyed, "signed_in")] == ["boss"]
    assert any(event["reason"] == "unknown key at sign-in" for event in events(keyed, "refused"))
    stolen = dict(keyed.cookies)
    token = re.search(r'name="token" value="(\w+)"', keyed.get("/").text)
    assert token is not None
    keyed.post("/sign-out", data={"token": token[1]}, follow_redirects=False)
    keyed.cookies.update(stolen)
    assert keyed.get("/v1/policies").status_code == 401
    keyed.cookies.clear()
    sign_in(keyed, "boss")
    assert keyed.get("/v1/policies").status_code == 200
    remove_key(path, "boss")
    assert within_two_seconds(lambda: keyed.get("/v1/policies").status_code == 401)


def test_keys_of_release_0_1_stay_in_force(path: Path, start: Start) -> None:
    shutil.copy(RELEASE_0_1, path)
    listed = run("keys", "list", "--db", path)
    assert listed.exit_code == 0, listed.output
    assert listed.output.count("\tin use") == 3
    assert path.read_bytes() == RELEASE_0_1.read_bytes()
    access = Access(lambda: all_keys(path))
    assert access.caller("key of the admin") is not None
    assert run("keys", "add", "clinic", "--expires", "1d", "--db", path).exit_code == 0
    assert len(all_keys(path)) == 4
    with start(access=Access(lambda: all_keys(path)), keys_in=path) as client:
        headers = bearer("key of the admin")
        assert client.get("/v1/policies", headers=headers).status_code == 200


def test_the_page_of_keys(keyed: TestClient[Any], path: Path) -> None:
    add_key(path, AccessKey("old", "reader", hashed("old"), expires=1.0, policies=("dose",)))
    assert within_two_seconds(lambda: "expired" in keyed.get("/access", headers=BOSS).text)
    assert within_two_seconds(lambda: len(events(keyed, "key_changed")) == 2)
    keyed.get("/v1/policies")
    shown = keyed.get("/access", headers=BOSS).text
    assert "The key boss (admin) was made." in shown
    assert "Refused once: no key, from testclient." in shown
    for secret in ("boss", "old"):
        assert hashed(secret).hex() not in shown


def test_without_keys_everyone_may_do_everything_on_loopback(start: Start) -> None:
    with start() as client:
        create(client)
        decide(client)
        assert "There never was a key" in client.get("/access").text


# ---------------------------------------------------------------- a database that does not answer


def until(client: TestClient[Any], path: str, status: int) -> Any:
    """The answer of this status, which comes within seconds."""
    headers = {"Authorization": "Bearer boss"}
    end = time.monotonic() + 20
    while (answer := client.get(path, headers=headers)).status_code != status:
        assert time.monotonic() < end, answer.text
        time.sleep(0.05)
    return answer.json()


def test_keys_that_cannot_be_read_for_long_let_nobody_in(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_of, "LONGEST_STALE", 2.5)
    PostgresLog(url).close()
    add_key(url, AccessKey("boss", "admin", hashed("boss")))
    with (
        running(url, time.time, access=Access(lambda: all_keys(url)), keys_in=url) as client,
        psycopg.connect(url.conninfo, autocommit=True) as database,
    ):
        until(client, "/v1/policies", 200)
        database.execute("ALTER TABLE greedyfirst.access_keys RENAME TO hidden")
        refused = until(client, "/v1/policies", 503)
        assert "the keys could not be read" in refused["detail"]
        assert "the keys could not be read" in str(until(client, "/readyz", 503)["warnings"])
        form = client.post("/sign-in", data={"key": "boss"}, headers={"Accept": "text/html"})
        assert form.status_code in (403, 503)
        assert client.get("/healthz").status_code == 200
        database.execute("ALTER TABLE greedyfirst.hidden RENAME TO access_keys")
        until(client, "/readyz", 200)
        until(client, "/v1/policies", 200)


def test_keys_are_read_on_one_connection_until_it_is_cut(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresLog(url).close()
    add_key(url, AccessKey("boss", "admin", hashed("boss")))
    made: list[Any] = []
    connect = postgres_database.connect

    def counted(*args: Any, **options: Any) -> Any:
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(postgres_database, "connect", counted)
    reader = KeyReader(url)
    for _ in range(5):
        keys, changes = reader.look(0)
        assert [key.name for key in keys] == ["boss"]
        assert len(changes) == 1
    assert len(made) == 1
    with psycopg.connect(url.conninfo, autocommit=True) as database:
        database.execute("SELECT pg_terminate_backend(%s)", (made[0].info.backend_pid,))
    with pytest.raises(LogFailedError):
        reader.look(0)
    assert reader.look(1)[1] == []
    assert len(made) == 2
    reader.close()
    assert made[1].closed
