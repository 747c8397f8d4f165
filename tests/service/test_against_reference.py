"""The whole interface against a small reference, in any order of requests, with restarts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from reference_service import WAIT, Reference
from served import BY, Clock, running

from greedyfirst.service.log.places import reading
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.state import restoring, snapshots
from support.postgres_server import PostgresServer

FEATURES: list[dict[str, Any]] = [
    {"kind": "numeric", "name": "x"},
    {"kind": "categorical", "name": "s", "levels": ["f", "m"]},
]
BASE = "/v1/policies/p"
#: A disk in memory, where there is one: this test is not about syncs, and makes thousands.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
numbers = st.sampled_from([-2.0, -0.5, 0, 0.25, 1, 3.5])
contexts = st.fixed_dictionaries({"x": numbers, "s": st.sampled_from(["f", "m"])})
names = st.sampled_from(["a", "b", "c", "d", "e"])
values = st.sampled_from([0.0, 1.0, 2.5])


class Requests(RuleBasedStateMachine):
    """Requests in any order; each answer must be the reference's."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.place = self.new_place()
        self.clock = Clock()
        self.keys: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._start()

    def new_place(self) -> Path | PostgresUrl:
        """Where there is no log yet."""
        return Path(self.folder.name) / "log.db"

    def _start(self) -> None:
        self.running = running(self.place, self.clock)
        self.client = self.running.__enter__()

    @initialize(
        summed=st.booleans(),
        default=st.sampled_from([None, 0.5]),
        seed=st.integers(0, 3),
        options=st.sampled_from([{}, {"t0": 12}]),
    )
    def create(
        self, summed: bool, default: float | None, seed: int, options: dict[str, Any]
    ) -> None:
        self.reference = Reference(summed=summed, default=default, seed=seed, options=options)
        specification = {
            "name": "p",
            "arms": ["a", "b", "c"],
            "features": FEATURES,
            "policy": {"policy": "GreedyFirst", "options": options},
            "rewards": "sum" if summed else "first",
            "reward_wait": WAIT,
            "default_reward": default,
            "seed": seed,
        }
        for status in (201, 200):
            assert self.client.post("/v1/policies", json=specification).status_code == status

    def _full(self, context: dict[str, Any], w: float) -> dict[str, Any]:
        return context | {"w": w} if self.reference.version > 1 else context

    @rule(context=contexts, w=numbers, eligible=st.none() | st.lists(names, min_size=1))
    def decide(self, context: dict[str, Any], w: float, eligible: list[str] | None) -> None:
        body = {"context": self._full(context, w), "eligible_arms": eligible}
        key = f"key {len(self.keys)}"
        answer = self._post("decisions", body, key)
        in_use = set(self.reference.in_use)
        known = set(self.reference.agent.arm_names)
        if eligible is not None and not (in_use & set(eligible) and set(eligible) <= known):
            assert answer.status_code == 422
            return
        assert answer.status_code == 201, answer.text
        decided = answer.json()
        self.keys[key] = body, decided
        assert decided["arm"] == self.reference.decide(body["context"], eligible)
        assert decided["decision_id"] == f"p:{len(self.reference.decisions)}"
        assert eligible is None or decided["arm"] in eligible

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def repeat_a_key(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.keys)))
        body, answer = self.keys[key]
        assert self._post("decisions", body, key).json() == answer
        other = body | {"context": body["context"] | {"x": 99}}
        assert self._post("decisions", other, key).status_code == 422
        by_person = {"arm": "a", **BY}
        assert self._post("retirements", by_person, key).status_code == 422

    @precondition(lambda self: self.reference.decisions)
    @rule(data=st.data(), value=values, part=st.sampled_from(["", "", "", "one", "two"]))
    def reward(self, data: st.DataObject, value: float, part: str) -> None:
        step = data.draw(st.integers(1, len(self.reference.decisions)))
        self._reward(step, value, part)

    @rule(value=values, beyond=st.integers(1, 3))
    def reward_an_unknown_decision(self, value: float, beyond: int) -> None:
        self._reward(len(self.reference.decisions) + beyond, value, "")

    @rule(value=values)
    def reward_all(self, value: float) -> None:
        for step, decision in enumerate(self.reference.decisions, start=1):
            if decision.open:
                self._reward(step, value, "")

    def _reward(self, step: int, value: float, part: str) -> None:
        body = {"value": value, "part": part}
        answer = self.client.put(f"/v1/decisions/p:{step}/reward", json=body)
        expected = self.reference.reward(step, part, value)
        got = answer.json()["outcome"] if answer.status_code == 200 else answer.status_code
        assert got == expected, answer.text

    @precondition(lambda self: self.reference.decisions)
    @rule(
        data=st.data(), value=values | st.none(), part=st.sampled_from(["", "", "", "one", "two"])
    )
    def correct(self, data: st.DataObject, value: float | None, part: str) -> None:
        step = data.draw(st.integers(1, len(self.reference.decisions) + 1))
        body = {"value": value, "part": part, **BY}
        answer = self.client.post(f"/v1/decisions/p:{step}/correction", json=body)
        assert answer.status_code == self.reference.correct(step, part, value), answer.text

    @rule(seconds=st.sampled_from([0.5, 4.0, WAIT, 2 * WAIT]))
    def advance(self, seconds: float) -> None:
        self.clock.now += seconds
        self.reference.advance(seconds)

    @rule(arm=names)
    def add_an_arm(self, arm: str) -> None:
        answer = self._post("arms", {"arm": arm, **BY})
        assert answer.status_code == self.reference.add(arm), answer.text

    @rule(arm=names)
    def retire_an_arm(self, arm: str) -> None:
        answer = self._post("retirements", {"arm": arm, **BY})
        assert answer.status_code == self.reference.retire(arm), answer.text

    @rule(
        arm=names,
        resolution=st.sampled_from(["explore_arm", "explore", "drop", "hold"]),
        change=st.booleans(),
    )
    def resolve(self, arm: str, resolution: str, change: bool) -> None:
        asked = {"arm": arm, "resolution": resolution, "change": change, **BY}
        answer = self._post("resolutions", asked)
        assert answer.status_code == self.reference.resolve(arm, resolution, change), answer.text

    @rule(arm=names)
    def put_an_arm_back(self, arm: str) -> None:
        answer = self._post("reinstatements", {"arm": arm, **BY})
        assert answer.status_code == self.reference.reinstate(arm), answer.text

    @rule(rows=st.lists(st.tuples(contexts, names, values), min_size=1, max_size=8), w=numbers)
    def bring_history(self, rows: list[tuple[dict[str, Any], str, float]], w: float) -> None:
        self._bring([(self._full(context, w), arm, value) for context, arm, value in rows])

    @rule(arm=names, n=st.sampled_from([30, 60, 300]), w=numbers)
    def bring_much_history_of_an_arm(self, arm: str, n: int, w: float) -> None:
        """So that it is fed, and others starve."""
        rows = [({"x": i % 5 - 2.0, "s": "fm"[i // 5 % 2]}, arm, i % 3 / 2) for i in range(n)]
        self._bring(
            [(self._full(context, w + i % 4), *rest) for i, (context, *rest) in enumerate(rows)]
        )

    def _bring(self, rows: list[Any]) -> None:
        fields = ("context", "arm", "reward")
        body = {"rows": [dict(zip(fields, row, strict=True)) for row in rows], **BY}
        key = f"history {len(self.reference.past)}"
        answer = self._post("history", body, key)
        if {arm for _, arm, _ in rows} <= set(self.reference.agent.arm_names):
            assert answer.status_code == 201, answer.text
            self.reference.bring(rows)
            assert self._post("history", body, key).status_code == 201  # and not learned twice
        else:
            assert answer.status_code == 422

    @precondition(lambda self: self.reference.version == 1)
    @rule()
    def add_a_feature(self) -> None:
        features = [*FEATURES, {"kind": "numeric", "name": "w"}]
        url, body = f"{BASE}/schema", {"features": features, **BY}
        assert self.client.put(url, json=body).status_code == 422  # what was it before?
        for _ in range(2):
            answer = self.client.put(url, json=body | {"fill": {"w": 0.5}})
            assert answer.json() == {"policy": "p", "schema_version": 2}
        self.reference.add_feature()

    @rule()
    def restart(self) -> None:
        self.running.__exit__(None, None, None)
        self._start()

    def _post(self, what: str, body: dict[str, Any], key: str | None = None) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.client.post(f"{BASE}/{what}", json=body, headers=headers)

    @invariant()
    def stands_as_the_reference(self) -> None:
        if not hasattr(self, "reference"):
            return
        assert self.client.put("/v1/decisions/p:99999/reward", json={"value": 0}).status_code == 404
        view = self.client.get(BASE).json()
        expected = self.reference.expected_view()
        assert {name: view[name] for name in expected} == expected
        assert {alarm["arm"] for alarm in view["open_alarms"]} == self.reference.open

    def teardown(self) -> None:
        self.running.__exit__(None, None, None)
        if hasattr(self, "reference"):
            with reading(self.place) as log:
                log.check()
                quick, _ = restoring.restore(log, "p")
                slow, _ = restoring.restore(log, "p", snapshots=False)
            assert snapshots.save(quick)() == snapshots.save(slow)()
            assert slow.mismatches == 0
            assert slow.agent.buffer.tobytes() == self.reference.agent.buffer.tobytes()
        self.folder.cleanup()


BOUNDED = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def machine_on(server: PostgresServer) -> type[Requests]:
    """The same requests to a service on PostgreSQL."""

    class OnPostgres(Requests):
        def new_place(self) -> PostgresUrl:
            return PostgresUrl.parse(server.emptied())

    return OnPostgres


def test_requests_in_any_order() -> None:
    run_state_machine_as_test(Requests, settings=BOUNDED)


def test_requests_in_any_order_on_postgres(postgres: PostgresServer) -> None:
    fewer = settings(BOUNDED, max_examples=6)
    run_state_machine_as_test(machine_on(postgres), settings=fewer)


@pytest.mark.nightly
def test_many_more_requests_in_any_order_on_postgres(postgres: PostgresServer) -> None:
    thorough = settings(BOUNDED, max_examples=150, stateful_step_count=60)
    run_state_machine_as_test(machine_on(postgres), settings=thorough)


@pytest.mark.nightly
def test_many_more_requests_in_any_order() -> None:
    thorough = settings(BOUNDED, max_examples=300, stateful_step_count=60)
    run_state_machine_as_test(Requests, settings=thorough)
