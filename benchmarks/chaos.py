"""A mixed run of everything that goes wrong with a machine, under load, and what it must not do.

    python benchmarks/chaos.py --events 60 [--seed 7]

Clients decide and reward as in `kills.py`. Meanwhile, in random order: the process is killed or
halted for a while, the machine's clock jumps and a person answers or does not, and the disk is full
for a while. In the end every answer that a client got is in the log, once; no wait for a reward
has ended, since none was over; and stamps go back only where a person said so. It ends with 1 if
anything else is found, and after so many events by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from kills import POLICY, SPECIFICATION, Client, Server, checked, free_port, violations

TESTS = Path(__file__).parents[1] / "tests" / "service"
DAY = 86_400.0
#: No wait is over within the run, so none may end.
WAIT = {"reward_wait": 10 * DAY, "default_reward": 0.0}


def serve(path: str, port: int, ahead: Synchronized[float], full: Synchronized[bool]) -> None:
    """The service on a machine whose clock is ``ahead`` and whose disk may be ``full``."""
    import apsw

    sys.path.insert(0, str(TESTS))
    from failing_disk import FailingDisk

    from greedyfirst.service import server
    from greedyfirst.service.state.clock import Clock

    disk = FailingDisk()
    disk.error = apsw.FullError

    def watch_disk() -> None:
        while True:
            disk.failing = "write" if full.value else None
            time.sleep(0.01)

    threading.Thread(target=watch_disk, daemon=True).start()
    clock = Clock(wall=lambda: time.time() + ahead.value)
    server.DecisionService = partial(server.DecisionService, clock=clock)  # type: ignore
    server.SqliteLog = partial(server.SqliteLog, vfs=disk.name)  # type: ignore
    server.serve(path, port=port)


class Machine:
    """The service, and what can happen to it."""

    def __init__(self, path: Path, port: int, chance: random.Random) -> None:
        self.server, self.chance = Server(path, port), chance
        self.ahead = self.server.processes.Value("d", 0.0)
        self.full = self.server.processes.Value("b", False)
        self.server.target, self.server.more = serve, (self.ahead, self.full)
        self.answers: dict[str, int] = {}
        self.jumps = 0

    def kill(self) -> None:
        """SIGKILL, and a new process on the same file."""
        self.server.kill()
        self.server.start()

    def halt(self) -> None:
        """SIGSTOP for a while."""
        pid = self.server.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.chance.uniform(0.1, 1.5))
        os.kill(pid, signal.SIGCONT)

    def jump(self) -> None:
        """The machine's clock is set; it stays so, or is set right a little later."""
        self.jumps += 1
        self.ahead.value = self.chance.choice((400 * DAY, -400 * DAY, 3600.0, -30.0))
        time.sleep(self.chance.uniform(0.2, 3.5))
        if self.chance.random() < 0.5:
            self.ahead.value = 0.0

    def jump_and_kill(self) -> None:
        """The machine starts again with a wrong clock."""
        self.server.kill()
        self.ahead.value = self.chance.choice((400 * DAY, -400 * DAY))
        self.jumps += 1
        self.server.start()

    def answer(self) -> None:
        """A person answers about the clock, if there is a question."""
        client = Client(10**6, self.server.port, threading.Event())
        # Never "passed": that would rightly end waits.
        said = self.chance.choice(("follow", "keep"))
        body = {"answer": said, "who": "Kim", "why": "chaos"}
        status, _ = client.send("POST", "/v1/clock", body)
        word = said if status == 200 else f"{said}: {status or 'no answer'}"
        self.answers[word] = self.answers.get(word, 0) + 1

    def fill_disk(self) -> None:
        """The disk is full for a while."""
        self.full.value = True
        time.sleep(self.chance.uniform(0.1, 1.0))
        self.full.value = False

    def events(self) -> list[Callable[[], None]]:
        """All of them; what is named twice happens twice as often."""
        return [
            *(self.kill, self.kill, self.halt, self.jump, self.jump_and_kill),
            *(self.answer, self.answer, self.fill_disk),
        ]


def stamps(path: Path) -> list[str]:
    """What is wrong with the log's times, and with waits that ended."""
    from greedyfirst.service.log.sqlite_log import SqliteLog

    log = SqliteLog(path)
    entries = sorted([*log.read(POLICY), *log.read("")])
    log.close()
    found = [f"entry {e.seq}: a wait ended" for e in entries if e.kind == "expired"]
    for before, entry in pairwise(entries):
        said = entry.kind in ("waits_moved", "clock_answered")
        if entry.at < before.at and not said:
            found.append(f"entry {entry.seq} is {before.at - entry.at:.3f} s before the last one")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance, stop = random.Random(options.seed), threading.Event()
    happened: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        path, port = Path(folder) / "chaos.db", free_port()
        machine = Machine(path, port, chance)
        machine.server.start()
        clients = [Client(number, port, stop) for number in range(options.clients)]
        clients[0].until_answered("POST", "/v1/policies", SPECIFICATION | WAIT)
        for client in clients:
            client.start()
        for _ in range(options.events):
            time.sleep(chance.uniform(0.0, 0.5))
            event = chance.choice(machine.events())
            happened[event.__name__] = happened.get(event.__name__, 0) + 1
            event()
        machine.full.value, machine.ahead.value = False, 0.0
        stop.set()
        for client in clients:
            client.join(60)
        status, view = machine.server.asked(f"/v1/policies/{POLICY}")
        machine.server.end()
        found: list[Any] = [] if status == 200 else [f"the policy's page got {status}"]
        found += violations(path, clients, view) + stamps(path)
        sentence, clean = checked(path)
    decided = sum(len(client.decided) for client in clients)
    rewarded = sum(len(client.rewarded) for client in clients)
    print(", ".join(f"{name} {count}" for name, count in sorted(happened.items())))
    print("answers about the clock:", machine.answers)
    print(f"decisions acknowledged: {decided}, rewards acknowledged: {rewarded}")
    print(f"attempts without an answer: {sum(client.failures for client in clients)}")
    print(f"log check: {sentence}")
    if not clean:
        found.append("the log check is not clean")
    if any(client.is_alive() for client in clients) or not rewarded:
        found.append("clients were not answered")
    print(f"violations: {len(found)}")
    for sentence in found[:20]:
        print(f"  {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
