"""The load of `service.py`, in a process of its own: decisions over kept connections.

python benchmarks/load.py PORT[,PORT…] CONNECTIONS FEATURES SECONDS RATE [rewards]

Requests are made before the clock starts, apart from their keys, and answers are only counted, so
that one core asks for more than a server on another can answer. Prints, as JSON, the decisions per
second and the percentiles of their latencies in ms; of all, and of those during which the machine's
host took no time away, with the share of these.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from itertools import cycle, islice
from random import getrandbits
from typing import NoReturn

import numpy as np
import uvloop

from host import Watch

POLICY = "load"
SITES = ("north", "south", "west")


def specification(n_features: int) -> dict[str, object]:
    """A policy with this many encoded features: an intercept, two of a category, numbers."""
    numbers = [{"kind": "numeric", "name": f"x{i}"} for i in range(n_features - 3)]
    category = {"kind": "categorical", "name": "site", "levels": SITES}
    arms = ("low", "medium", "high")
    return {"name": POLICY, "arms": arms, "features": [*numbers, category], "seed": 1}


def contexts(n_features: int, *, seed: int) -> Iterator[dict[str, object]]:
    """Contexts of that policy, without end."""
    rng = np.random.default_rng(seed)
    while True:
        for row in rng.normal(size=(1000, n_features - 3)):
            numbers = {f"x{i}": round(float(x), 4) for i, x in enumerate(row)}
            yield {**numbers, "site": SITES[rng.integers(3)]}


def give_up(sentence: str) -> NoReturn:
    """End at once: the loop would only print an exception of a callback and go on."""
    print(sentence, file=sys.stderr, flush=True)
    os._exit(1)


class Requests:
    """A few thousand different contexts, over and over, each time with a key of its own."""

    def __init__(self, n_features: int) -> None:
        self._head = (
            f"POST /v1/policies/{POLICY}/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\nIdempotency-Key: "
        ).encode()
        bodies = (
            json.dumps({"context": context}).encode()
            for context in islice(contexts(n_features, seed=2), 4000)
        )
        self._tails = deque(b"\r\nContent-Length: %d\r\n\r\n%s" % (len(b), b) for b in bodies)

    def decision(self) -> bytes:
        """The next one."""
        self._tails.rotate()
        return b"%s%032x%s" % (self._head, getrandbits(128), self._tails[0])

    @staticmethod
    def reward(answer: bytes) -> bytes:
        """The reward of the decision that an answer tells of."""
        start = answer.find(b'"decision_id":"') + 15
        known = answer[start : answer.find(b'"', start)]
        body = b'{"value":%.3f}' % (getrandbits(10) / 1000)
        return (
            b"PUT /v1/decisions/%s/reward HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        ) % (known, len(body), body)


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""
        self.due = 0.0
        self.rewarding = False
        #: Decisions that it got.
        self.answers = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received = received = self._received + data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return
        if not received.startswith(b"HTTP/1.1 20"):
            give_up(f"unexpected answer: {received!r}")
        at = received.find(b"content-length: ") + 16
        if len(received) >= end + 4 + int(received[at : received.find(b"\r", at)]):
            self._received = b""
            self._load.answered(self, received)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._load.over:
            give_up(f"the server closed a connection: {error}")


class Load:
    """As many requests as the connections can carry, or ``rate`` a second whatever answers do."""

    def __init__(self, n_features: int, seconds: float, rate: float, rewards: bool) -> None:
        self._requests = Requests(n_features)
        self._seconds, self._rate, self._rewards = seconds, rate, rewards
        self.due: list[float] = []
        self.latencies: list[float] = []
        self.host = Watch()
        self.over = False
        self._idle: list[Connection] = []
        self._late: deque[float] = deque()

    async def run(self, ports: list[int], n_connections: int) -> None:
        """Until the time is over; several ports in turns."""
        loop = asyncio.get_running_loop()
        opened = [
            (await loop.create_connection(lambda: Connection(self), "127.0.0.1", port))[1]
            for _, port in zip(range(n_connections), cycle(ports), strict=False)
        ]
        gc.freeze()
        watching = asyncio.create_task(self.host.run())
        self._ends = time.perf_counter() + self._seconds
        if self._rate:
            self._idle = [*opened]
            await self._pace()
        else:
            for connection in opened:
                self._ask(connection, time.perf_counter())
            await asyncio.sleep(self._seconds)
        self.over = True
        self.answers = [connection.answers for connection in opened]
        await asyncio.sleep(0.3)
        watching.cancel()
        for connection in opened:
            connection.transport.close()

    async def _pace(self) -> None:
        """Requests at random times (exponential gaps); one that finds no connection waits."""
        rng = np.random.default_rng(3)
        due = time.perf_counter()
        while (due := due + rng.exponential(1.0 / self._rate)) < self._ends:
            early = due - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
            self._late.append(due)
            if self._idle:
                self._ask(self._idle.pop(), self._late.popleft())

    def _ask(self, connection: Connection, due: float) -> None:
        connection.due, connection.rewarding = due, False
        connection.transport.write(self._requests.decision())

    def answered(self, connection: Connection, answer: bytes) -> None:
        """Note the latency of a decision, counted from when it was due, and go on."""
        now = time.perf_counter()
        if now > self._ends:
            return
        if not connection.rewarding:
            self.due.append(connection.due)
            self.latencies.append(now - connection.due)
            connection.answers += 1
            if self._rewards:
                connection.rewarding = True
                connection.transport.write(self._requests.reward(answer))
                return
        if not self._rate:
            self._ask(connection, now)
        elif self._late:
            self._ask(connection, self._late.popleft())
        else:
            self._idle.append(connection)


def main() -> None:
    ports = [int(word) for word in sys.argv[1].split(",")]
    n_connections, n_features = (int(word) for word in sys.argv[2:4])
    seconds, rate = float(sys.argv[4]), float(sys.argv[5])
    load = Load(n_features, seconds, rate, rewards="rewards" in sys.argv[6:])
    uvloop.run(load.run(ports, n_connections))
    latencies = 1000.0 * np.array(load.latencies)
    calm = load.host.undisturbed(np.array(load.due))
    measured = {"per_second": len(latencies) / seconds, "calm": calm.mean()}
    measured |= {"fewest": min(load.answers), "most": max(load.answers)}
    for name, some in (("", latencies), ("calm_", latencies[calm])):
        for share in (50, 99, 100):
            measured[f"{name}p{share}"] = np.percentile(some, share) if len(some) else math.nan
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
