"""Does a policy need an owner? A prototype without, in turns with one process and a bare handler.

    python benchmarks/ownerless.py [--rounds 5] [--seconds 4] [--connections 32]

Any process answers, and every process applies every entry. Decisions are made on a state that runs
ahead of the log. An append says up to which entry of the policy its writer knew; one that knew too
little adds nothing and is given what it lacks. The process goes back to its last committed state,
applies what it lacked, decides what is under way again, and appends again.

It has decisions only: going back from rewards, alarms, corrections and erasures costs more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import msgspec
import uvloop
from litestar import Litestar, Response, get, post
from litestar.datastructures import State
from litestar.params import Parameter
from postgres_server import PostgresServer

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Created, Decided
from greedyfirst.service.log.places import open_log, place_of
from greedyfirst.service.log.postgres_database import PostgresUrl, connect
from greedyfirst.service.server import listen
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.specification import Specification
from load import POLICY, specification
from service import FEATURES, HERE, Table, bare, started

Key = Annotated[str | None, Parameter(header="Idempotency-Key")]

PROCEDURE = """
CREATE OR REPLACE PROCEDURE append_if_known(
    of_policy text, known bigint,
    times float8[], policies text[], kinds text[], steps bigint[], keys text[], bodies bytea[],
    OUT last_seq bigint, OUT lacking_times float8[], OUT lacking bytea[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM head FOR UPDATE;
    SELECT max(seq), array_agg(at ORDER BY seq), array_agg(body ORDER BY seq)
        INTO last_seq, lacking_times, lacking
        FROM entries WHERE policy = of_policy AND seq > known;
    IF last_seq IS NULL THEN
        SELECT added.last_seq INTO last_seq
            FROM add_entries('{}', '{}', times, policies, kinds, steps, keys, bodies) AS added;
    END IF;
    COMMIT;
END $$;
"""
APPEND = (
    "CALL append_if_known(%b::text, %b::bigint, %b::float8[], %b::text[], %b::text[], "
    "%b::bigint[], %b::text[], %b::bytea[], NULL, NULL, NULL)"
)


class Asked:
    """A request that has no answer yet."""

    __slots__ = ("answered", "context", "decided", "entry", "key")

    def __init__(self, context: dict[str, Any], key: str | None, loop: Any) -> None:
        self.context, self.key = context, key
        self.answered: asyncio.Future[bytes] = loop.create_future()


class Kept:
    """All of a state that decisions change, at a moment."""

    def __init__(self, deployment: Deployment) -> None:
        self.buffer, self.decisions = deployment.agent.buffer.copy(), deployment.agent.decisions
        self.pending = len(deployment.pending)

    def back(self, deployment: Deployment) -> None:
        """Go back to it."""
        deployment.agent.buffer[:] = self.buffer
        deployment.agent.decisions = self.decisions
        waiting = deployment.pending
        del waiting._steps[self.pending :], waiting._times[self.pending :]
        waiting._count = self.pending


class Ownerless:
    """One process's state, and the decisions that are under way to the log."""

    def __init__(self, url: PostgresUrl, n_features: int) -> None:
        created = Created(
            specification=msgspec.convert(specification(n_features), Specification), seed=1
        )
        self.deployment = Deployment.begin(created, lambda step: [])
        self.connection = connect(url)
        self.loop = asyncio.get_running_loop()
        self.known, self.committed = 0, Kept(self.deployment)
        #: Those in the append that runs, and those that have come since.
        self.writing: list[Asked] = []
        self.gathered: list[Asked] = []
        self.ahead = self.committed
        self.running = False
        self.appends = self.refused = 0
        self.queue: SimpleQueue[list[Entry] | None] = SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    def ask(self, context: dict[str, Any], key: str | None) -> asyncio.Future[bytes]:
        asked = Asked(context, key, self.loop)
        self._decide(asked)
        self.gathered.append(asked)
        if not self.running:
            self.running = True
            self.loop.call_soon(self._append)
        return asked.answered

    def _decide(self, asked: Asked) -> None:
        at = time.time()
        asked.decided = self.deployment.decide(asked.context, None, at)
        asked.entry = Entry.of(asked.decided, seq=0, at=at, policy=POLICY, key=asked.key)

    def _append(self) -> None:
        self.running = bool(self.gathered)
        if self.running:
            self.writing, self.gathered = self.gathered, []
            self.ahead = Kept(self.deployment)
            self.queue.put([asked.entry for asked in self.writing])

    def _write(self) -> None:
        while (entries := self.queue.get()) is not None:
            _, *columns = map(list, zip(*entries, strict=True))
            found = self.connection.execute(
                APPEND, (POLICY, self.known, *columns), binary=True
            ).fetchone()
            self.loop.call_soon_threadsafe(self._written, *found)

    def _written(self, last: int, times: list[float] | None, lacking: list[bytes] | None) -> None:
        self.appends += 1
        self.known = last
        if lacking is None:
            self.committed = self.ahead
            for asked in self.writing:
                asked.answered.set_result(msgspec.json.encode(asked.decided.answer))
        else:
            self.refused += 1
            self.committed.back(self.deployment)
            for at, body in zip(times or [], lacking, strict=True):
                event = msgspec.json.decode(body, type=Decided)
                self.deployment.decide(event.context, None, at)
            self.committed = Kept(self.deployment)
            self.gathered = self.writing + self.gathered
            for asked in self.gathered:
                self._decide(asked)
        self.writing = []
        self._append()


@post("/v1/policies/{policy:str}/decisions")
async def decide(state: State, policy: str, body: bytes, key: Key = None) -> Response[bytes]:
    """Decide and answer once it is in the log."""
    context = msgspec.json.decode(body)["context"]
    answer = await state.ownerless.ask(context, key)
    return Response(answer, media_type="application/json")


@get("/counts", sync_to_thread=False)
def counts(state: State) -> dict[str, int]:
    """Appends, and those that were refused."""
    return {"appends": state.ownerless.appends, "refused": state.ownerless.refused}


def serve(url: str, n_features: int, port: int) -> None:
    """A process of the prototype, until it is ended."""
    place = place_of(url)
    assert isinstance(place, PostgresUrl)
    open_log(place).close()
    with connect(place) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        connection.execute(PROCEDURE)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        app.state.ownerless = Ownerless(place, n_features)
        yield

    app = Litestar([decide, counts], lifespan=[lifespan], state=State(), openapi_config=None)
    uvloop.run(listen(app, "127.0.0.1", port))


def load(ports: list[int], connections: int, seconds: float) -> dict[str, float]:
    """What `load.py` measures, with connections to these processes in turn."""
    words = [",".join(map(str, ports)), connections, FEATURES, seconds, 0]
    done = subprocess.run(
        [sys.executable, HERE / "load.py", *map(str, words)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def refused(ports: list[int]) -> tuple[int, int]:
    """Appends of all processes so far, and how many of them were refused."""
    appends = lost = 0
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/counts", timeout=5) as answer:
            found = json.loads(answer.read())
        appends, lost = appends + found["appends"], lost + found["refused"]
    return appends, lost


def measure(rounds: int, seconds: float, connections: int) -> None:
    """All ways in turns, and the medians of their ratios."""
    server = PostgresServer()
    try:
        with ExitStack() as running:
            one, other, third = (server.url(server.new_database()) for _ in range(3))

            def process(url: str) -> int:
                words = (HERE / "ownerless.py", "serve", url, FEATURES)
                return running.enter_context(started(FEATURES, *words)).port

            three, alone = [process(one) for _ in range(3)], process(other)
            yardstick = running.enter_context(bare(third, FEATURES)).port
            ways = {"one": [alone], "round": three, "sticky": three[:1], "bare": [yardstick]}
            for ports in ways.values():
                load(ports, connections, 1.0)
            rows = []
            for _ in range(rounds):
                rows.append({name: load(way, connections, seconds) for name, way in ways.items()})
                print(*(f"{name} {row['per_second']:.0f}" for name, row in rows[-1].items()))
            appends, lost = refused(three)
    finally:
        server.remove()
    table = Table()

    def line(name: str, what: str, way: str, over: str, target: str) -> None:
        table.line(name, [row[way][what] / row[over][what] for row in rows], target)

    line("decisions per second, three in turn over one", "per_second", "round", "one", ">=0.5")
    line("p99, three in turn over one", "p99", "round", "one", "<=5")
    fairness = [row["round"]["fewest"] / row["round"]["most"] for row in rows]
    table.line("fewest decisions of a connection over most", fairness)
    line(
        "decisions per second, sticky over a bare handler", "per_second", "sticky", "bare", ">=0.8"
    )
    print(f"{lost} of {appends} appends of the three were refused")


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args()
    measure(options.rounds, options.seconds, options.connections)


if __name__ == "__main__":
    main()
