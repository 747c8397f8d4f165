"""Names of arms, features, levels and people can be read and told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, SPECIFICATION, Start, create, decide, view

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Created
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state.specification import (
    CategoricalFeature,
    NumericFeature,
    Specification,
)

AGE, SEX = SPECIFICATION["features"]
UNREADABLE = {
    "blank": "   ",
    "no-break blank": "\u00a0",
    "NUL": "lo\x00w",
    "line end": "low\n",
    "tab": "lo\tw",
    "C1 control": "lo\x85w",
    "right-to-left override": "low\u202e",
    "isolate": "\u2066low",
    "right-to-left mark": "low\u200f",
    "zero-width space": "lo\u200bw",
    "zero-width joiner": "lo\u200dw",
    "byte-order mark": "\ufefflow",
    "soft hyphen": "lo\u00adw",
}


@pytest.mark.parametrize("name", UNREADABLE.values(), ids=UNREADABLE)
def test_names_that_cannot_be_read_are_refused(client: TestClient[Any], name: str) -> None:
    """Everywhere, and nothing is changed."""
    new = SPECIFICATION | {"name": "other"}
    before = view(client)
    for changes in (
        {"arms": ["high", name]},
        {"features": [AGE | {"name": name}, SEX]},
        {"features": [AGE, SEX | {"levels": ["f", name]}]},
    ):
        answer = client.post("/v1/policies", json=new | changes)
        assert answer.status_code == 422, changes
        assert "must be text that can be read" in answer.json()["detail"]
    for body in ({"arm": name, **BY}, {"arm": "middle"} | BY | {"who": name}):
        answer = client.post("/v1/policies/dose/arms", json=body)
        assert answer.status_code == 422, body
        assert "text that can be read" in answer.json()["detail"]
    change = {"features": [AGE, SEX, {"kind": "numeric", "name": name}], "fill": {name: 0}, **BY}
    assert client.put("/v1/policies/dose/schema", json=change).status_code == 422
    assert view(client) == before
    assert [each["name"] for each in client.get("/v1/policies").json()] == ["dose"]


@pytest.mark.parametrize(
    "name", ["Dosis – hoch", "薬 1", "جرعة", "a b", "💊", "<b>", "é", "e\u0301"]
)
def test_names_of_every_script_are_taken(start: Start, name: str) -> None:
    with start() as client:
        create(client, arms=["high", name])
        assert decide(client, eligible_arms=[name])["arm"] == name
        body = {"arm": "new", "who": name, "why": "?"}
        assert client.post("/v1/policies/dose/arms", json=body).status_code == 201


def test_a_log_with_other_names_is_read_all_the_same(path: Path, start: Start) -> None:
    """Older releases took them."""
    features = (NumericFeature(name="\t"), CategoricalFeature(name=" ", levels=("\u202e", "f")))
    specification = Specification(name="dose", arms=("\0", "low\u200b"), features=features, seed=1)
    created = Created(specification=specification.written_out(), seed=1)
    log = SqliteLog(path)
    log.append([Entry.of(created, seq=1, at=1.0, policy="dose", key=None)])
    log.close()
    with start() as client:
        assert decide(client, {"\t": 1, " ": "f"}, eligible_arms=["\0"])["arm"] == "\0"
        body = {"arm": "\0", **BY}
        assert client.post("/v1/policies/dose/retirements", json=body).status_code == 201
