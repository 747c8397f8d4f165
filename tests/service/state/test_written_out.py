"""A policy is recorded with every option: no later default can change what a log means."""

from __future__ import annotations

import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest
from served import SPECIFICATION, Clock, Start, create, running, view

from greedyfirst.policies import GreedyFirst, OLSBandit, Policy
from greedyfirst.policies.description import describe
from greedyfirst.policies.policy import POLICIES
from greedyfirst.service.errors import InvalidError
from greedyfirst.service.log import entries
from greedyfirst.service.log.events import Created
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.restoring import restore
from greedyfirst.service.state.specification import (
    NumericFeature,
    Specification,
)

RELEASE_0_1 = Path(__file__).parents[1] / "release_0_1" / "log.db"
BANDIT = {"policy": "OLSBandit", "options": {"h": 2.0}}


def names_of(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def specified(policy: Policy, **changes: Any) -> Specification:
    """A specification of three arms and four encoded features, which examples are made for."""
    described = msgspec.json.decode(msgspec.json.encode(describe(policy)))
    described["options"].pop("on_alarm", None)
    return Specification(
        name="p",
        arms=("a", "b", "c"),
        features=tuple(NumericFeature(name=name) for name in "xyz"),
        policy=PolicyDescription(**described),
        **changes,
    )


def created(path: Path) -> Created:
    log = SqliteLog(path)
    event = log.policies()[0].event
    log.close()
    assert isinstance(event, Created)
    return event


def test_a_new_policy_explores_arm_by_arm_and_leaves_alarms_to_a_person(
    path: Path, start: Start
) -> None:
    with start() as client:
        create(client)
        answers = client.app.state.service.deployments["dose"].agent.policy.answers()
        assert answers == ("explore_arm", "explore", "drop", "hold")
        assert view(client)["specification"]["on_alarm"] == "hold"
    log = SqliteLog(path)
    assert restore(log, "dose", snapshots=False)[0].agent.policy == GreedyFirst(on_alarm="hold")
    log.close()


def test_the_log_has_every_option_also_of_inner_policies(path: Path, start: Start) -> None:
    asked = {"policy": "GreedyFirst", "options": {"t0": 30, "fallback": BANDIT}}
    with start() as client:
        create(client, policy=asked)
        shown = view(client)["specification"]["policy"]
    event = created(path)
    recorded = event.specification.policy
    assert set(recorded.options) == names_of(GreedyFirst) - {"on_alarm"}
    assert set(recorded.options["fallback"]["options"]) == names_of(OLSBandit)
    assert recorded.options["fallback"]["options"]["h"] == 2.0
    assert msgspec.to_builtins(event.asked) == asked
    assert shown == msgspec.to_builtins(recorded)


def test_other_defaults_do_not_change_what_a_log_means(
    path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start() as client:
        create(client)
    other = {"GreedyFirst": {"t0": 7, "initial_pulls": 3}}
    monkeypatch.setattr("greedyfirst.policies.description._RELEASE_0_1", other)
    log = SqliteLog(path)
    assert restore(log, "dose", snapshots=False)[0].agent.policy == GreedyFirst(on_alarm="hold")
    log.close()


@pytest.mark.parametrize("snapshot", [True, False])
def test_the_same_request_again_is_no_error(path: Path, start: Start, snapshot: bool) -> None:
    asked = {"policy": {"policy": "GreedyFirst", "options": {"t0": 30, "fallback": BANDIT}}}
    with start() as client:
        create(client, **asked)
    if not snapshot:
        log = SqliteLog(path)
        bare = SqliteLog(path.with_name("bare.db"))
        bare.append(list(log.read("dose")))
        log.close()
        bare.close()
        shutil.move(path.with_name("bare.db"), path)
    with start() as client:
        full = view(client)["specification"]
        for body in (SPECIFICATION | asked, full):
            assert client.post("/v1/policies", json=body).status_code == 200
        for other in ({"t0": 31, "fallback": BANDIT}, {"t0": 30}, {}):
            body = SPECIFICATION | {"policy": {"policy": "GreedyFirst", "options": other}}
            assert client.post("/v1/policies", json=body).status_code == 409
        assert client.post("/v1/policies", json=full | {"seed": 2}).status_code == 409


def test_the_same_request_again_is_known_after_a_default_has_changed(
    path: Path, start: Start
) -> None:
    """As if the release that wrote the log had had another default: five initial pulls."""
    with start() as client:
        create(client)
    event = created(path)
    options = event.specification.policy.options | {"initial_pulls": 5}
    older = msgspec.structs.replace(
        event,
        specification=msgspec.structs.replace(
            event.specification, policy=PolicyDescription(options=options)
        ),
    )
    log = SqliteLog(path)
    first = next(iter(log.read("dose")))
    log.close()
    path.unlink()
    rewritten = SqliteLog(path)
    rewritten.append([first._replace(body=entries.encode(older))])
    rewritten.close()
    with start() as client:
        assert view(client)["specification"]["policy"]["options"]["initial_pulls"] == 5
        assert client.post("/v1/policies", json=SPECIFICATION).status_code == 200


def test_a_request_to_release_0_1_is_known_again(path: Path, clock: Clock) -> None:
    shutil.copy(RELEASE_0_1, path)
    clock.now += 10_000.0
    with running(path, clock) as client:
        for known in client.get("/v1/policies").json():
            asked = known["specification"]
            assert client.post("/v1/policies", json=asked).status_code == 200
            other = asked | {"arms": [*asked["arms"], "another"]}
            assert client.post("/v1/policies", json=other).status_code == 409


@pytest.mark.parametrize(
    "policy",
    [
        each
        for name, kind in POLICIES.items()
        if ":" not in name
        for each in kind.examples()
        if not each.needs_truth()
    ],
    ids=repr,
)
def test_every_policy_survives_being_written_out(policy: Policy) -> None:
    on_alarm = getattr(policy, "on_alarm", None) or "hold"
    full = specified(policy, on_alarm=on_alarm).written_out()
    read = msgspec.json.decode(msgspec.json.encode(full), type=Specification)
    assert read == full == full.written_out()
    assert read.made_policy() == policy.answering(on_alarm)
    assert "on_alarm" not in read.policy.options


@pytest.mark.parametrize("value", [object(), float("inf")])
def test_an_option_that_json_cannot_hold_is_refused(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"policy": "OLSBandit", "options": {"h": value}}
    monkeypatch.setattr("greedyfirst.service.state.policy_description.describe", lambda _: told)
    with pytest.raises(InvalidError):
        specified(OLSBandit()).written_out()


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"policy": "GreedyFirst", "options": {"on_alarm": "drop"}}, "on_alarm is a field"),
        ({"policy": "Nobody", "options": {}}, "policy must be one of"),
        ({"policy": "GreedyFirst", "options": {"t0": 0}}, "t0 must be"),
        ({"policy": "GreedyFirst", "options": {"t0": 2**60}}, "at most 2^53"),
        ({"policy": "Oracle", "options": {}}, "must know the truth"),
    ],
)
def test_a_policy_that_could_not_run_is_refused(start: Start, policy: Any, said: str) -> None:
    with start() as client:
        refused = client.post("/v1/policies", json=SPECIFICATION | {"policy": policy})
        assert refused.status_code == 422
        assert said in refused.json()["detail"]
        assert client.get("/v1/policies").json() == []
