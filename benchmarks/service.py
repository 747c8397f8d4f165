"""The decision service under load, with durable writes, as ratios measured in one run.

python benchmarks/service.py [--quick] [--strict]

Each side is a server in a process of its own, and so is the load. Sides take turns; the median of
neighbours' ratios is printed, and all of them. Logs are where temporary files go: what a commit
costs there is part of both sides.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import rewards
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.specification import Specification
from load import POLICY, contexts, specification

HERE = Path(__file__).parent
CONNECTIONS = 32
FEATURES = 10
PORTS = iter(range(8741, 8799))
AT_ONCE = 2000
#: The share of a load that must be undisturbed by the host to tell its 99th percentile.
ENOUGH_CALM = 0.2


class Server:
    """A server that is being measured."""

    def __init__(self, port: int, n_features: int) -> None:
        self.port, self._n_features = port, n_features

    def load(
        self,
        seconds: float,
        *,
        rate: float = 0.0,
        rewards: bool = False,
        connections: int = CONNECTIONS,
    ) -> dict[str, float]:
        """What `load.py` measures here."""
        words = [self.port, connections, self._n_features, seconds, rate]
        done = subprocess.run(
            [sys.executable, HERE / "load.py", *map(str, words), *["rewards"] * rewards],
            capture_output=True,
            text=True,
            timeout=seconds + 60,
        )
        if done.returncode:
            sys.exit(done.stderr)
        measured: dict[str, float] = json.loads(done.stdout)
        return measured


@contextmanager
def started(n_features: int, *words: object) -> Iterator[Server]:
    """A server of this command, which gets a port as its last word."""
    port = next(PORTS)
    process = subprocess.Popen(
        [sys.executable, *map(str, words), str(port)], stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(1200):
            if process.poll() is not None:
                sys.exit("a server has ended")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404:  # the bare one does not know this page
                    break
            except OSError:
                pass
            time.sleep(0.1)
        yield Server(port, n_features)
    finally:
        process.terminate()
        process.wait(120)


def service(path: Path | str, n_features: int) -> Any:
    return started(n_features, "-m", "greedyfirst", "serve", "--db", path, "--port")


def bare(path: Path | str, n_features: int) -> Any:
    return started(n_features, HERE / "bare_service.py", path, n_features)


def write_history(path: Path, n_features: int, n_decisions: int) -> None:
    """A log as the service writes it: decisions with keys, nine of ten rewarded, a snapshot.

    The state is made as the service makes it; only HTTP is left out, and commits are large.
    """
    log = SqliteLog(path)
    created = events.Created(
        specification=msgspec.convert(specification(n_features), Specification), seed=1
    )
    waiting: dict[int, events.Decided] = {}
    deployment = Deployment.begin(created, lambda step: [waiting[step]])
    at = time.time() - 10.0 * n_decisions
    entries: list[Entry] = []
    seq = 0

    def add(event: events.Event, key: str | None = None) -> None:
        nonlocal seq
        seq += 1
        entries.append(Entry.of(event, seq=seq, at=at, policy=POLICY, key=key))
        if len(entries) >= AT_ONCE:
            log.append(entries)
            entries.clear()

    add(created)
    for step, context in enumerate(islice(contexts(n_features, seed=1), n_decisions), start=1):
        at += 10.0
        waiting[step] = deployment.decide(context, None, at)
        add(waiting[step], key=uuid4().hex)
        if step % 10:
            _, caused = rewards.reward(deployment, step, "", float(context["x0"]), at)  # type: ignore[arg-type]
            for event in caused:
                add(event)
        del waiting[step]
    log.append(entries)
    log.save_snapshot(POLICY, seq, save(deployment)())
    log.close()


def in_turns(
    first: Server, second: Server, *, rounds: int, seconds: float
) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Loads of both, the first one changing each time."""
    first.load(1.0), second.load(1.0)
    pairs = []
    for number in range(rounds):
        if number % 2:
            after = second.load(seconds)
            pairs.append((first.load(seconds), after))
        else:
            before = first.load(seconds)
            pairs.append((before, second.load(seconds)))
    return pairs


def ratios(pairs: list[tuple[dict[str, float], dict[str, float]]], name: str) -> list[float]:
    return [one[name] / other[name] for one, other in pairs]


def with_rewards(server: Server, rounds: int, seconds: float) -> list[dict[str, float]]:
    """Loads of half as many decisions, each followed by its reward, as the server can meet."""
    rate = server.load(seconds, rewards=True)["per_second"] / 2
    return [server.load(2 * seconds, rate=rate, rewards=True) for _ in range(rounds)]


class Table:
    """The lines, and whether all targets were met."""

    def __init__(self) -> None:
        self.met = True
        print(f"{'line':<58}{'target':>8}{'median':>8}   all")

    def line(self, name: str, values: list[float], target: str = "") -> None:
        median = statistics.median(values)
        met = not target or (
            median >= float(target[2:]) if target.startswith(">=") else median <= float(target[2:])
        )
        self.met &= met
        shown = " ".join(f"{value:.2f}" for value in sorted(values))
        missed = "" if met else "  MISSED"
        print(f"{name:<58}{target:>8}{median:>8.2f}   {shown}{missed}", flush=True)

    def tail(self, name: str, loads: list[dict[str, float]], target: str = "") -> None:
        """How long the slowest percent took, and that while the machine's host took no time."""
        self.line(name, [one["p99"] / one["p50"] for one in loads], target)
        share = statistics.mean(one["calm"] for one in loads)
        calm = [one["calm_p99"] / one["calm_p50"] for one in loads if one["calm"] >= ENOUGH_CALM]
        if calm:
            self.line(f"  while the host took no time ({share:.0%} of requests)", calm, target)
        else:
            print(f"  the host took time almost always ({1 - share:.0%} of requests)", flush=True)


def measure(folder: Path, table: Table, *, rounds: int, seconds: float, longest: int) -> None:
    for name, n_decisions in (("short", 1000), ("long", longest)):
        write_history(folder / f"{name}.db", FEATURES, n_decisions)
    with ExitStack() as servers:
        short = servers.enter_context(service(folder / "short.db", FEATURES))
        yardstick = servers.enter_context(bare(folder / "bare.db", FEATURES))
        pairs = in_turns(short, yardstick, rounds=rounds, seconds=seconds)
        table.line(
            "decisions per second over a bare handler's", ratios(pairs, "per_second"), ">=0.8"
        )
        rate = statistics.median(one["per_second"] for one, _ in pairs) / 2
        half = [short.load(2 * seconds, rate=rate) for _ in range(rounds)]
        table.tail("p99 over p50 at half that load", half, "<=5")
        fewer = [short.load(seconds, connections=CONNECTIONS // 2) for _ in range(rounds)]
        table.tail("with half as many connections instead", fewer, "<=5")
        noise = [yardstick.load(2 * seconds, rate=rate) for _ in range(rounds)]
        table.tail("the bare handler's, at the same load", noise)
        idle = servers.enter_context(started(FEATURES, HERE / "idle_service.py"))
        machine = [idle.load(2 * seconds, rate=rate)["p99"] for _ in range(rounds)]
        p50 = statistics.median(one["p50"] for one in half)
        table.line("p99 without any work over that p50", [p99 / p50 for p99 in machine])
        mixed = with_rewards(short, rounds, seconds)
        table.tail("with a reward for each, at half of such a load", mixed, "<=5")
    with ExitStack() as servers:
        short = servers.enter_context(service(folder / "short.db", FEATURES))
        long = servers.enter_context(service(folder / "long.db", FEATURES))
        pairs = in_turns(short, long, rounds=rounds, seconds=seconds)
        name = f"time of a decision after {longest:,} over one after 1,000"
        table.line(name, ratios(pairs, "per_second"), "<=1.2")
    for n_features in (20, 93):
        write_history(folder / f"{n_features}.db", n_features, 1000)
        with service(folder / f"{n_features}.db", n_features) as wide:
            mixed = with_rewards(wide, rounds, seconds)
        table.tail(f"p99 over p50 at half load with rewards, {n_features} features", mixed)


def main() -> None:
    parser = argparse.ArgumentParser(description="The decision service under load")
    parser.add_argument("--quick", action="store_true", help="short loads, 10^5 past decisions")
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a target is missed")
    options = parser.parse_args()
    table = Table()
    effort = {"rounds": 5, "seconds": 2.0} if options.quick else {"rounds": 9, "seconds": 4.0}
    with tempfile.TemporaryDirectory() as folder:
        longest = 10**5 if options.quick else 10**6
        measure(Path(folder), table, longest=longest, **effort)  # type: ignore[arg-type]
    sys.exit(1 if options.strict and not table.met else 0)


if __name__ == "__main__":
    main()
