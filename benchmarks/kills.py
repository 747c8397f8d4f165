"""Kill the service again and again under load, and look for what was lost or counted twice.

Clients send decisions with idempotency keys, rewards and now and then a correction or an erasure,
and repeat each request until it is answered. Meanwhile the service's process gets SIGKILL, and a
new one starts on the same file. In the end every answer that a client got must be in the log,
nothing may be there twice, and the counters must equal the rows.

    python benchmarks/kills.py --kills 200
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

POLICY = "dose"
SPECIFICATION = {
    "name": POLICY,
    "arms": ["low", "middle", "high"],
    "features": [{"kind": "numeric", "name": "age"}, {"kind": "numeric", "name": "weight"}],
    "seed": 1,
}
#: The shares of decisions after which an earlier reward is corrected, and a decision is erased.
CORRECTIONS, ERASURES = 0.003, 0.002
HEADERS = {"Content-Type": "application/json"}


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(path: str, port: int) -> None:
    """The service in a process of its own."""
    from greedyfirst.service.server import serve

    serve(path, port=port)


class Client(threading.Thread):
    """One caller: decides, rewards, and repeats everything until it is answered."""

    def __init__(self, number: int, port: int, stop: threading.Event) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.number, self.port, self.stop = number, port, stop
        self.random = random.Random(number)
        self.decided: dict[str, tuple[dict[str, float], dict[str, Any]]] = {}
        self.rewarded: dict[str, float] = {}
        self.corrected: dict[str, float] = {}
        self.erased: set[str] = set()
        self.headers = dict(HEADERS)
        self.repeats, self.failures, self.wrong = 0, 0, list[str]()
        self.connection: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, body: Any, key: str | None = None) -> tuple[int, Any]:
        """Send once; a broken connection or a 503 is (0, None)."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            headers = self.headers | ({} if key is None else {"Idempotency-Key": key})
            self.connection.request(method, path, json.dumps(body), headers)
            answer = self.connection.getresponse()
            content = json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return 0, None
        return (0, None) if answer.status == 503 else (answer.status, content)

    def until_answered(self, method: str, path: str, body: Any, key: str | None = None) -> Any:
        """Send the same again until it is answered; the answer and whether it was sent again."""
        again = False
        while True:
            status, content = self.send(method, path, body, key)
            if status in (200, 201):
                return content, again
            if status:
                self.wrong.append(f"{method} {path} got {status}: {content}")
                return None, again
            again, self.failures = True, self.failures + 1
            time.sleep(0.02)

    def run(self) -> None:
        count = 0
        while not self.stop.is_set():
            count += 1
            key = f"{self.number}-{count}"
            context = {"age": self.random.gauss(0, 1), "weight": self.random.gauss(0, 1)}
            answer = self.decide(key, context)
            if answer is None:
                return
            self.decided[key] = context, answer
            self.reward(answer["decision_id"], context["age"])
            if self.random.random() < CORRECTIONS:
                self.correct(f"{key}-correction")
            if self.random.random() < ERASURES:
                self.erase()
            if self.random.random() < 0.2:  # an old key again: the same answer
                old = self.random.choice(list(self.decided))
                context, before = self.decided[old]
                if before["decision_id"] in self.erased:
                    continue
                again = self.decide(old, context)
                if not again["expected_rewards"]:  # an erasure of another decision took them away
                    removed = {"expected_rewards": {}, "contributions": {}, "explored_arms": []}
                    before = before | removed
                if again != before:
                    self.wrong.append(f"key {old} got another answer")
                self.repeats += 1

    def decide(self, key: str, context: dict[str, float]) -> Any:
        path = f"/v1/policies/{POLICY}/decisions"
        return self.until_answered("POST", path, {"context": context}, key)[0]

    def reward(self, decision: str, value: float) -> None:
        path = f"/v1/decisions/{decision}/reward"
        answer, again = self.until_answered("PUT", path, {"value": value})
        if answer is None:
            return
        if answer["outcome"] != "counted" and not (again and answer["outcome"] == "duplicate"):
            self.wrong.append(f"reward of {decision}: {answer['outcome']}")
        self.rewarded[decision] = value

    def kept(self, last: int = 0) -> str:
        """A decision, of the ``last`` ones or of all, that has its reward and is not erased."""
        rewarded = list(self.rewarded)[-last:]
        return self.random.choice([each for each in rewarded if each not in self.erased])

    def erase(self) -> None:
        # A young one: what was decided between its reward and the erasure cannot be made again.
        decision, again = self.kept(last=20), False
        self.erased.add(decision)
        body = {"who": self.name, "why": "asked for"}
        while True:
            status, content = self.send("POST", f"/v1/decisions/{decision}/erasure", body)
            if status == 201 or (again and status == 409):  # the first was done, and not answered
                return
            if status:
                self.wrong.append(f"erasure of {decision} got {status}: {content}")
                return
            again, self.failures = True, self.failures + 1
            time.sleep(0.02)

    def correct(self, key: str) -> None:
        decision = self.kept()
        body = {"value": self.random.gauss(0, 1), "who": self.name, "why": "a slip"}
        path = f"/v1/decisions/{decision}/correction"
        answer, _ = self.until_answered("POST", path, body, key)
        if answer is not None and answer["learned"] != body["value"]:
            self.wrong.append(f"correction of {decision}: {answer['learned']} was learned")
        self.corrected[decision] = body["value"]


class Server:
    """The service's process, killed and started again."""

    def __init__(self, path: Path | str, port: int) -> None:
        self.path, self.port = path, port
        #: What the process runs, and its arguments beside the path and the port.
        self.target: Callable[..., None] = serve
        self.more: tuple[Any, ...] = ()
        self.headers: dict[str, str] = {}
        self.processes = multiprocessing.get_context("forkserver")
        # Imports and compiled code are made once, and each process starts with them.
        here, others = str(Path(__file__).parent), os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = here if others is None else os.pathsep.join([here, others])
        self.processes.set_forkserver_preload(["warm_service"])
        self.starts: list[float] = []

    def start(self) -> None:
        began = time.monotonic()
        self.process = self.processes.Process(
            target=self.target, args=(str(self.path), self.port, *self.more)
        )
        self.process.start()
        while self.asked("/readyz")[0] != 200:
            if not self.process.is_alive():
                raise SystemExit(f"the service ended with {self.process.exitcode}")
            time.sleep(0.005)
        self.starts.append(time.monotonic() - began)

    def asked(self, path: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def end(self) -> None:
        self.process.terminate()
        self.process.join(20)


def violations(path: Path | str, clients: Sequence[Client], view: dict[str, Any]) -> list[str]:
    """What is wrong: with the clients' answers, the log, or the counters."""
    from greedyfirst.service.log.events import Decided, RewardCorrected, Rewarded
    from greedyfirst.service.log.places import place_of, reading

    found = [sentence for client in clients for sentence in client.wrong]
    with reading(place_of(path)) as log:
        entries = list(log.read(POLICY))
    by_key: dict[str, Any] = {}
    ids: dict[int, str] = {}
    counted: dict[str, float] = {}
    corrected: dict[str, float | None] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, Decided):
            if entry.key is None or entry.key in by_key:
                found.append(f"entry {entry.seq}: key {entry.key} is missing or there twice")
            by_key[entry.key or ""] = event
            ids[event.answer.step] = event.answer.decision_id
        elif isinstance(event, Rewarded):
            decision = ids[event.step]
            if decision in counted or event.outcome != "counted":
                found.append(f"entry {entry.seq}: {decision} was rewarded twice or late")
            counted[decision] = event.value
        elif isinstance(event, RewardCorrected):
            corrected[ids[event.step]] = event.value
    erased = {decision for client in clients for decision in client.erased}
    acknowledged = {key: value for client in clients for key, value in client.decided.items()}
    for key, (context, answer) in acknowledged.items():
        kept = by_key.pop(key, None)
        context = {} if answer["decision_id"] in erased else context
        if kept is None or kept.context != context or kept.answer.arm != answer["arm"]:
            found.append(f"the decision with key {key} is not in the log as it was answered")
    if by_key:
        found.append(f"{len(by_key)} decisions are in the log that no client got")
    rewarded = {key: value for client in clients for key, value in client.rewarded.items()}
    if rewarded != counted:
        found.append(f"{len(rewarded)} rewards were acknowledged, {len(counted)} are in the log")
    told = {key: value for client in clients for key, value in client.corrected.items()}
    if told != corrected:
        found.append(f"{len(told)} corrections were acknowledged, {len(corrected)} are in the log")
    joined = len(counted) - len(erased)
    counters = {"decisions": len(acknowledged), "joined": joined, "voided": len(erased)}
    counters["pending"] = 0
    for name, expected in counters.items():
        if view[name] != expected:
            found.append(f"{name} is {view[name]}, the log has {expected}")
    return found


def checked(path: Path | str) -> tuple[str, bool]:
    """What `greedyfirst log check` says."""
    command = "from greedyfirst.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", command, "log", "check", str(path)], capture_output=True, text=True
    )
    clean = run.returncode == 0 and " 0 differ from the log" in run.stdout
    return (run.stdout + run.stderr).strip(), clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--most-seconds", type=float, default=0.6, help="of life before a kill")
    options = parser.parse_args()
    chance, stop = random.Random(7), threading.Event()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kills.db"
        server = Server(path, port)
        server.start()
        clients = [Client(number, port, stop) for number in range(options.clients)]
        clients[0].until_answered("POST", "/v1/policies", SPECIFICATION)
        for client in clients:
            client.start()
        began = time.monotonic()
        for _ in range(options.kills):
            time.sleep(chance.uniform(0.0, options.most_seconds))
            server.kill()
            server.start()
        seconds = time.monotonic() - began
        stop.set()
        for client in clients:
            client.join(60)
        _, view = server.asked(f"/v1/policies/{POLICY}")
        server.end()
        found = violations(path, clients, view)
        sentence, clean = checked(path)
    decided = sum(len(client.decided) for client in clients)
    rewarded = sum(len(client.rewarded) for client in clients)
    starts = sorted(server.starts)
    print(f"{options.kills} kills in {seconds:.0f} s, {len(clients)} clients")
    print(f"decisions acknowledged: {decided}, rewards acknowledged: {rewarded}")
    print(f"rewards corrected: {sum(len(client.corrected) for client in clients)}")
    print(f"decisions erased: {sum(len(client.erased) for client in clients)}")
    print(f"attempts without an answer: {sum(client.failures for client in clients)}")
    print(f"old keys sent again: {sum(client.repeats for client in clients)}")
    print(f"start to ready: median {starts[len(starts) // 2]:.2f} s, longest {starts[-1]:.2f} s")
    print(f"ended by SIGTERM with exit code {server.process.exitcode}")
    print(f"log check: {sentence}")
    if not clean:
        found.append("the log check is not clean")
    if server.process.exitcode != 0:
        found.append(f"SIGTERM ended the service with {server.process.exitcode}")
    return verdict(found, clients, rewarded)


def verdict(found: list[str], clients: Sequence[Client], rewarded: int) -> int:
    """Print what was ``found``, clients without an answer too; the exit status."""
    if any(client.is_alive() for client in clients) or not rewarded:
        found.append("clients were not answered")
    print(f"violations: {len(found)}")
    for sentence in found[:20]:
        print(f"  {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
