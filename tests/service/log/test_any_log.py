"""What every log does, in a file and in PostgreSQL: it keeps what is appended, and shows edits."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import msgspec
import pytest
from log_entries import entries
from served import SPECIFICATION
from stores import Store

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.entries import Entry, Head, encode, seal
from greedyfirst.service.log.events import Created, Decided, Decision, Erased, Expired
from greedyfirst.service.state.specification import Specification


def test_what_is_appended_is_read(store: Store) -> None:
    log = store.open()
    assert log.last() == (0, 0.0)
    assert log.append(entries(1, 1200)) == 1
    assert log.last() == log.last("p") == (1200, 1200.0)
    assert log.last("q") == (0, 0.0)
    assert list(log.read("p")) == entries(1, 1200)
    assert list(log.read("p", 5, 9)) == entries(6, 8)
    assert list(log.read("q")) == []
    assert log.about("p", 7) == entries(7, 7)
    assert log.with_key("p", "key 7") == entries(7, 7)[0]
    assert log.with_key("q", "key 7") is None
    assert log.check() == 1200
    log.close()


def test_the_seals_are_the_same_in_every_store(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 3))
    expected = Head(0, bytes(32))
    for entry in entries(1, 3):
        expected = Head(entry.seq, seal(expected.seal, entry))
    assert log.head() == log.head_at(3) == expected
    assert log.head_at(0) == Head(0, bytes(32))
    assert log.head_at(4) is None
    log.close()


def test_entries_are_all_appended_or_none(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 3))
    twice = entries(5, 5)[0]._replace(key="key 2")
    with pytest.raises(LogFailedError, match=r"UNIQUE|unique"):
        log.append([*entries(4, 4), twice])
    assert log.last() == (3, 3.0)
    log.append(entries(4, 5))
    log.close()
    reopened = store.open()
    assert reopened.check() == 5
    reopened.close()


def test_large_appends_are_one_transaction(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 250))
    assert set(log.keys()) == {("p", f"key {seq}") for seq in range(1, 251)}
    assert set(log.keys("p")) == set(log.keys())
    assert set(log.keys("q")) == set()
    with pytest.raises(LogFailedError, match=r"UNIQUE|unique"):
        log.append([*entries(251, 599), entries(600, 600)[0]._replace(key="key 7")])
    assert (log.last()[0], log.check()) == (250, 250)
    log.append(entries(251, 251))
    log.close()
    log = store.open()
    assert log.check() == 251
    log.close()


def test_the_store_refuses_changes(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 3))
    log.close()
    for change in ("UPDATE entries SET at = 0", "DELETE FROM entries"):
        with pytest.raises(store.error, match="append-only"):
            store.change(change)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = {text} WHERE seq = 100",
        "UPDATE entries SET at = at + 1 WHERE seq = 100",
        "UPDATE entries SET policy = 'q' WHERE seq = 100",
        "UPDATE entries SET key = NULL WHERE seq = 100",
        "UPDATE entries SET key = '' WHERE seq = 101",
        "UPDATE entries SET step = 5 WHERE seq = 100",
        "UPDATE entries SET kind = 'expired' WHERE seq = 100",
        "DELETE FROM entries WHERE seq = 100",
        "DELETE FROM entries WHERE seq = 1",
    ],
)
def test_every_edit_is_found_by_the_check(store: Store, change: str) -> None:
    log = store.open()
    log.append([*entries(1, 100), entries(101, 101)[0]._replace(key=None), *entries(102, 2500)])
    log.close()
    store.unguard()
    store.change(change.format(text=store.text))
    opened = store.open()
    with pytest.raises(DamagedLogError, match=r"entry|entries"):
        opened.check()
    opened.close()


def test_recent_edits_are_found_at_the_start(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 3000))
    log.close()
    store.unguard()
    store.change("DELETE FROM entries WHERE seq = 2500")
    with pytest.raises(DamagedLogError, match="lacks entry 2500"):
        store.open()


def test_entries_that_are_gone_from_the_end_are_missed(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 30))
    log.save_snapshot("p", 30, b"")
    log.close()
    store.unguard()
    store.change("DELETE FROM entries WHERE seq > 20")
    with pytest.raises(DamagedLogError, match="lost its last entries"):
        store.open()


def test_reads_of_several_threads(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 2000))
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(10):
                assert len(list(log.read("p"))) >= 2000
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for seq in range(2001, 2021):
        log.append([Entry.of(Expired(step=1, learned=None), seq=seq, at=0, policy="p", key=None)])
    for thread in threads:
        thread.join()
    assert not failures
    log.close()


def test_the_newest_snapshots_are_kept_and_changed_ones_not_taken(store: Store) -> None:
    log = store.open()
    log.append(entries(1, 30))
    for seq in range(10, 20):
        log.save_snapshot("p", seq, f"state {seq}".encode())
    assert log.snapshot("p") == (19, b"state 19")
    assert log.snapshot("p", 18) == (17, b"state 17")
    assert log.snapshot("p", 16) is None
    store.change("DELETE FROM snapshots WHERE seq = 19")
    store.change("UPDATE snapshots SET seq = 25 WHERE seq = 17")
    assert log.changed_snapshots() == [("p", 25)]
    assert log.snapshot("p") == (18, b"state 18")
    log.close()


def decision(*, erased: bool) -> Decided:
    answer = Decision(
        decision_id="p:1",
        policy="p",
        arm="a",
        mode="greedy",
        step=1,
        at=1.0,
        model_version=0,
        schema_version=1,
        expected_rewards={},
        contributions={},
    )
    context: dict[str, Any] = {} if erased else {"age": 50}
    return Decided(context=context, eligible_arms=None, answer=answer, erased=erased)


def test_an_erasure_replaces_a_body_and_is_attested(store: Store) -> None:
    log = store.open()
    log.append([Entry.of(decision(erased=False), seq=1, at=1.0, policy="p", key="k")])
    log.save_snapshot("p", 1, b"with the person's features")
    body = encode(decision(erased=True))
    written = log.head_at(1)
    assert written is not None
    attested = Erased(
        step=1,
        was="pending",
        seq=1,
        seal=written.seal.hex(),
        body=hashlib.sha256(body).hexdigest(),
        who="Ada",
        why="asked for",
    )
    assert log.erase([(1, body)], Entry.of(attested, seq=2, at=2.0, policy="p", key=None)) == 2
    assert log.head_at(1) == written
    assert log.snapshot("p") is None
    assert [entry.kind for entry in log.about("p", 1)] == ["decided", "erased"]
    assert log.about("p", 1)[0].body == body
    assert log.check() == 2
    with pytest.raises(store.error, match="append-only"):
        store.change("UPDATE entries SET at = 0")
    log.close()


def test_audited_entries_and_policies_in_their_order(store: Store) -> None:
    log = store.open("p", "b", "a")
    created = Created(specification=msgspec.convert(SPECIFICATION, Specification), seed=1)
    for seq, policy in enumerate(("b", "a"), 1):
        log.append([Entry.of(created, seq=seq, at=1.0, policy=policy, key=None)])
    log.append(entries(3, 10))
    assert [entry.policy for entry in log.policies()] == ["b", "a"]
    assert [entry.seq for entry in log.audit("b")] == [1]
    assert log.audit("p") == []
    assert log.audit("b", before=1) == []
    log.close()
