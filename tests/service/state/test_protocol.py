"""The protocol: its hash is known before the service runs, and no later change moves it."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from litestar.testing import TestClient
from served import BY, SPECIFICATION, Start, create, decide, reward

from greedyfirst.cli import main
from greedyfirst.service.log.entries import encode
from greedyfirst.service.log.events import Created
from greedyfirst.service.state.protocol import document_of, in_words, planned
from greedyfirst.service.state.specification import Specification
from greedyfirst.version import __version__


def protocol(client: TestClient[Any]) -> Any:
    answer = client.get("/v1/policies/dose/protocol")
    assert answer.status_code == 200, answer.text
    return answer.json()


def ran(monkeypatch: pytest.MonkeyPatch, capsys: Any, *words: str) -> tuple[Any, str, str]:
    """Exit code, output and errors of the command."""
    monkeypatch.setattr(sys, "argv", ["greedyfirst", "protocol", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, *capsys.readouterr()


def test_the_command_gives_the_hash_of_the_service(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    file = tmp_path / "dose.json"
    file.write_text(json.dumps(SPECIFICATION))
    code, said, _ = ran(monkeypatch, capsys, str(file))
    assert code == 0
    _, document, _ = ran(monkeypatch, capsys, str(file), "--json")
    with start() as client:
        create(client)
        found = protocol(client)
        page = client.get("/policies/dose/protocol").text
    shown = found["document"]
    assert shown["sha256"] == hashlib.sha256(document.encode()).hexdigest()
    assert shown["canonical"] == document
    assert f"SHA-256 {shown['sha256']}" in said
    for line in shown["words"]:
        assert f"{line['term']}: {line['text']}" in said
    assert shown["sha256"] in page
    assert (found["decisions"], found["changes"]) == (0, [])
    content = json.loads(document)
    assert json.dumps(content, sort_keys=True, separators=(",", ":")) == document
    assert content["greedyfirst"] == __version__
    assert content["seed"] == 1
    assert content["specification"]["policy"]["options"]["warmup"] == "auto"
    assert shown["made_with"]["numpy"] == np.__version__


def test_whatever_is_laid_down_has_its_part_in_the_hash() -> None:
    """Options that are left out and options written out are the same protocol."""
    plain = msgspec.convert(SPECIFICATION, Specification)
    changes = [
        {"seed": 2},
        {"arms": ["low", "High"]},
        {"on_alarm": "drop"},
        {"reward_range": {"low": 0.0}},
        {"policy": {"policy": "Greedy", "options": {}}},
        {"intercept": False},
    ]
    others = [msgspec.convert(SPECIFICATION | each, Specification) for each in changes]
    hashes = [planned(each).sha256 for each in (plain, *others)]
    assert len(set(hashes)) == len(hashes)
    assert planned(plain.written_out()).sha256 == hashes[0]


def test_later_changes_are_listed_and_leave_the_hash(start: Start) -> None:
    url = "/v1/policies/dose"
    with start() as client:
        create(client)
        first = protocol(client)["document"]
        reward(client, decide(client)["decision_id"], 0.75)
        client.post(f"{url}/arms", json={"arm": "middle", **BY}).raise_for_status()
        decide(client)
        decide(client)
        client.post(f"{url}/retirements", json={"arm": "low", **BY}).raise_for_status()
        ranged = SPECIFICATION["features"][0] | {"low": 0, "high": 120}
        features = [ranged, SPECIFICATION["features"][1]]
        client.put(f"{url}/schema", json={"features": features, **BY}).raise_for_status()
        rows = [{"context": {"age": 50, "sex": "f"}, "arm": "high", "reward": 0.5}]
        client.post(f"{url}/history", json={"rows": rows, **BY}).raise_for_status()
        decide(client)
        body = {"value": 0.5, **BY}
        client.post("/v1/decisions/dose:1/correction", json=body).raise_for_status()
        client.post(f"{url}/state", json={"state": "paused", **BY}).raise_for_status()
        found = protocol(client)
        page = " ".join(client.get("/policies/dose/protocol").text.split())
    with start() as client:
        assert protocol(client) == found
    assert found["document"] == first
    assert found["decisions"] == 4
    assert [(each["event"]["event"], each["decisions"]) for each in found["changes"]] == [
        ("arm_added", 1),
        ("arm_retired", 3),
        ("schema_changed", 3),
        ("imported", 3),
        ("reward_corrected", 4),
        ("state_changed", 4),
    ]
    assert all(each["event"]["who"] == "Ada" for each in found["changes"])
    assert page.count('<span class="tag">later</span>') == 6
    assert "The arm middle was added." in page
    assert "corrected from 0.7500 to 0.5000" in page


def test_fields_that_later_releases_add_do_not_move_the_hash() -> None:
    """An entry is hashed as it was written, not as this release would write it."""
    specification = msgspec.convert(SPECIFICATION, Specification)
    body = encode(Created(specification=specification, seed=1))
    older = json.loads(body)
    del older["specification"]["reward_range"], older["specification"]["intercept"]
    found = document_of(json.dumps(older).encode())
    assert "reward_range" not in found.canonical
    assert "intercept" not in found.canonical
    assert found.sha256 != document_of(body).sha256


def test_a_log_without_releases_has_a_protocol_too() -> None:
    specification = msgspec.convert(SPECIFICATION, Specification)
    found = document_of(encode(Created(specification=specification, seed=1)))
    assert json.loads(found.canonical)["greedyfirst"] is None
    assert found.made_with == {}
    assert found.words[-1].text == "not recorded"


def test_all_of_a_specification_is_said_in_words() -> None:
    given = SPECIFICATION | {
        "reward_wait": 3 * 86_400,
        "default_reward": 0.125,
        "reward_range": {"low": 0.0, "high": 1.0, "outside": "hold"},
        "features": [
            {"kind": "numeric", "name": "age", "mean": 60, "scale": 10, "low": 18, "high": 120},
            {"kind": "categorical", "name": "ward", "levels": ["a", "b"], "other": "b"},
        ],
        "on_alarm": "drop",
        "control": {"arm": "low", "share": 0.1},
        "seed": 77,
    }
    specification = msgspec.convert(given, Specification)
    created = Created(specification=specification.written_out(), seed=77)
    text = "\n".join(f"{line.term}: {line.text}" for line in in_words(created))
    for said in (
        "2: low, high.",
        "(x − 60) / 10, plausible 18.0 to 120.0 (else refused)",
        "One of a, b; others are taken as b; compared with a.",
        "within 3 days. If none comes, 0.125 is learned.",
        "Plausible: 0.0 to 1.0; others are held until a person has seen to it.",
        "GreedyFirst. ",
        "0.1 of decisions goes to current practice: always low. The policy does not learn",
        'warmup = "auto"',
        "Seed: 77",
    ):
        assert said in text
    plain = msgspec.convert(SPECIFICATION, Specification)
    words = {line.term for line in in_words(Created(specification=plain, seed=1))}
    assert {"Arms", "Feature: age", "Base level", "Rewards", "Seed", "Release"} <= words


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{}", "missing required field"),
        ("not JSON", "must be JSON"),
        (json.dumps(SPECIFICATION | {"seed": None}), "seed must be given"),
        (json.dumps(SPECIFICATION | {"arms": ["a", "a"]}), "arms must"),
        (json.dumps(SPECIFICATION | {"colour": "red"}), "colour"),
    ],
)
def test_bad_files_are_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, content: str, sentence: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    code, out, err = ran(monkeypatch, capsys, str(file))
    assert (code, out) == (2, "")
    assert f"{file}: " in err
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_seed_that_was_drawn_is_part_of_the_protocol(start: Start) -> None:
    with start() as client:
        create(client, seed=None)
        found = protocol(client)["document"]
        drawn = client.get("/v1/policies/dose").json()["seed"]
    assert json.loads(found["canonical"])["seed"] == drawn
    assert f"{drawn}: all randomness follows from it." in [line["text"] for line in found["words"]]
