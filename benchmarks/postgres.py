"""Services on one PostgreSQL under load: kills, crashes of the database, a paused owner, speed.

    python benchmarks/postgres.py [--kills 100] [--crashes 20] [--pauses 5] [--seed 7] [--rounds 7]

Clients send as in `kills.py`, to any of the services, and go to the next one where they get no
answer. Meanwhile services get SIGKILL, then PostgreSQL itself does, then the owner of the policy is
stopped for longer than its lease and goes on. In the end every answer that a client got must be in
the log, nothing twice, and the state must be that of a replay. Last, decisions per second are
compared with a handler that only appends to the same PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import msgspec
import psycopg
from postgres_server import PostgresServer

from kills import POLICY, SPECIFICATION, Client, Server, checked, free_port, verdict, violations

SERVICES = 3
#: Longer than a lease, so that another service has taken it.
PAUSE = 8.0
#: As a service sends it that hands a request on: the one that gets it does not do so again.
HOP = {"Greedyfirst-Handed-On": "1"}


def serve(url: str, port: int, said: str) -> None:
    """A service in a process of its own, whose lines go to a file."""
    from greedyfirst.service import logs
    from greedyfirst.service.server import serve

    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, 2)
    with logs.written(form="json", level="warning"):
        serve(url, port=port)


class RoamingClient(Client):
    """A client that asks the next service where one does not answer."""

    def __init__(self, number: int, ports: list[int], stop: threading.Event) -> None:
        super().__init__(number, ports[number % len(ports)], stop)
        self._ports = ports

    def send(self, method: str, path: str, body: Any, key: str | None = None) -> tuple[int, Any]:
        answer = super().send(method, path, body, key)
        if answer[0] == 0:
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            self.port = self._ports[(self._ports.index(self.port) + 1) % len(self._ports)]
        return answer


class Cluster:
    """A PostgreSQL server and services on it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.postgres = PostgresServer()
        self.database = self.postgres.new_database()
        self.url = self.postgres.url(self.database)
        self.said = [folder / f"service-{number}" for number in range(SERVICES)]
        self.services = []
        for said in self.said:
            service = Server(self.url, free_port())
            service.target, service.more = serve, (str(said),)
            service.start()
            self.services.append(service)
        self.ports = [service.port for service in self.services]
        self.failovers: list[float] = []
        self.crashes: list[float] = []
        self.answered_late = 0

    def owner(self) -> int:
        """Which service owns the policy."""
        asked = "SELECT address FROM greedyfirst.leases WHERE policy = %s"
        with psycopg.connect(self.url) as connection:
            row = connection.execute(asked, (POLICY,)).fetchone()
        assert row is not None
        return self.ports.index(int(row[0].rpartition(":")[2]))

    def until_answered(self, *, but: int | None = None) -> float:
        """Seconds until a service answers for the policy."""
        began = time.monotonic()
        others = [each for number, each in enumerate(self.services) if number != but]
        while True:
            for service in others:
                if service.asked(f"/v1/policies/{POLICY}")[0] == 200:
                    return time.monotonic() - began
            time.sleep(0.01)

    def kill(self) -> None:
        """A service dies, most often the owner, and is started again."""
        owner = self.owner()
        victim = owner if self.chance.random() < 0.7 else self.chance.randrange(SERVICES)
        self.services[victim].kill()
        if victim == owner:
            self.failovers.append(self.until_answered(but=victim))
        self.services[victim].start()

    def crash(self) -> None:
        """PostgreSQL dies and is started again."""
        self.postgres.end(self.chance.choice([signal.SIGQUIT, signal.SIGKILL]))
        for attempt in range(50):
            try:
                self.postgres.start()
                break
            except RuntimeError:  # processes of the one that died are still there
                if attempt == 49:
                    raise
                time.sleep(0.1)
        self.crashes.append(self.until_answered())

    def pause(self) -> None:
        """The owner stands still until another one is there, and then goes on."""
        owner = self.owner()
        process = self.services[owner].process
        os.kill(process.pid or 0, signal.SIGSTOP)
        time.sleep(PAUSE)
        self.until_answered(but=owner)
        os.kill(process.pid or 0, signal.SIGCONT)
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            if self.decides(self.ports[owner]) and self.owner() != owner:
                self.answered_late += 1

    def decides(self, port: int) -> bool:
        """Whether a service makes a decision itself; one that clients do not know of is wrong."""
        body = json.dumps({"context": {"age": 0.0}}).encode()  # a feature is missing: never made
        path = f"http://127.0.0.1:{port}/v1/policies/{POLICY}/decisions"
        headers = {"Content-Type": "application/json", **HOP}
        try:
            urllib.request.urlopen(urllib.request.Request(path, body, headers), timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == 422  # it would have decided
        except OSError:
            return False
        return True

    def fenced(self) -> int:
        """Appends that were refused since their lease was taken."""
        return sum(said.read_text().count("has another owner now") for said in self.said)

    def same_state(self) -> bool:
        """Whether the state is that of a replay of all entries."""
        from greedyfirst.service.log.places import place_of, reading
        from greedyfirst.service.state import restoring

        with reading(place_of(self.url)) as log:
            quick, _ = restoring.restore(log, POLICY)
            slow, _ = restoring.restore(log, POLICY, snapshots=False)
        return _saved(quick) == _saved(slow)


def _saved(deployment: Any) -> Any:
    """All of a state, to be compared: bytes depend on the order in which sets were made."""
    from greedyfirst.service.state import snapshots

    return msgspec.msgpack.decode(snapshots.save(deployment)(), type=snapshots.SavedState)


def torment(options: argparse.Namespace) -> int:
    chance, stop = random.Random(options.seed), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), chance)
        try:
            clients = [RoamingClient(number, cluster.ports, stop) for number in range(6)]
            clients[0].until_answered("POST", "/v1/policies", SPECIFICATION)
            for client in clients:
                client.start()
            began = time.monotonic()
            events = [cluster.kill] * options.kills + [cluster.crash] * options.crashes
            chance.shuffle(events)
            for number, event in enumerate([*events, *[cluster.pause] * options.pauses], 1):
                time.sleep(chance.uniform(0.0, 0.6))
                event()
                if number % 10 == 0:
                    print(f"{number} events, {time.monotonic() - began:.0f} s", flush=True)
            seconds = time.monotonic() - began
            stop.set()
            for client in clients:
                client.join(60)
            view = cluster.services[0].asked(f"/v1/policies/{POLICY}")[1]
            for service in cluster.services:
                service.end()
            found = violations(cluster.url, clients, view)
            sentence, clean = checked(cluster.url)
            same, fenced = cluster.same_state(), cluster.fenced()
        finally:
            for service in cluster.services:
                if service.process.is_alive():
                    service.kill()
            cluster.postgres.remove()
    rewarded = sum(len(client.rewarded) for client in clients)
    print(f"{options.kills} kills of services, {options.crashes} of PostgreSQL, in {seconds:.0f} s")
    print(f"decisions acknowledged: {sum(len(client.decided) for client in clients)}")
    print(f"rewards acknowledged: {rewarded}")
    print(f"corrected: {sum(len(client.corrected) for client in clients)}, ", end="")
    print(f"erased: {sum(len(client.erased) for client in clients)}")
    print(f"attempts without an answer: {sum(client.failures for client in clients)}")
    for name, times in (("owner killed", cluster.failovers), ("crash", cluster.crashes)):
        if times:
            print(f"{name} to answered: median {statistics.median(times):.2f} s, ", end="")
            print(f"worst {max(times):.2f} s, {len(times)} times")
    print(f"owner paused {options.pauses} times: {cluster.answered_late} requests met after it; ")
    print(f"appends or renewals refused since a lease was taken: {fenced}")
    print(f"log check: {sentence}")
    found += [] if clean else ["the log check is not clean"]
    found += [] if same else ["the state is not that of a replay"]
    found += [f"{cluster.answered_late} requests met after a pause"] * bool(cluster.answered_late)
    codes = [service.process.exitcode for service in cluster.services]
    found += [f"SIGTERM ended services with {codes}"] if any(codes) else []
    return verdict(found, clients, rewarded)


def speed(rounds: int, seconds: float) -> None:
    """Decisions per second, over those of a handler that only appends."""
    from load import specification
    from service import FEATURES, Table, bare, in_turns, ratios, service

    server = PostgresServer()
    try:
        with ExitStack() as running:
            one, other = (server.url(server.new_database()) for _ in range(2))
            ours = running.enter_context(service(one, FEATURES))
            yardstick = running.enter_context(bare(other, FEATURES))
            body = json.dumps(specification(FEATURES)).encode()
            headers = {"Content-Type": "application/json"}
            path = f"http://127.0.0.1:{ours.port}/v1/policies"
            urllib.request.urlopen(urllib.request.Request(path, body, headers)).close()
            pairs = in_turns(ours, yardstick, rounds=rounds, seconds=seconds)
            name = "decisions per second over a bare handler's, on PostgreSQL"
            Table().line(name, ratios(pairs, "per_second"), ">=0.8")
            shown = ", ".join(
                f"{one['per_second']:.0f}/{two['per_second']:.0f}" for one, two in pairs
            )
            print(f"decisions per second of the service and the bare handler: {shown}")
    finally:
        server.remove()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--crashes", type=int, default=20)
    parser.add_argument("--pauses", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7, help="of the order and times of events")
    parser.add_argument("--rounds", type=int, default=7, help="of the comparison of speed; 0: none")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each load")
    options = parser.parse_args()
    status = 0
    if options.kills or options.crashes or options.pauses:
        status = torment(options)
    if options.rounds:
        speed(options.rounds, options.seconds)
    return status


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
