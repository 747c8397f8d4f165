"""What can happen to a service, its machine, its files and its people: the events of `chaos.py`."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from kills import Client, Server, free_port

TESTS = Path(__file__).parents[1] / "tests" / "service"
DAY = 86_400.0
#: Every arm falls short of the line at the second reward.
ALARMING = {
    "arms": ["low", "high"],
    "features": [{"kind": "numeric", "name": "age"}],
    "policy": {"policy": "GreedyFirst", "options": {"t0": 1, "lambda0": 1000.0}},
}


def serve(path: str, port: int, ahead: Synchronized[float], full: Synchronized[bool]) -> None:
    """The service on a machine whose clock is ``ahead`` and whose disk may be ``full``."""
    import apsw

    sys.path.insert(0, str(TESTS))
    from failing_disk import FailingDisk

    from greedyfirst.service import server
    from greedyfirst.service.log import places
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
    places.SqliteLog = partial(places.SqliteLog, vfs=disk.name)  # type: ignore
    server.serve(path, port=port)


class Machine:
    """The service, and what can happen to it."""

    def __init__(self, path: Path, port: int, chance: random.Random) -> None:
        self.server, self.chance, self.path = Server(path, port), chance, path
        self.ahead = self.server.processes.Value("d", 0.0)
        self.full = self.server.processes.Value("b", False)
        self.server.target, self.server.more = serve, (self.ahead, self.full)
        self.answers: dict[str, int] = {}
        #: What went otherwise than it must.
        self.wrong: list[str] = []
        self.alarms = self.keys = 0

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
        self.ahead.value = self.chance.choice((400 * DAY, -400 * DAY, 3600.0, -30.0))
        time.sleep(self.chance.uniform(0.2, 3.5))
        if self.chance.random() < 0.5:
            self.ahead.value = 0.0

    def jump_and_kill(self) -> None:
        """The machine starts again with a wrong clock."""
        self.server.kill()
        self.ahead.value = self.chance.choice((400 * DAY, -400 * DAY))
        self.server.start()

    def person(self) -> Client:
        """Somebody who sends a request now and then, as an admin."""
        client = Client(10**6, self.server.port, threading.Event())
        client.headers |= self.server.headers
        return client

    def answer(self) -> None:
        """A person answers about the clock, if there is a question."""
        # Never "passed": that would rightly end waits.
        said = self.chance.choice(("follow", "keep"))
        body = {"answer": said, "who": "Kim", "why": "chaos"}
        status, _ = self.person().send("POST", "/v1/clock", body)
        word = said if status == 200 else f"{said}: {status or 'no answer'}"
        self.answers[word] = self.answers.get(word, 0) + 1

    def fill_disk(self) -> None:
        """The disk is full for a while."""
        self.full.value = True
        time.sleep(self.chance.uniform(0.1, 1.0))
        self.full.value = False

    # ------------------------------------------------------------ the log's files

    def wait_for(self, status: int) -> bool:
        """Wait until the service says so of its readiness."""
        for _ in range(400):
            if self.server.asked("/readyz")[0] == status:
                return True
            time.sleep(0.05)
        self.wrong.append(f"readiness did not become {status} within 20 s")
        return False

    def take_away(self) -> None:
        """The database is moved, the service refuses, and it is moved back."""
        away = self.path.with_name("away.db")
        self.path.rename(away)
        self.wait_for(503)
        away.rename(self.path)
        self.wait_for(200)

    def delete(self) -> None:
        """The database is deleted; an operator puts back what the service has rescued."""
        self.path.unlink()
        self._restore_rescued()

    def replace(self) -> None:
        """A backup takes its place; an operator puts the log itself back, or what was rescued."""
        from greedyfirst.service.log.backup import back_up

        copy, itself = self.path.with_name("copy.db"), self.path.with_name("itself.db")
        back_up(self.path, copy)
        time.sleep(self.chance.uniform(0.0, 0.5))  # what is acknowledged now is not in the copy
        os.link(self.path, itself)
        copy.replace(self.path)
        if self.chance.random() < 0.5 and self.wait_for(503):
            itself.replace(self.path)
            self.wait_for(200)
        else:
            self._restore_rescued()
            itself.unlink()

    def _restore_rescued(self) -> None:
        """The way of the runbook: end the service, restore, start it."""
        from greedyfirst.service.log.restore import restore

        self.wait_for(503)
        named = None
        for _ in range(400):
            _, told = self.server.asked("/v1/policies")
            if named := re.search(r"greedyfirst restore (\S+rescued-\S+) --db", str(told)):
                break
            time.sleep(0.05)
        if named is None:
            raise SystemExit(f"the service has rescued nothing: {told}")
        self.server.end()
        if self.server.process.exitcode != 0:
            self.wrong.append(f"without its file it ended with {self.server.process.exitcode}")
        for ending in () if self.path.exists() else ("-wal", "-shm"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        restore(Path(named[1]), self.path, who="Kim", why="chaos", keep_keys=True)
        self.server.start()

    def remove_beside(self) -> None:
        """Files beside the database are removed while the process stands still."""
        pid = self.server.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        for ending in self.chance.choice((["-wal"], ["-shm"], ["-wal", "-shm"])):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        os.kill(pid, signal.SIGCONT)
        time.sleep(1.5)  # a kill before it has noticed would leave nothing to go on with
        self.wait_for(200)

    def second_service(self) -> None:
        """Somebody removes all that looks like a lock, and starts another service on the file."""
        for file in self.path.parent.glob(f"{self.path.name}*lock*"):
            file.unlink()

        arguments = (str(self.path), free_port(), *self.server.more)
        second = self.server.processes.Process(target=self.server.target, args=arguments)
        second.start()
        second.join(30)
        if second.exitcode in (0, None):
            self.wrong.append(f"a second service on the same file: exit code {second.exitcode}")
            second.kill()

    # ------------------------------------------------------------ people

    def two_people(self) -> None:
        """Two people answer one alarm differently, perhaps beside a kill: one is accepted."""
        self.alarms += 1
        name, person = f"alarm-{self.alarms}", self.person()
        person.until_answered("POST", "/v1/policies", ALARMING | {"name": name})
        for number in range(3):
            url = f"/v1/policies/{name}/decisions"
            made, _ = person.until_answered("POST", url, {"context": {"age": 1.0}}, f"{number}")
            person.until_answered(
                "PUT", f"/v1/decisions/{made['decision_id']}/reward", {"value": 1}
            )
        said: list[int] = []

        def answer(resolution: str, who: str) -> None:
            asking = self.person()
            body = {"arm": "low", "alarm": 1, "resolution": resolution, "who": who, "why": "chaos"}
            while not (status := self._sent(asking, name, body, who)):
                time.sleep(0.02)
            said.append(status)

        people = [
            threading.Thread(target=answer, args=each, daemon=True)
            for each in (("hold", "Ann"), ("drop", "Bob"))
        ]
        for each in people:
            each.start()
        if self.chance.random() < 0.5:
            self.kill()
        for each in people:
            each.join(60)
        if sorted(said) != [201, 409]:
            self.wrong.append(f"two people at one alarm got {said}")

    @staticmethod
    def _sent(person: Client, policy: str, body: Any, key: str) -> int:
        return person.send("POST", f"/v1/policies/{policy}/resolutions", body, key)[0]

    def remove_key(self) -> None:
        """A key is made and removed; two seconds later it is refused, and the others are not."""
        from greedyfirst.service.http.access import hashed
        from greedyfirst.service.log.access_keys import AccessKey, add_key, remove_key

        self.keys += 1
        name = secret = f"key-{self.keys}"
        add_key(self.path, AccessKey(name, "admin", hashed(secret)))
        stranger = self.person()
        stranger.headers["Authorization"] = f"Bearer {secret}"
        time.sleep(2)
        before, _ = stranger.send("GET", "/v1/policies", None)
        remove_key(self.path, name)
        time.sleep(2)
        after, _ = stranger.send("GET", "/v1/policies", None)
        if (before, after) != (200, 401):
            self.wrong.append(f"a key got {before}, and when it was removed {after}")

    def events(self) -> list[Callable[[], None]]:
        """All of them; what is named twice happens twice as often."""
        return [
            *(self.kill, self.kill, self.kill, self.halt, self.halt),
            *(self.jump, self.jump_and_kill, self.answer, self.answer, self.fill_disk),
            *(self.take_away, self.delete, self.replace, self.remove_beside, self.second_service),
            *(self.two_people, self.two_people, self.remove_key),
        ]
