"""What is left of an erased person says nothing: seals, numbers that followed, free pages."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
from log_entries import entries
from served import BY, Clock, create, decide, reward, running, view
from test_corrections import correct
from test_erasure import FEATURES, SECRET, erase, play, restored, set_body, whole

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.copying import copy_log
from greedyfirst.service.log.entries import encode, seal
from greedyfirst.service.log.events import Alarmed, Decided, Decision, Erased, Fed, Reduced
from greedyfirst.service.log.places import reading
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import erasure
from greedyfirst.service.state.erasure import chances_of
from greedyfirst.service.state.restoring import recompute_last
from greedyfirst.service.state.specification import Specification

RELEASE_0_1 = Path(__file__).parents[1] / "release_0_1" / "log.db"
#: Alarms come and go with what is learned.
ALARMING = {"policy": "GreedyFirst", "options": {"t0": 4, "lambda0": 1.0}}


def events_of(path: Path) -> list[tuple[int, Any]]:
    log = SqliteLog(path)
    found = [(entry.seq, entry.event) for entry in log.read("dose")]
    log.close()
    return found


def test_every_entry_has_a_nonce_that_is_never_told(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 8)
        pages = ("/v1/policies/dose/audit", "/v1/decisions/dose:7", "/v1/policies/dose/protocol")
        answers = "".join(client.get(page).text for page in pages)
    log = SqliteLog(path)
    nonces = [msgspec.json.decode(entry.body)["nonce"] for entry in log.read("dose")]
    log.close()
    assert len({*nonces}) == len(nonces) == 17
    assert {len(nonce) for nonce in nonces} == {32}
    assert "nonce" not in answers
    assert not any(nonce in answers for nonce in nonces)


def test_the_seal_of_an_erased_decision_confirms_no_guess(path: Path) -> None:
    """Who knows all that was in it, but for the nonce, cannot tell that it was that."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 8)
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with running(path, Clock()) as client:
        erase(client, 7).raise_for_status()
    log, before = SqliteLog(path), SqliteLog(copy)
    kept, original = log.about("dose", 7)[0], before.about("dose", 7)[0]
    last, own = log.head_at(kept.seq - 1), log.head_at(kept.seq)
    assert last is not None
    assert own is not None
    assert seal(last.seal, original) == own.seal
    assert seal(last.seal, original._replace(body=encode(original.event))) != own.seal
    assert b"nonce" not in kept.body
    log.close()
    before.close()


def with_alarms(client: Any) -> None:
    """A life in which alarms are raised between the reward of decision 7 and its erasure."""
    create(client, features=FEATURES, policy=ALARMING)
    play(client, 1, 20)
    arms = {"arm": "new", **BY}
    client.post("/v1/policies/dose/arms", json=arms).raise_for_status()
    play(client, 21, 30)


def test_what_others_were_told_meanwhile_is_reduced(path: Path) -> None:
    with running(path, Clock()) as client:
        with_alarms(client)
        told = client.get("/v1/decisions/dose:12").json()["answer"]
        before = client.get("/v1/decisions/dose:6").json()
        seen = erase(client, 7).json()
        play(client, 31, 33)
        assert client.get("/v1/decisions/dose:6").json() == before
        after = client.get("/v1/decisions/dose:12").json()["answer"]
        assert client.get("/decisions/dose:12").status_code == 200
        assert client.get("/policies/dose").status_code == 200
        trail = client.get("/v1/policies/dose/audit").json()
    for name in ("arm", "mode", "step", "at", "propensity", "propensities", "model_version"):
        assert after[name] == told[name]
    assert told["expected_rewards"]
    assert after["expected_rewards"] == after["contributions"] == {}
    found = events_of(path)
    learned = next(seq for seq, event in found if event == found[14][1])
    erased = next(seq for seq, event in found if isinstance(event, Erased))
    changed = 0
    for seq, event in found:
        if isinstance(event, Decided) and not event.erased:
            meanwhile = learned < seq < erased
            assert (event.reduced == 7) == meanwhile
            assert bool(event.answer.expected_rewards) != meanwhile
            assert event.context
            changed += meanwhile
        elif isinstance(event, (Alarmed, Fed)):
            assert (event.reduced == 7) == (learned < seq < erased)
            number = event.min_eigenvalue if isinstance(event, Alarmed) else event.share
            assert (number is None) == (event.reduced == 7)
            changed += event.reduced == 7
    assert any(isinstance(event, Alarmed) and event.reduced for _, event in found)
    assert seen["erased"]["reduced"] == changed
    assert seen["erased"]["guessable"] == 0
    (event,) = [event for _, event in found if isinstance(event, Reduced)]
    assert (event.step, event.count) == (7, changed)
    assert any(each["event"]["event"] == "reduced" for each in trail)
    restored(path, (9, 0, 24))


def test_nothing_that_was_answered_meanwhile_is_left_in_the_file(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        early = play(client, 1, 6)
        made = play(client, 7, 40)
    known = {each for answer in early for each in numbers_of(answer)}
    numbers = {each for answer in made for each in numbers_of(answer)} - known
    assert sum(has(whole(path), number) for number in numbers) > 50
    with running(path, Clock()) as client:
        erase(client, 7).raise_for_status()
    assert [number for number in numbers if has(whole(path), number)] == []


def numbers_of(answer: Any) -> list[float]:
    numbers = [*answer["expected_rewards"].values(), *answer["contributions"].values()]
    return [number for number in numbers if len(repr(number)) > 12]


def has(content: bytes, number: float) -> bool:
    return repr(number).encode() in content or struct.pack("<d", number) in content


def test_scores_of_an_erased_decision_are_in_no_snapshot(path: Path) -> None:
    """The newest decision is erased before its reward comes: nothing is learned again."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 20)
        made = decide(client, SECRET)
    numbers = [number for number in made["expected_rewards"].values() if len(repr(number)) > 12]
    assert any(has(whole(path), number) for number in numbers)
    with running(path, Clock()) as client:
        erase(client, 21).raise_for_status()
    assert [number for number in numbers if has(whole(path), number)] == []
    restored(path, (20, 0, 1))


def test_dropped_snapshots_are_overwritten(path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 30))
    for seq in range(1, 31):
        log.save_snapshot("p", seq, b"the state with a person in it %02d" % seq * 500)
    log.close()
    assert b"person in it 30" in path.read_bytes()
    assert b"person in it 02" not in path.read_bytes()


def test_an_erasure_overwrites_pages_that_older_releases_freed(path: Path) -> None:
    """What they left inside a page that is in use goes with a copy."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 8)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA secure_delete = OFF")
        for number in range(50):
            state = b"the state of older releases %02d" % number * 900
            other.execute("INSERT INTO snapshots VALUES ('dose', ?, ?)", (-number, state))
        other.commit()
        other.execute("DELETE FROM snapshots WHERE seq <= 0")
    other.close()
    assert path.read_bytes().count(b"older releases") > 10_000
    with running(path, Clock()) as client:
        erase(client, 7).raise_for_status()
    assert path.read_bytes().count(b"older releases") < 4096 / len(b"the state of older releases")
    copy_log(path, copy := path.with_name("copy.db"))
    assert b"older releases" not in copy.read_bytes()


@pytest.mark.parametrize("kind", ["reduced", "erased"])
def test_other_changes_to_what_is_left_are_found(path: Path, kind: str) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 20)
        erase(client, 7).raise_for_status()
        erase(client, 12).raise_for_status()  # which was reduced before
    log = SqliteLog(path)
    assert log.check() > 0
    left = log.about("dose", 15 if kind == "reduced" else 12)[0]
    other = log.about("dose", 16)[0]
    log.close()
    forged = left.body.replace(b'"arm":"high"', b'"arm":"LOW"').replace(
        b'"arm":"low"', b'"arm":"high"'
    )
    assert forged != left.body
    for number, (seq, body) in enumerate(
        [
            (left.seq, forged),
            (other.seq, other.body.replace(b'"reduced":7', b'"reduced":12')),
            (other.seq, other.body.replace(b'"reduced":7', b'"reduced":null')),
        ]
    ):
        copy = path.with_name(f"{number}.db")
        shutil.copy(path, copy)
        set_body(copy, seq, body)
        with pytest.raises(DamagedLogError, match="was changed"):
            SqliteLog(copy)


def test_an_entry_that_no_erasure_reduced_is_not_taken_for_one(path: Path) -> None:
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 8)
        erase(client, 7).raise_for_status()
        play(client, 9, 10)
    log = SqliteLog(path)
    entry = log.about("dose", 9)[0]
    log.close()
    event: Any = entry.event
    emptied = msgspec.structs.replace(event.answer, expected_rewards={}, contributions={})
    body = encode(msgspec.structs.replace(event, answer=emptied, reduced=7))
    set_body(path, entry.seq, body)
    with pytest.raises(DamagedLogError, match=f"entry {entry.seq} .* was changed"):
        SqliteLog(path)


def test_void_rewards_end_what_is_reduced(path: Path) -> None:
    """Decisions made while the reward was void stay as they are, and can be made again."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 12)
        correct(client, 7, None).raise_for_status()
        play(client, 13, 15)
        correct(client, 7, 0.25).raise_for_status()
        play(client, 16, 17)
        correct(client, 7, None).raise_for_status()
        play(client, 18, 19)
        assert erase(client, 7).json()["erased"]["reduced"] == 5 + 2
    kept = [bool(e.answer.expected_rewards) for _, e in events_of(path) if isinstance(e, Decided)]
    assert kept == [True] * 6 + [False] * 6 + [True] * 3 + [False] * 2 + [True] * 2
    restored(path, (11, 0, 8))


def test_an_erasure_that_ends_half_way_is_asked_for_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are reduced a few at a time, and the person's at last."""
    monkeypatch.setattr(erasure, "_AT_ONCE", 4)
    with running(path, Clock()) as client:
        create(client, features=FEATURES)
        play(client, 1, 20)
        done = SqliteLog.erase

        def twice(log: SqliteLog, *given: Any) -> int:
            if log.about("dose", 7)[-1].kind == "reduced":
                raise LogFailedError("the disk is full")
            return done(log, *given)

        monkeypatch.setattr(SqliteLog, "erase", twice)
        assert erase(client, 7).status_code == 503
        monkeypatch.setattr(SqliteLog, "erase", done)
    with running(path, Clock()) as client:
        assert view(client)["mismatches"] == 0
        assert client.get("/v1/decisions/dose:8/replay").json()["same"]
        decided = client.get("/v1/decisions/dose:7").json()
        assert decided["erased"] is None
        assert decided["context"] == SECRET
        assert erase(client, 7).json()["erased"]["reduced"] == 13
    restored(path, (6, 0, 14))


def left_of(path: Path, policy: Any, **options: Any) -> Decision:
    """A decision that was reduced."""
    with running(path, Clock()) as client:
        create(client, features=FEATURES, policy=policy, **options)
        play(client, 1, 30)
        erase(client, 7).raise_for_status()
        answer = client.get("/v1/decisions/dose:28").json()["answer"]
        erased = client.get("/v1/decisions/dose:7").json()["answer"]
    assert (erased["propensity"] is None) == (answer["propensity"] is None)
    return msgspec.convert(answer, Decision)


def test_a_probability_that_is_an_integral_of_estimates_goes(path: Path) -> None:
    sampling = {"policy": "ThompsonSampling", "options": {"sigma": 1.0}}
    left = left_of(path, sampling)
    assert left.propensity is None
    assert left.propensities == {}


def test_a_probability_that_is_the_same_whatever_was_learned_stays(path: Path) -> None:
    exploring = {"policy": "EpsilonGreedy", "options": {"epsilon": 0.2}}
    control = {"policy": {"policy": "Greedy"}, "share": 0.3}
    left = left_of(path, exploring, control=control)
    assert sum(left.propensities.values()) == pytest.approx(1)
    assert left.propensity == left.propensities[left.arm]
    specification = {"name": "p", "arms": ["a", "b"], "features": FEATURES, "policy": exploring}
    mixed = {0.7 * own + 0.3 * practice for own in (0.9, 0.1) for practice in (1.0, 0.0)}
    known = chances_of(msgspec.convert(specification | {"control": control}, Specification))
    assert {round(chance, 12) for chance in mixed} <= known


def test_what_older_entries_reveal_is_said(path: Path) -> None:
    """Their seals have no nonce: they confirm a guess, and the answer says of how many."""
    shutil.copy(RELEASE_0_1, path)
    clock = Clock()
    clock.now += 10_000
    with running(path, clock) as client:
        for _ in range(3):
            body = {"context": {"age": 50, "sex": "f"}}
            made = client.post("/v1/policies/explored/decisions", json=body).json()
            value = {"value": 0.5}
            client.put(f"/v1/decisions/{made['decision_id']}/reward", json=value)
        seen = client.post("/v1/decisions/explored:20/erasure", json=BY)
        assert seen.status_code == 201, seen.text
        erased = seen.json()["erased"]
    log = SqliteLog(path)
    assert log.check() > 0
    since = next(each.seq for each in log.about("explored", 20) if each.kind == "expired")
    older = [each for each in log.read("explored", since, 419) if each.kind in KINDS]
    assert erased["reduced"] == len(older) + 3
    assert erased["guessable"] == len(older) + 1
    again = recompute_last(log, "explored", 1000)
    assert (again.again, again.differ) == (29, 0)  # to 30, and not 20 itself
    log.close()


KINDS = ("decided", "alarmed", "fed")


@pytest.mark.parametrize("first", ["file", "postgres"])
def test_an_erasure_on_both_stores_and_copies_of_it(
    path: Path, url: PostgresUrl, first: str
) -> None:
    one, other = (path, url) if first == "file" else (url, path)
    clock = Clock()
    with running(one, clock) as client:
        create(client, features=FEATURES)
        play(client, 1, 20)
        assert erase(client, 7).json()["erased"]["reduced"] == 13
        assert erase(client, 12).json()["erased"]["reduced"] == 0
        play(client, 21, 22)
        seen = view(client)
    copy_log(one, other)
    with running(other, clock) as client:
        assert view(client) == seen
        assert erase(client, 3).json()["erased"]["reduced"] == 3 + 2
        decide(client, SECRET)
        reward(client, "dose:23", 1.0)
    back = path.with_name("back.db")
    copy_log(other, back)
    for place in (one, other, back):
        with reading(place) as log:
            assert log.check() > 0
            assert recompute_last(log, "dose", 1000).differ == 0
