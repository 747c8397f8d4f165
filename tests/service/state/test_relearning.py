"""Other features: the policy is then what it would be, had it had them from the start."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient
from served import BY, Clock, running, view

NARROW = [{"kind": "numeric", "name": "x"}, {"kind": "numeric", "name": "y"}]
WIDE = [*NARROW, {"kind": "numeric", "name": "w"}]
#: As many features, in other units.
RESCALED = [NARROW[0], {"kind": "numeric", "name": "y", "scale": 2.0}]
OLS_BANDIT = {"policy": "OLSBandit", "options": {"h": 0.5, "warmup": "pinv"}}
GREEDY_FIRST = {
    "policy": "GreedyFirst",
    "options": {"initial_pulls": 3, "t0": 20, "warmup": "pinv", "fallback": OLS_BANDIT},
}
#: An arm trips its test at once.
STRICT = GREEDY_FIRST | {"options": GREEDY_FIRST["options"] | {"lambda0": 100.0}}
#: Greedy-First as it comes.
ARM_BY_ARM = {"policy": "GreedyFirst", "options": {"initial_pulls": 3}}
WORTH = {"a": (1.0, 1.0), "b": (0.5, -1.0), "c": (-3.0, 0.0), "late": (0.8, 2.0)}


class Life:
    """What happens to a policy, decided by a seed and by its own choices."""

    def __init__(
        self,
        client: TestClient[Any],
        *,
        wide: bool,
        later: Any = WIDE,
        seed: int = 5,
        **changes: Any,
    ):
        self.client, self.wide, self.rng = client, wide, random.Random(seed)
        self.later = later
        self.extra = {"w": 0.0} if later is WIDE else {}
        specification = {
            "name": "dose",
            "arms": ["a", "b", "c"],
            "features": later if wide else NARROW,
            "policy": GREEDY_FIRST,
            "seed": 1,
        }
        answer = client.post("/v1/policies", json=specification | changes)
        assert answer.status_code == 201, answer.text

    def play(self, n: int) -> list[Any]:
        """Decisions with their rewards, every fifth of them late by some decisions."""
        made, owed = [], []
        for number in range(n):
            context = {"x": self.rng.gauss(0, 1), "y": self.rng.gauss(0, 1)}
            asked = context | self.extra if self.wide else context
            answer = self.client.post("/v1/policies/dose/decisions", json={"context": asked})
            assert answer.status_code == 201, answer.text
            made.append(answer.json())
            base, slope = WORTH[made[-1]["arm"]]
            owed.append((made[-1]["decision_id"], base + slope * context["x"]))
            while owed and (number % 5 or number == n - 1):
                decision, value = owed.pop()
                url = f"/v1/decisions/{decision}/reward"
                assert self.client.put(url, json={"value": value}).status_code == 200
        return made

    def act(self, what: str, **body: Any) -> None:
        answer = self.client.post(f"/v1/policies/dose/{what}", json=body | BY)
        assert answer.status_code == 201, answer.text

    def widen(self) -> None:
        if not self.wide:
            body = {"features": self.later, "fill": self.extra, **BY}
            answer = self.client.put("/v1/policies/dose/schema", json=body)
            assert answer.status_code == 200, answer.text
            self.wide = True

    def answer_all(self, resolution: str) -> None:
        for alarm in view(self.client)["open_alarms"]:
            self.act("resolutions", arm=alarm["arm"], resolution=resolution)

    def standing(self) -> dict[str, Any]:
        seen = view(self.client)
        report = self.client.get("/v1/policies/dose/diversity").json()
        return {
            "mode": seen["mode"],
            "open": sorted(alarm["arm"] for alarm in seen["open_alarms"]),
            "arms": [(arm["name"], arm["pulls"], arm["in_use"]) for arm in report["arms"]],
            "unwatched": [arm["name"] for arm in report["arms"] if not arm["watched"]],
            "starving": seen["starving"],
            "explored": [arm["name"] for arm in report["arms"] if arm["explored"]],
        }


def untouched(life: Life) -> None:
    life.play(60)


def held(life: Life) -> None:
    life.play(60)
    life.answer_all("hold")
    life.play(20)


def all_held(life: Life) -> None:
    life.play(60)
    for arm in view(life.client)["arms"]:
        if arm["in_use"]:
            life.act("resolutions", arm=arm["name"], resolution="hold")
    life.play(20)


def explored(life: Life) -> None:
    life.play(60)
    if view(life.client)["mode"] == "greedy":
        in_use = [arm["name"] for arm in view(life.client)["arms"] if arm["in_use"]]
        life.act("resolutions", arm=in_use[-1], resolution="explore")
    life.play(20)


def explored_alone(life: Life) -> None:
    life.play(60)
    for alarm in view(life.client)["open_alarms"]:
        life.act("resolutions", arm=alarm["arm"], resolution="explore_arm")
    life.play(40)


def retired_early(life: Life) -> None:
    life.play(6)
    life.act("retirements", arm="c")
    life.play(60)


def added(life: Life) -> None:
    life.play(60)
    life.act("arms", arm="late", initial_pulls=10)
    life.play(40)


def added_and_not_pulled_yet(life: Life) -> None:
    life.play(60)
    life.act("arms", arm="late", initial_pulls=10)


def imported(life: Life) -> None:
    extra = life.extra if life.wide else {}
    rows = [
        {
            "context": {"x": number / 7, "y": number % 3, **extra},
            "arm": "abc"[number % 3],
            "reward": 1,
        }
        for number in range(30)
    ]
    life.act("history", rows=rows)
    life.play(40)


LIVES = [
    untouched,
    held,
    all_held,
    explored,
    retired_early,
    added,
    added_and_not_pulled_yet,
    imported,
]


@pytest.mark.parametrize("on_alarm", ["hold", "explore", "drop"])
@pytest.mark.parametrize("lived", LIVES)
def test_it_goes_on_as_if_it_had_had_them_from_the_start(
    tmp_path: Path, lived: Any, on_alarm: str
) -> None:
    policy = STRICT if lived in (untouched, held, all_held) else GREEDY_FIRST
    go_on_with_both(tmp_path, lived, on_alarm=on_alarm, policy=policy)


@pytest.mark.parametrize("on_alarm", ["hold", "explore_arm", "explore", "drop"])
@pytest.mark.parametrize("lived", [*LIVES, explored_alone])
def test_it_does_so_arm_by_arm(tmp_path: Path, lived: Any, on_alarm: str) -> None:
    """Tests begin after 4·K·d rewards, so d must stay: the features get other units."""
    go_on_with_both(tmp_path, lived, on_alarm=on_alarm, policy=ARM_BY_ARM, later=RESCALED)


def go_on_with_both(tmp_path: Path, lived: Any, **life_options: Any) -> None:
    """The same life with the features from the start and with a change: the same from then on."""
    clock, found = Clock(), []
    for wide in (True, False):
        with running(tmp_path / f"{wide}.db", clock) as client:
            life = Life(client, wide=wide, **life_options)
            lived(life)
            before = life.standing()
            life.widen()
            assert life.standing() == before
            found.append((before, life.play(30), life.standing()))
    (before, made, after), (before_change, made_later, after_later) = found
    assert before_change == before
    assert after_later == after
    for one, other in zip(made, made_later, strict=True):
        assert (other["arm"], other["mode"]) == (one["arm"], one["mode"])
        assert other["expected_rewards"] == pytest.approx(one["expected_rewards"], rel=1e-6)


def test_forced_samples_stay_forced_samples(tmp_path: Path) -> None:
    made = []
    for wide in (True, False):
        with running(tmp_path / f"{wide}.db", Clock()) as client:
            life = Life(client, wide=wide, policy=OLS_BANDIT)
            life.play(60)
            life.widen()
            made.append([(one["arm"], one["mode"]) for one in life.play(60)])
    assert made[0] == made[1]
    assert len({arm for arm, _ in made[0]}) > 1


def test_what_was_answered_survives_the_change_and_a_restart(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", Clock()
    with running(path, clock) as client:
        life = Life(client, wide=False, policy=STRICT)
        life.play(60)
        open_before = [alarm["arm"] for alarm in view(client)["open_alarms"]]
        assert open_before
        life.act("resolutions", arm=open_before[0], resolution="drop")
        life.widen()
        standing = life.standing()
        assert open_before[0] not in standing["open"]
        assert open_before[0] in [name for name, _, in_use in standing["arms"] if not in_use]
    with running(path, clock) as client:
        life.client = client
        assert life.standing() == standing


def test_imports_after_a_change_have_the_new_features(tmp_path: Path) -> None:
    with running(tmp_path / "log.db", Clock()) as client:
        life = Life(client, wide=False)
        life.widen()
        for context, named in [
            ({"x": 1, "y": 2}, "'w'"),
            ({"x": 1, "y": 2, "w": 1, "nonsense": 1}, "'nonsense'"),
        ]:
            rows = [{"context": context, "arm": "a", "reward": 1}]
            answer = client.post("/v1/policies/dose/history", json={"rows": rows, **BY})
            assert answer.status_code == 422
            assert named in answer.json()["detail"]
