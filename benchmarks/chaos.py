"""A mixed run of everything that goes wrong with a machine, under load, and what it must not do.

    python benchmarks/chaos.py --events 60 [--seed 7]

Clients decide, reward, correct and erase as in `kills.py`. Meanwhile the events of
`chaos_events.py` happen in random order, each of them once at first: kills and halts, jumps of the
clock, a full disk, files that are deleted or replaced, a second service, two people at one alarm,
keys that are removed. In the end every answer that a client got is in the log, once; no wait for a
reward has ended, since none was over; stamps go back only where a person said so; and each alarm
was answered once. It ends with 1 if anything else is found, and after so many events by itself.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from chaos_events import DAY, Machine
from kills import POLICY, SPECIFICATION, Client, checked, free_port, verdict, violations

KEY = {"Authorization": "Bearer chaos"}
#: No wait is over within the run, so none may end.
WAIT = {"reward_wait": 10 * DAY, "default_reward": 0.0}


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


def make_key(path: Path) -> None:
    """A log with one key, so that nobody else may do anything."""
    from greedyfirst.service.http.access import hashed
    from greedyfirst.service.log.access_keys import AccessKey, add_key
    from greedyfirst.service.log.sqlite_log import SqliteLog

    SqliteLog(path).close()
    add_key(path, AccessKey("chaos", "admin", hashed("chaos")))


def answered_once(path: Path, alarms: int) -> list[str]:
    """Alarms that were not answered by one person."""
    from greedyfirst.service.log.sqlite_log import SqliteLog

    log = SqliteLog(path)
    names = [f"alarm-{number + 1}" for number in range(alarms)]
    kinds = {name: [entry.kind for entry in log.read(name)] for name in names}
    log.close()
    return [
        f"policy {name} has {found.count('resolved')} answers"
        for name, found in kinds.items()
        if found.count("resolved") != 1
    ]


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
        make_key(path)
        machine.server.headers |= KEY
        machine.server.start()
        clients = [Client(number, port, stop) for number in range(options.clients)]
        for client in clients:
            client.headers |= KEY
        clients[0].until_answered("POST", "/v1/policies", SPECIFICATION | WAIT)
        for client in clients:
            client.start()
        first = [*dict.fromkeys(machine.events())]
        chance.shuffle(first)
        for _ in range(options.events):
            time.sleep(chance.uniform(0.0, 0.5))
            event = first.pop() if first else chance.choice(machine.events())
            happened[event.__name__] = happened.get(event.__name__, 0) + 1
            event()
        machine.full.value, machine.ahead.value = False, 0.0
        stop.set()
        for client in clients:
            client.join(60)
        status, view = machine.server.asked(f"/v1/policies/{POLICY}")
        machine.server.end()
        found: list[Any] = [] if status == 200 else [f"the policy's page got {status}"]
        found += machine.wrong + answered_once(path, machine.alarms)
        found += violations(path, clients, view) + stamps(path)
        sentence, clean = checked(path)
    decided = sum(len(client.decided) for client in clients)
    rewarded = sum(len(client.rewarded) for client in clients)
    print(", ".join(f"{name} {count}" for name, count in sorted(happened.items())))
    print("answers about the clock:", machine.answers)
    print(f"decisions acknowledged: {decided}, rewards acknowledged: {rewarded}")
    corrected, erased = (
        sum(len(getattr(client, what)) for client in clients) for what in ("corrected", "erased")
    )
    print(f"rewards corrected: {corrected}, decisions erased: {erased}")
    print(f"attempts without an answer: {sum(client.failures for client in clients)}")
    print(f"log check: {sentence}")
    if not clean:
        found.append("the log check is not clean")
    return verdict(found, clients, rewarded)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
