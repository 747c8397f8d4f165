"""Decisions and /healthz beside connections that do nothing, as ratios measured in one run.

    python benchmarks/connections.py [--connections 2000] [--idle 1000] [--half-open 300]

The same requests, at the same rate, are sent twice: over few connections and nothing else, and then
over all that are left beside the idle and the half-open ones. The service and the load are
processes of their own; all of it ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kills import free_port

POLICY = "dose"
SPECIFICATION = {
    "name": POLICY,
    "arms": ["low", "middle", "high"],
    "features": [{"kind": "numeric", "name": name} for name in ("age", "weight")],
    "seed": 1,
}
HEAD = f"POST /v1/policies/{POLICY}/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
#: Half of a request.
HALF = b"GET /healthz HTTP/1.1\r\nHo"
#: Connections of the calm load.
FEW = 32
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextmanager
def served(path: Path, port: int) -> Any:
    words = [sys.executable, "-m", "greedyfirst", "serve", "--db", str(path), "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        body = json.dumps(SPECIFICATION).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/policies", body)
        urllib.request.urlopen(request, timeout=120).close()
        yield
    finally:
        process.terminate()
        process.wait(60)


async def asked(streams: Streams, message: bytes) -> int:
    """Send a request and read the whole answer; its status."""
    reader, writer = streams
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


async def decisions(port: int, connections: int, rate: float, seconds: float) -> list[float]:
    """Latencies of requests that begin at random times, each on the next free connection."""
    free: asyncio.Queue[Streams] = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    rng = np.random.default_rng(0)
    latencies: list[float] = []

    async def one(due: float) -> None:
        streams = await free.get()
        context = dict(zip(("age", "weight"), rng.normal(size=2).tolist(), strict=True))
        body = json.dumps({"context": context})
        status = await asked(streams, f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert status == 201, status
        latencies.append(time.perf_counter() - due)
        free.put_nowait(streams)

    due, end, tasks = time.perf_counter(), time.perf_counter() + seconds, set()
    while due < end:
        await asyncio.sleep(max(due - time.perf_counter(), 0.0))
        tasks.add(asyncio.ensure_future(one(due)))
        due += rng.exponential(1.0 / rate)
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait()[1].close()
    return latencies


async def health(port: int, until: asyncio.Event) -> list[float]:
    """Seconds of /healthz, each time on a new connection, until the event."""
    found = []
    while not until.is_set():
        began = time.perf_counter()
        streams = await asyncio.open_connection("127.0.0.1", port)
        assert await asked(streams, HEALTH) == 200
        streams[1].close()
        found.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)
    return found


async def do_nothing(port: int, count: int, sent: bytes, until: asyncio.Event) -> None:
    """So many connections that send this and then nothing; opened again when they are closed."""

    async def one() -> None:
        while not until.is_set():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            ended = asyncio.ensure_future(reader.read())
            over = asyncio.ensure_future(until.wait())
            await asyncio.wait((ended, over), return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            over.cancel()
            writer.close()

    await asyncio.gather(*(one() for _ in range(count)))


async def measured(port: int, options: argparse.Namespace) -> tuple[list[float], ...]:
    """Latencies of decisions, calm and beside the idle connections; then those of /healthz."""
    until = asyncio.Event()
    await decisions(port, FEW, options.rate, 1.0)
    calm = await decisions(port, FEW, options.rate, options.seconds)
    idle = asyncio.ensure_future(do_nothing(port, options.idle, HEALTH, until))
    half = asyncio.ensure_future(do_nothing(port, options.half_open, HALF, until))
    await asyncio.sleep(2.0)
    looking = asyncio.ensure_future(health(port, until))
    active = max(options.connections - options.idle - options.half_open, 1)
    crowded = await decisions(port, active, options.rate, options.seconds)
    until.set()
    await asyncio.gather(idle, half)
    return calm, crowded, await looking


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--half-open", type=int, default=300)
    parser.add_argument("--rate", type=float, default=100.0, help="decisions a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    options = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "log.db", port):
        calm, crowded, looks = asyncio.run(measured(port, options))
    ratio = np.percentile(crowded, 99) / np.percentile(calm, 99)
    print(f"{len(calm)} decisions calm, {len(crowded)} beside idle connections; all answered")
    print(f"p50 over the calm one's: {np.median(crowded) / np.median(calm):.2f}")
    print(f"p99 over the calm one's: {ratio:.2f} (at most 3)")
    print(f"/healthz on a new connection, {len(looks)} times: longest {max(looks):.3f} s (below 1)")
    return 0 if ratio <= 3.0 and max(looks) < 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
