"""Operators see that a service works, and nothing that follows from rewards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from litestar.routes import HTTPRoute
from litestar.testing import TestClient
from served import CONTEXT, Clock, Start, create, decide, reward, running

from greedyfirst.service.dashboard.operations_page import happened
from greedyfirst.service.http.access import ROLES, Access, hashed, needed_role
from greedyfirst.service.http.blinding import TOLD
from greedyfirst.service.http.messages import AuditEntry
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.events import AnyEvent

HELD = [AccessKey(f"the {role}", role, hashed(role)) for role in ROLES]
HTML = {"Accept": "text/html"}
#: The pages, with the least role that may see each.
PAGES = [
    ("operator", "/"),
    ("operator", "/docs"),
    ("operator", "/operations"),
    ("operator", "/policies/dose/operations"),
    ("operator", "/policies/dose/protocol"),
    ("reader", "/policies/dose"),
    ("reader", "/policies/dose/effects"),
    ("reader", "/policies/dose/subgroups"),
    ("reader", "/decisions"),
    ("reader", "/decisions/dose:1"),
    ("reader", "/decisions/dose:1/again"),
    ("admin", "/access"),
]
#: What an operator may ask for, whatever the policies do.
OPEN = [
    "/healthz",
    "/readyz",
    "/v1/clock",
    "/v1/operations",
    "/v1/policies/dose/operations",
    "/v1/policies/dose/protocol",
    "/metrics",
    "/",
    "/operations",
    "/policies/dose/operations",
    "/policies/dose/protocol",
]


def bearer(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {role}"}


@pytest.mark.parametrize(("needed", "url"), PAGES)
def test_each_role_sees_its_pages(start: Start, needed: str, url: str) -> None:
    with start(access=Access(lambda: HELD)) as client:
        client.headers.update(bearer("admin"))
        create(client)
        reward(client, decide(client)["decision_id"], 1.0)
        del client.headers["Authorization"]
        for role in ROLES:
            query = {"number": "1", "policy": "dose"} if url == "/decisions" else {}
            answer = client.get(url, headers=HTML | bearer(role), params=query)
            allowed = ROLES.index(role) >= ROLES.index(needed)
            assert answer.status_code == (200 if allowed else 403), answer.text
        stranger = client.get(url, headers=HTML, follow_redirects=False)
        assert stranger.headers["location"].startswith("/sign-in")


def test_every_page_is_in_that_list(client: TestClient[Any]) -> None:
    found = {
        (needed_role(handler), route.path_format)
        for route in client.app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if "GET" in handler.http_methods and handler.opt.get("page")
    }
    named = {
        (role, path.replace("{policy}", "dose").replace("{decision_id}", "dose:1"))
        for role, path in found
    }
    assert named == {*PAGES, (None, "/sign-in"), (None, "/static/{name}")}


def test_an_operator_changes_nothing_by_any_form(start: Start) -> None:
    with start(access=Access(lambda: HELD)) as client:
        client.headers.update(bearer("admin"))
        create(client)
        client.headers.update(bearer("operator"))
        for route in client.app.routes:
            for handler in getattr(route, "route_handlers", ()):
                for method in {*getattr(handler, "http_methods", ())} - {"GET", "HEAD", "OPTIONS"}:
                    if not route.path.startswith("/sign"):
                        path = route.path_format.format(policy="dose", decision_id="dose:1")
                        assert client.request(method, path, json={}).status_code == 403, path


def lived(path: Path, good: str) -> dict[str, Any]:
    """What an operator is answered after decisions of which one arm's pay.

    With this λ₀ every arm raises its alarm at the second reward, whatever that is.
    """
    answers: dict[str, Any] = {}
    with running(path, Clock(), access=Access(lambda: HELD)) as client:
        client.headers.update(bearer("admin"))
        hold = {"low": -50, "high": 50, "outside": "hold"}
        options = {"t0": 1, "lambda0": 1000.0}
        create(client, policy={"options": options}, reward_range=hold, reward_wait=1000)
        for number in range(30):
            made = decide(client, {"age": 40 + number, "sex": "fm"[number % 2]})
            if number % 7 != 3:
                paid = 17.25 if made["arm"] == good else -3.5
                reward(client, made["decision_id"], paid + number % 3)
        resolved = {"arm": good, "resolution": "hold", "who": "Ada", "why": f"{good} is better"}
        client.post("/v1/policies/dose/resolutions", json=resolved).raise_for_status()
        arm = {"arm": "low" if good == "high" else "high", "who": "Ada", "why": f"{good} wins"}
        client.post("/v1/policies/dose/retirements", json=arm).raise_for_status()
        body = {"value": 11.5 if good == "high" else 7.75, "who": "Ada", "why": f"{good} was meant"}
        client.post("/v1/decisions/dose:1/correction", json=body).raise_for_status()
        assert reward(client, decide(client, CONTEXT)["decision_id"], 500.0) == "held"
        shares = client.get("/v1/policies/dose").json()["arms"]
        client.headers.update(bearer("operator"))
        for url in OPEN:
            answer = client.get(url, headers=HTML if not url.startswith("/v1") else {})
            assert answer.status_code == 200, url
            answers[url] = answer.text
    answers["/metrics"] = "\n".join(
        line
        for line in answers["/metrics"].splitlines()
        if not re.match(
            r"(# .*)?greedyfirst_(request_seconds|start_time|restore|log_seal|wal|requests_in)",
            line,
        )
    )
    for url in ("/", "/operations", "/policies/dose/operations", "/policies/dose/protocol"):
        answers[url] = re.sub(r'name="token" value="[^"]*"', "", answers[url])
    return answers | {"shares": shares}


def test_an_operator_is_answered_the_same_whatever_the_rewards_are(tmp_path: Path) -> None:
    """Two trials that differ in nothing but what each arm pays, and what people say of that."""
    one, other = (lived(tmp_path / f"{good}.db", good) for good in ("low", "high"))
    assert one.pop("shares") != other.pop("shares")
    for url, answer in one.items():
        assert answer == other[url], url
        for outcome in ("17.25", "18.25", "11.5", "7.75", "500", "is better", "wins", "meant"):
            assert outcome not in answer, (url, outcome)


def test_the_trail_of_operations_says_what_happened(tmp_path: Path) -> None:
    told = lived(tmp_path / "log.db", "low")
    page = " ".join(told["/policies/dose/operations"].split())
    for sentence in (
        "The policy was created.",
        "An alarm was raised.",
        "An alarm was answered.",
        "The arms in use were changed.",
        "A person saw to the reward of decision 1.",
    ):
        assert sentence in page
    assert "Held</dt><dd>1" in page
    assert 'greedyfirst_decisions_total{policy="dose"} 31.0' in told["/metrics"]
    assert "greedyfirst_pulls_total{" not in told["/metrics"]


@pytest.mark.parametrize("kind", get_args(AnyEvent), ids=lambda kind: kind.__name__)
def test_every_event_has_a_sentence_for_operators_without_its_fields(kind: Any) -> None:
    name = kind.__struct_config__.tag
    event = dict.fromkeys(TOLD.get(name, ()), 1) | {"event": name, "state": "paused"}
    sentence = happened(AuditEntry(number=1, at=0.0, event=event))
    assert sentence.endswith(".")
    assert "None" not in sentence


def test_the_counts_are_those_that_readers_see(start: Start) -> None:
    with start(access=Access(lambda: HELD)) as client:
        client.headers.update(bearer("admin"))
        create(client)
        for number in range(5):
            made = decide(client)
            if number < 3:
                reward(client, made["decision_id"], 1.0)
        seen = client.get("/v1/policies/dose").json()
        client.headers.update(bearer("operator"))
        (shown,) = client.get("/v1/operations").json()["policies"]
    pairs = {"learned": "joined", "awaited": "pending", "void": "voided", "held": "held_back"}
    for name in ("decisions", "missing", "too_late", "imported", *pairs):
        assert shown[name] == seen[pairs.get(name, name)]
    kinds = ("learned", "awaited", "missing", "too_late", "held", "void")
    assert shown["decisions"] == sum(shown[kind] for kind in kinds) == 5


def test_an_operator_of_some_policies_sees_only_those(start: Start) -> None:
    local = AccessKey("local", "operator", hashed("local"), policies=("elsewhere",))
    with start(access=Access(lambda: [*HELD, local])) as client:
        client.headers.update(bearer("admin"))
        create(client)
        client.headers.update(bearer("local"))
        assert client.get("/v1/operations").json()["policies"] == []
        for url in ("/v1/policies/dose/operations", "/policies/dose/operations"):
            assert client.get(url).status_code == 404
        assert "dose" not in client.get("/operations").text
