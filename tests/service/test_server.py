"""The command line of the service: what it needs to start, its end in good order, kills."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import CONTEXT, SPECIFICATION, Start, create, decide, reward

from greedyfirst.cli import main
from greedyfirst.service.http.access import Access
from greedyfirst.service.log.access_keys import all_keys
from greedyfirst.service.log.sqlite_log import SqliteLog

KILLS = Path(__file__).parents[2] / "benchmarks" / "kills.py"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """The command in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(
    path: Path, run: tuple[str, ...] = ("-m", "greedyfirst"), options: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The service in a process of its own, and its address."""
    port = free_port()
    command = [sys.executable, *run, "serve", "--db", path, "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process, url
    finally:
        process.kill()
        process.communicate()


def test_an_end_under_load_loses_no_answer(path: Path) -> None:
    with served(path) as (process, url):
        assert httpx.post(f"{url}/v1/policies", json=SPECIFICATION, timeout=60).status_code == 201
        in_use = subprocess.run(
            [sys.executable, "-m", "greedyfirst", "serve", "--db", path, "--port", "1"],
            capture_output=True,
            text=True,
        )
        assert in_use.returncode == 2
        assert "another service is using" in in_use.stderr
        acknowledged: list[str] = []
        others: list[int] = []
        ended = threading.Event()

        def load() -> None:
            with httpx.Client(base_url=url) as client:
                while not ended.is_set():
                    try:
                        answer = client.post(
                            "/v1/policies/dose/decisions", json={"context": CONTEXT}
                        )
                    except httpx.TransportError:
                        ended.wait(0.05)
                    else:
                        if answer.status_code == 201:
                            acknowledged.append(answer.json()["decision_id"])
                        else:
                            others.append(answer.status_code)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 40:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        ended.set()
        for thread in threads:
            thread.join()
        told = process.stderr.read() if process.stderr else ""
        assert "Traceback" not in told
    log = SqliteLog(path)
    decided = {f"dose:{entry.step}" for entry in log.read("dose") if entry.kind == "decided"}
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= decided
    assert set(others) <= {503}
    newest = log.snapshot("dose")
    assert newest is not None
    assert newest[0] == log.last()[0]  # the next start has nothing to do again
    log.close()


#: The command, with a shorter timeout.
HASTY = """
from greedyfirst.cli import main
from greedyfirst.service import server
server._LONGEST_STOP = 0.5
main()
"""


def test_half_sent_requests_do_not_keep_it_from_ending(path: Path) -> None:
    head = b"POST /v1/policies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
    with served(path, run=("-c", HASTY)) as (process, url):
        assert httpx.post(f"{url}/v1/policies", json=SPECIFICATION, timeout=60).status_code == 201
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(place) as one, socket.create_connection(place) as other:
            one.sendall(head)
            other.sendall(head + b"\r\n{")
            assert httpx.get(f"{url}/healthz").status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        told = process.stderr.read() if process.stderr else ""
    cut_off = [line.split(" ", 2)[1:] for line in told.splitlines() if "cut_off" in line]
    assert cut_off == [
        ["warning", "cut_off some requests do not come to an end; ending without them"]
    ]
    assert "Traceback" not in told
    log = SqliteLog(path)
    newest = log.snapshot("dose")
    assert newest is not None
    assert newest[0] == log.last()[0]
    log.close()


@pytest.mark.parametrize("kills", [pytest.param(3), pytest.param(200, marks=pytest.mark.nightly)])
def test_kills_under_load_lose_nothing(kills: int) -> None:
    done = subprocess.run(
        [sys.executable, KILLS, "--kills", str(kills)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "violations: 0" in done.stdout


@pytest.mark.parametrize("events", [pytest.param(6), pytest.param(150, marks=pytest.mark.nightly)])
def test_nothing_acknowledged_is_lost_whatever_happens_to_files_clock_and_people(
    events: int,
) -> None:
    done = subprocess.run(
        [sys.executable, KILLS.with_name("chaos.py"), "--events", str(events)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "violations: 0" in done.stdout


def test_other_addresses_than_loopback_need_keys(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "serve", "--db", path, "--host", "0.0.0.0") == 2
    assert "needs keys" in capsys.readouterr().err


def test_an_address_in_use_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert run(monkeypatch, "serve", "--db", path, "--port", port) == 2
    assert f"127.0.0.1:{port} cannot be used (address already in use)" in capsys.readouterr().err


def test_a_host_that_is_not_known_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "serve", "--db", path, "--host", "nosuchhost.invalid") == 2
    assert "host 'nosuchhost.invalid' is not known here" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["nix/log.db", ".", "rubbish.db"])
def test_what_cannot_be_served_is_one_sentence(
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "rubbish.db").write_bytes(b"rubbish" * 1000)
    for command in (["serve", "--db"], ["log", "check"]):
        assert run(monkeypatch, *command, tmp_path / place) == 2
        told = capsys.readouterr().err
        assert told.startswith("greedyfirst: ")
        assert "Traceback" not in told


def test_a_log_that_contradicts_itself_is_not_served(
    path: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with start() as client:
        create(client)
        reward(client, decide(client)["decision_id"], 1.0)
    log = SqliteLog(path)
    last = log.about("dose", 1)[-1]
    log.append([last._replace(seq=log.last()[0] + 1)])  # the same reward again
    log.close()
    assert run(monkeypatch, "serve", "--db", path, "--port", free_port()) == 2
    assert "contradicts" in capsys.readouterr().err


def test_keys_are_shown_once_and_kept_as_hashes(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "keys", "add", "clinic", "--db", path) == 0
    key = capsys.readouterr().out.strip()
    assert run(monkeypatch, "keys", "add", "boss", "--role", "admin", "--db", path) == 0
    boss = capsys.readouterr().out.strip()
    assert run(monkeypatch, "keys", "list", "--db", path) == 0
    told = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:3] for line in told[1:]] == [
        ["boss", "admin", "all"],
        ["clinic", "decider", "all"],
    ]
    assert [line[4:] for line in told[1:]] == [["-", "-", "in use"]] * 2
    for file in path.parent.iterdir():
        assert key.encode() not in file.read_bytes()
    access = Access(lambda: all_keys(path))
    clinic = access.caller(key)
    assert clinic is not None
    assert (clinic.name, clinic.may("decider"), clinic.may("admin")) == ("clinic", True, False)
    assert access.caller(None) is None
    assert access.caller(boss + "x") is None
    assert run(monkeypatch, "keys", "add", "clinic", "--role", "admin", "--db", path) == 2
    assert "there is a key of the name 'clinic' already" in capsys.readouterr().err
    assert Access(lambda: all_keys(path)).caller(key) == clinic
    assert run(monkeypatch, "keys", "remove", "clinic", "--db", path) == 0
    assert run(monkeypatch, "keys", "remove", "clinic", "--db", path) == 2
    assert run(monkeypatch, "keys", "add", "x", "--role", "king", "--db", path) == 2
    assert run(monkeypatch, "keys", "list", "--db", path.with_name("nix.db")) == 2


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "\x1b[2J", "n" * 201, "\udcff"])
def test_names_of_keys_that_nobody_could_read(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "keys", "add", name, "--db", path) == 2
    assert "name must be 1 to 200 characters" in capsys.readouterr().err
    assert not path.exists()


def test_the_log_is_checked(
    path: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with start() as client:
        create(client)
        for _ in range(5):
            reward(client, decide(client)["decision_id"], 1.0)
    assert run(monkeypatch, "log", "check", path, "--last", 3) == 0
    told = capsys.readouterr().out
    assert "11 entries, all as they were written" in told
    assert "dose: 3 decisions recomputed, 0 differ from the log" in told
    assert run(monkeypatch, "log", "check", path.with_name("nix.db")) == 2
    with sqlite3.connect(path) as other:
        other.execute("UPDATE snapshots SET content = substr(content, 1, length(content) - 1)")
    other.close()
    assert run(monkeypatch, "log", "check", path) == 2
    checked = capsys.readouterr()
    assert "dose: 5 decisions recomputed, 0 differ from the log" in checked.out
    assert "snapshots were changed (dose after entry 11)" in checked.err
    log = SqliteLog(path)
    rows = list(log.read("dose"))
    log.close()
    forged = SqliteLog(path.with_name("forged.db"))
    wrong = rows[-2]._replace(
        body=rows[-2].body.replace(b'"model_version":4', b'"model_version":5')
    )
    assert wrong != rows[-2]
    forged.append([*rows[:-2], wrong, rows[-1]])
    forged.close()
    assert run(monkeypatch, "log", "check", path.with_name("forged.db")) == 2
    assert "1 differ from the log" in capsys.readouterr().out
