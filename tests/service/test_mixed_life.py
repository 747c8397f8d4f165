"""A policy's whole life at random: everything that people and operators can do, in any order.

Corrections, void and held rewards, erasures, pauses, other features, ends of waits, restarts with
and without snapshots, backups put back. The judges: ridge regression by NumPy on what an export
says was learned; the state made again from the log; `greedyfirst log check` beside the service.
"""

from __future__ import annotations

import random
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from litestar.testing import TestClient
from served import BY, Clock, create, running
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.restore import restore
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import restoring, snapshots
from greedyfirst.service.state.deployment import Deployment

AGE: dict[str, Any] = {"kind": "numeric", "name": "age", "mean": 60, "scale": 10}
PENALTY = 2.0
POLICY = {"policy": "Greedy", "options": {"regularization": PENALTY}}
KINDS = ("joined", "pending", "missing", "too_late", "held_back", "voided")


class Life:
    """One policy, and what is done to it."""

    def __init__(self, path: Path, seed: int, rewards: str, default: float | None) -> None:
        self.path, self.chance, self.clock = path, random.Random(seed), Clock()
        self.clock.now = 4e9  # after the stamps of restores, which are the machine's
        self.ids: list[str] = []
        self.scale = 10.0
        self.open = ExitStack()
        self.start()
        create(
            self.client,
            arms=["low", "high"],
            features=[AGE | {"low": 20, "high": 100, "outside": "hold"}],
            policy=POLICY,
            reward_range={"low": -3, "high": 3, "outside": "hold"},
            reward_wait=100,
            default_reward=default,
            rewards=rewards,
        )
        self.parts = ["a", "b"] if rewards == "sum" else [""]

    def start(self) -> None:
        self.client: TestClient[Any] = self.open.enter_context(running(self.path, self.clock))

    def ask(self, method: str, url: str, body: Any = None) -> Any:
        """Send it; only refusals that have a reason are allowed."""
        answer = self.client.request(method, url, json=body)
        assert answer.status_code in (200, 201, 404, 409, 422), answer.text
        return answer

    def any_id(self) -> str:
        return self.chance.choice(self.ids[-30:] or ["dose:1"])

    # ------------------------------------------------------------ what may happen

    def decide(self) -> None:
        age = self.chance.gauss(60, 18)
        answer = self.ask("POST", "/v1/policies/dose/decisions", {"context": {"age": age}})
        if answer.status_code == 201:
            self.ids.append(answer.json()["decision_id"])

    def reward(self) -> None:
        body = {"value": self.chance.gauss(0, 2)}
        if part := self.chance.choice(self.parts):
            body["part"] = part
        self.ask("PUT", f"/v1/decisions/{self.any_id()}/reward", body)

    def correct(self) -> None:
        value = self.chance.choice([None, self.chance.gauss(0, 2)])
        body = {"value": value, "part": self.chance.choice(self.parts), **BY}
        self.ask("POST", f"/v1/decisions/{self.any_id()}/correction", body)

    def confirm(self) -> None:
        held = self.client.get("/v1/policies/dose").json()["held"]
        if held:
            one = self.chance.choice(held)
            body = {"value": one["value"], "part": one["part"], **BY}
            url = f"/v1/decisions/{one['decision_id']}/correction"
            assert self.ask("POST", url, body).status_code == 201

    def erase(self) -> None:
        self.ask("POST", f"/v1/decisions/{self.any_id()}/erasure", BY)

    def pause(self) -> None:
        state = self.chance.choice(["paused", "running", "running", "running"])
        self.ask("POST", "/v1/policies/dose/state", {"state": state, **BY})

    def rescale(self) -> None:
        self.scale = self.chance.choice([5.0, 10.0, 20.0])
        age = AGE | {"scale": self.scale, "low": 20, "high": 100, "outside": "hold"}
        body = {"features": [age], **BY}
        assert self.ask("PUT", "/v1/policies/dose/schema", body).status_code == 200

    def wait(self) -> None:
        self.clock.now += self.chance.choice([1.0, 30.0, 101.0])
        self.decide()  # any request ends the waits that are over

    def restart(self) -> None:
        before = self.client.get("/v1/policies/dose").json()
        self.open.close()
        if self.chance.random() < 0.5:
            log = SqliteLog(self.path)
            log._writer.execute("DELETE FROM snapshots")
            log.close()
        self.start()
        assert self.client.get("/v1/policies/dose").json() == before

    def put_back(self) -> None:
        """A backup, a little more life, and the backup again."""
        copy = self.path.with_name("copy.db")
        back_up(self.path, copy, force=True)
        kept, scale = len(self.ids), self.scale
        for _ in range(self.chance.randrange(4)):
            self.chance.choice([self.decide, self.reward, self.correct, self.erase])()
        self.open.close()
        restore(copy, self.path, **BY)
        self.start()
        for lost in self.ids[kept:]:
            for url in ("correction", "erasure"):
                body = {"value": 1.0, **BY} if url == "correction" else BY
                assert self.ask("POST", f"/v1/decisions/{lost}/{url}", body).status_code == 404
        self.ids, self.scale = self.ids[:kept], scale

    def live(self, events: int) -> None:
        usual = [*[self.decide] * 8, *[self.reward] * 6, *[self.correct] * 3, self.confirm]
        seldom = [self.erase, self.erase, self.wait, self.wait, self.pause, self.rescale]
        rare = [self.restart, self.put_back]
        for _ in range(events):
            (kind,) = self.chance.choices([usual, seldom, rare], [0.83, 0.14, 0.03])
            self.chance.choice(kind)()

    # ------------------------------------------------------------ what must be so

    def judge(self) -> None:
        """All of it, at this moment."""
        client, file = self.client, self.path.with_name("export.parquet")
        client.post("/v1/policies/dose/state", json={"state": "running", **BY})
        self.decide()  # ends waits, and tells the estimates
        told = client.get(f"/v1/decisions/{self.ids[-1]}").json()
        seen = client.get("/v1/policies/dose").json()
        file.write_bytes(client.get("/v1/policies/dose/export").content)
        rows = pq.read_table(file).to_pylist()
        assert [row["decision_id"] for row in rows] == self.ids
        assert seen["decisions"] == len(rows) == sum(seen[kind] for kind in KINDS)
        status = [row["status"] for row in rows]
        counted = {
            "joined": status.count("rewarded") + status.count("defaulted"),
            "pending": status.count("pending"),
            "missing": status.count("missing"),
            "too_late": status.count("late"),
            "held_back": status.count("held"),
            "voided": status.count("voided"),
        }
        assert {kind: seen[kind] for kind in KINDS} == counted
        learned = [row for row in rows if row["learned"] is not None]
        assert not any(row["erased"] or row["voided"] or row["held"] for row in learned)
        for arm in seen["arms"]:
            mine = [row for row in learned if row["arm"] == arm["name"]]
            assert arm["pulls"] == len(mine)
            x = np.array([[1.0, (row["context.age"] - 60) / self.scale] for row in mine])
            x = x.reshape(len(mine), 2)
            gram = x.T @ x + PENALTY * np.eye(2)
            estimate = np.linalg.solve(gram, x.T @ np.array([row["learned"] for row in mine]))
            here = np.array([1.0, (told["context"]["age"] - 60) / self.scale])
            expected = told["answer"]["expected_rewards"][arm["name"]]
            assert expected == pytest.approx(here @ estimate, rel=1e-9, abs=1e-9)
        checked = CliRunner().invoke(app, ["log", "check", str(self.path)])  # beside the service
        assert checked.exit_code == 0, checked.output
        self.open.close()
        log = SqliteLog(self.path)
        quick, slow = (restoring.restore(log, "dose", snapshots=kept)[0] for kept in (True, False))
        assert saved(quick) == saved(slow)
        log.close()


def saved(deployment: Deployment) -> snapshots.SavedState:
    """All of a state; sets and dictionaries may be in any order."""
    return msgspec.msgpack.decode(snapshots.save(deployment)(), type=snapshots.SavedState)


@pytest.mark.parametrize(("rewards", "default"), [("first", None), ("first", 0.5), ("sum", 0.5)])
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, 41))]
)
def test_a_life_in_any_order(path: Path, seed: int, rewards: str, default: float | None) -> None:
    life = Life(path, seed, rewards, default)
    with life.open:
        life.live(150)
        life.judge()


def test_the_export_of_such_a_life_is_evaluated_on_what_was_learned(path: Path) -> None:
    """Held, void, late, erased and pending decisions are in the export, and left out."""
    life = Life(path, 3, "sum", None)
    with life.open:
        life.live(250)
        life.judge()
    file = path.with_name("export.parquet")
    rows = pq.read_table(file).to_pylist()
    found = {row["status"] for row in rows}
    assert {"rewarded", "voided", "held", "missing", "late", "pending"} <= found
    assert any(row["erased"] for row in rows)
    learned = [row["learned"] for row in rows if row["learned"] is not None]
    words = ["evaluate", str(file), "--always", "low", "--out", str(path.parent)]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    earned = re.search(r"what was done earned (\S+) a decision", " ".join(told.output.split()))
    assert earned is not None
    assert float(earned[1]) == pytest.approx(np.mean(learned), abs=0.005)  # two digits
