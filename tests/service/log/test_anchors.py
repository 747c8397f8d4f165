"""The log's head, published and kept elsewhere: what it shows that the seals alone do not."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from log_entries import entries
from served import CONTEXT, Clock, Start, create, decide, reward, running, view
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service import anchoring
from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.anchors import AnchorFile, check_head
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.entries import GENESIS, Entry, Head, seal
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.restore import restore
from greedyfirst.service.log.sqlite_log import SqliteLog


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    return tmp_path / "anchors"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text("a secret of the auditor\n")
    return file


def seal_anew(path: Path, change: dict[int, float]) -> None:
    """Change values of entries and seal the whole log again, as whoever writes the file can."""
    with sqlite3.connect(path) as file:
        for trigger in ("entries_stay", "entries_remain"):
            file.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        last = GENESIS
        for row in file.execute("SELECT * FROM entries ORDER BY seq").fetchall():
            entry = Entry(*row[:-1])
            if entry.seq in change:
                body = re.sub(rb'"value":[^,]+', b'"value":%g' % change[entry.seq], entry.body)
                assert body != entry.body
                entry = entry._replace(body=body)
            last = seal(last, entry)
            file.execute(
                "UPDATE entries SET body = ?, seal = ? WHERE seq = ?", (entry.body, last, entry.seq)
            )
    file.close()


def cut_end(path: Path, last: int) -> None:
    with sqlite3.connect(path) as file:
        file.execute("DROP TRIGGER entries_remain")
        file.execute("DELETE FROM snapshots")
        file.execute("DELETE FROM entries WHERE seq > ?", (last,))
    file.close()


@pytest.mark.parametrize("forged", ["sealed anew", "cut", "older copy"])
@pytest.mark.parametrize("by", ["head", "anchor"])
def test_what_seals_do_not_show_a_head_does(
    path: Path, anchor: Path, key: Path, forged: str, by: str
) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 10))
    back_up(path, path.with_name("copy.db"))
    log.append(entries(11, 20))
    head = log.head()
    AnchorFile.with_key_in(anchor, key).add(head, time.time())
    log.append(entries(21, 30))
    log.close()
    words = ["--head", head] if by == "head" else ["--anchor", anchor, "--anchor-key", key]
    good = run("log", "check", path, *words)
    assert good.exit_code == 0, good.exception
    assert ("1 anchors fit" if by == "anchor" else "entry 20 is the one") in good.output
    if forged == "sealed anew":
        seal_anew(path, {7: 99.0})
    elif forged == "cut":
        cut_end(path, 15)
    else:
        shutil.copy(path.with_name("copy.db"), path)
    assert run("log", "check", path).exit_code == 0  # the seals alone say that all is well
    told = run("log", "check", path, *words)
    assert isinstance(told.exception, DamagedLogError)
    expected = "not the one that it had" if forged == "sealed anew" else "its end was cut, or an"
    assert expected in str(told.exception)


def test_a_service_does_not_start_on_a_log_that_its_anchor_is_ahead_of(
    path: Path, anchor: Path
) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 10))
    log.close()
    shutil.copy(path, path.with_name("copy.db"))
    AnchorFile(anchor).add(Head(25, bytes(32)), time.time())
    before = path.read_bytes()
    told = run("serve", "--db", path, "--port", 1, "--anchor", anchor).exception
    assert "an older copy of it was put back" in str(told)
    assert path.read_bytes() == before
    path.unlink()
    told = run("serve", "--db", path, "--port", 1, "--anchor", anchor).exception
    assert "is not there, but" in str(told)
    assert not path.exists()


def test_lines_that_are_wrong_or_unsigned_are_named(path: Path, anchor: Path, key: Path) -> None:
    signed = AnchorFile.with_key_in(anchor, key)
    for seq in range(1, 4):
        signed.add(Head(seq, bytes(32)), time.time())
    assert [each.head.seq for each in signed.read()] == [1, 2, 3]
    assert anchor.stat().st_mode & 0o777 == 0o600
    text = anchor.read_text()
    for old, new in ((" 2:00", " 2:01"), (" 2:", " 5:"), ("+00:00 2", "+01:00 2")):
        anchor.write_text(text.replace(old, new))
        with pytest.raises(DamagedLogError, match="line 2, was not signed by this key"):
            signed.read()
    anchor.write_text(text)
    AnchorFile(anchor).add(Head(4, bytes(32)), time.time())
    with pytest.raises(DamagedLogError, match="line 4, was not signed"):
        signed.read()
    anchor.write_text("rubbish\n")
    with pytest.raises(DamagedLogError, match="line 1, is no anchor"):
        AnchorFile(anchor).read()
    key.write_text("short")
    with pytest.raises(ValueError, match="at least 16 bytes"):
        AnchorFile.with_key_in(anchor, key)


def test_anchors_of_what_a_restore_lost_are_counted_apart(path: Path, anchor: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 10))
    notes = AnchorFile(anchor)
    notes.add(log.head(), time.time() - 100)
    back_up(path, path.with_name("copy.db"))
    log.append(entries(11, 20))
    notes.add(log.head(), time.time() - 50)
    log.close()
    restore(path.with_name("copy.db"), path, who="Ada", why="a test")
    with reading(path) as restored:
        assert notes.check(restored) == (2, 1)
    told = run("log", "check", path, "--anchor", anchor)
    assert "1 anchors fit; 1 more were lost when a backup was put back" in told.output
    notes.add(Head(20, bytes(32)), time.time() + 100)  # after it
    with reading(path) as restored, pytest.raises(DamagedLogError, match="older copy"):
        notes.check(restored)


@pytest.mark.parametrize(
    "text", ["", "5", "5:", "x:" + "0" * 64, "5:0g" + "0" * 62, "-1:" + "0" * 64]
)
def test_heads_that_are_none(path: Path, text: str) -> None:
    SqliteLog(path).close()
    told = run("log", "check", path, "--head", text)
    assert "head must be NUMBER:SEAL" in str(told.exception)


def test_a_head_of_nothing_and_a_short_one(path: Path) -> None:
    log = SqliteLog(path)
    log.append(entries(1, 3))
    check_head(log, Head(0, GENESIS))
    head = log.head()
    check_head(log, Head.parse(str(head)[: 2 + 12]))
    with pytest.raises(DamagedLogError):
        check_head(log, Head.parse(f"2:{head.seal.hex()[:12]}"))
    log.close()


def test_the_head_is_published(start: Start, path: Path) -> None:
    with start() as client:
        create(client)
        answers = [client.post("/v1/policies/dose/decisions", json={"context": CONTEXT})]
        url = f"/v1/decisions/{answers[0].json()['decision_id']}/reward"
        answers.append(client.put(url, json={"value": 1.0}))
        heads = [answer.headers["x-log-head"] for answer in answers]
        shown = client.get("/v1/log/head").json()
        metrics = client.get("/metrics").text
        refused = client.post("/v1/policies/dose/decisions", json={})
        assert "x-log-head" not in refused.headers
        assert "x-log-head" not in client.get("/v1/policies").headers
    assert [head.partition(":")[0] for head in heads] == ["2", "3"]
    assert shown == {"head": heads[1], "entries": 3, "seal": heads[1][2:]}
    assert "greedyfirst_log_entries_total 3.0" in metrics
    number = re.search(r"^greedyfirst_log_seal (\S+)$", metrics, re.M)
    assert number is not None
    assert int(float(number[1])) == int(heads[1][2:14], 16)
    assert run("log", "check", path, "--head", heads[0], "--head", heads[1]).exit_code == 0


def test_the_head_is_noted_at_the_start_and_at_a_good_end(
    path: Path, clock: Clock, anchor: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = AnchorFile(anchor)
    with (
        caplog.at_level(logging.INFO, "greedyfirst.service"),
        running(path, clock, anchors=notes) as client,
    ):
        create(client)
        for _ in range(5):
            decide(client)
    with reading(path) as log:
        assert notes.check(log) == (len(notes.read()), 0)
        assert notes.read()[-1].head == log.head()
    assert "the log's head is " in caplog.text


def test_the_head_is_noted_every_hour(anchor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchoring, "HOUR", 0.01)

    class Service:
        seq = 0

        def head(self) -> Head:
            self.seq += 1
            return Head(self.seq // 2, bytes(32))

    async def scenario() -> None:
        service: Any = Service()
        keeping = asyncio.create_task(anchoring.Anchoring(service, AnchorFile(anchor)).keep())
        while service.seq < 20:
            await asyncio.sleep(0.01)
        keeping.cancel()

    asyncio.run(scenario())
    noted = [each.head.seq for each in AnchorFile(anchor).read()]
    assert len(noted) >= 5
    assert noted == sorted({*noted})


def test_decisions_that_differ_from_the_log_are_shown(start: Start, path: Path) -> None:
    with start() as client:
        create(client)
        for number in range(5):
            reward(client, decide(client)["decision_id"], float(number))
    seal_anew(path, {3: 50.0})
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM snapshots")
    file.close()
    with start() as client:
        differ = view(client)["mismatches"]
        assert differ > 0
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["warnings"] == [
            "1 policy has decisions that differ from the log when they are made again"
        ]
        assert f'greedyfirst_mismatches{{policy="dose"}} {differ}.0' in client.get("/metrics").text
        assert "decisions differ from the log" in client.get("/policies/dose").text
