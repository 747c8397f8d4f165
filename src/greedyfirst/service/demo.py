"""A simulated dosing trial, so that a newcomer sees everything the service shows.

All of it goes through the service itself, a day at a time, with a clock that the simulation moves:
decisions, rewards that come days later, some too late and some never. The policy is Greedy-First as
it comes, which asks a person about arms that starve. The low and the medium dose each suit some
patients, and of others too little is known about them: a person lets both have the benefit of the
doubt. The high dose suits few: its alarm stays open. Meanwhile a person corrects a reward and gives
a feature its plausible range.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from heapq import heappop, heappush
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from greedyfirst.service.log.events import Resolved, Value
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.answers import EXPLORE_ARM
from greedyfirst.service.state.clock import Clock
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.specification import (
    CategoricalFeature,
    NumericFeature,
    Specification,
)

DAY = 86_400.0
DAYS, PATIENTS_A_DAY = 120, 20
_WAIT = 30 * DAY
_MISSING, _LATE = 0.03, 0.02
_NOISE = 0.08
#: Days on which a person corrects the reward of a decision, and says which weights are plausible.
_CORRECTED, _RANGED = 35, 60
_SLIP = "dosing:300"
#: The arms that a person has explored while they starve.
_USUAL = ("low dose", "medium dose")
SPECIFICATION = Specification(
    name="dosing",
    arms=("low dose", "medium dose", "high dose"),
    features=(
        NumericFeature(name="age", mean=65.0, scale=12.0),
        NumericFeature(name="weight", mean=80.0, scale=15.0),
        NumericFeature(name="kidney function", mean=70.0, scale=20.0),
        CategoricalFeature(name="gene variant", levels=("common", "slow", "very slow")),
        CategoricalFeature(name="other drugs", levels=("no", "yes")),
    ),
    policy=PolicyDescription(policy="GreedyFirst", options={"initial_pulls": 8}),
    reward_wait=_WAIT,
    on_alarm="hold",
    seed=2026,
)
#: How well each dose does, by encoded feature: the first number is for a usual patient (1 is a
#: full success), the others are what a unit more of each feature adds.
EFFECTS = {
    "low dose": (0.60, 0.05, -0.06, -0.03, 0.06, 0.10, 0.03),
    "medium dose": (0.68, -0.02, 0.03, 0.02, -0.04, -0.12, -0.02),
    "high dose": (0.50, -0.06, 0.08, 0.05, -0.12, -0.20, -0.06),
}


def simulate_trial(path: str | Path, *, now: float | None = None) -> None:
    """Write the trial, which ends at ``now``, into the log in the file ``path``."""
    log = SqliteLog(path)
    known = log.policies()
    log.close()
    if known:
        raise ValueError(f"{path} has policies already; the demo needs a new file")
    asyncio.run(Trial(path, time.time() if now is None else now).run())


class Trial:
    """Patients who come, and their rewards."""

    def __init__(self, path: str | Path, end: float) -> None:
        self._end = end
        self._now = end - DAYS * DAY
        clock = Clock(lambda: self._now, lambda: self._now)
        self._service = DecisionService(lambda: SqliteLog(path), clock=clock)
        self._schema = SPECIFICATION.encoding().schema()
        self._rng = np.random.default_rng(4)
        #: Rewards to come: when, for which decision, how much.
        self._due: list[tuple[float, str, float]] = []

    async def run(self) -> None:
        """All days, one after the other."""
        await self._service.start()
        try:
            await self._service.admin.create(SPECIFICATION)
            for day in range(DAYS):
                await self._day(self._end - (DAYS - day) * DAY)
                await self._evening(day)
            self._now = self._end
        finally:
            await self._service.stop()

    async def _day(self, start: float) -> None:
        """Visits of a day, and rewards of earlier ones that come in it, written together."""
        happens: list[tuple[float, Awaitable[None]]] = []
        for at in (start + DAY * self._rng.random(PATIENTS_A_DAY)).tolist():
            happens.append((at, self._visit(at)))
        while self._due and self._due[0][0] < start + DAY:
            at, decision_id, value = heappop(self._due)
            happens.append((at, self._reward(at, decision_id, value)))
        await asyncio.gather(*(step for _, step in sorted(happens, key=lambda pair: pair[0])))

    async def _evening(self, day: int) -> None:
        """What people do after the visits of some days."""
        admin = self._service.admin
        for alarm in [*self._service.deployment(SPECIFICATION.name).open_alarms.values()]:
            if alarm.arm in _USUAL:
                why = (
                    "Both doses are usual here: patients may get the one that looks a little worse."
                )
                answer = Resolved(arm=alarm.arm, resolution=EXPLORE_ARM, who="Dr. Smith", why=why)
                await admin.administer(SPECIFICATION.name, answer, None)
        if day == _CORRECTED:
            why = "A slip at the keyboard: the file says 0.5."
            await admin.correct(_SLIP, 0.5, "", "Dr. Smith", why, None)
        elif day == _RANGED:
            weight = replace(SPECIFICATION.features[1], low=30.0, high=250.0)
            features = tuple(weight if f.name == "weight" else f for f in SPECIFICATION.features)
            encoding = replace(SPECIFICATION.encoding(), features=features)
            why = "A weight in pounds was noticed in time; others would not be."
            await admin.change_schema(SPECIFICATION.name, encoding, {}, "Dr. Smith", why)

    async def _visit(self, at: float) -> None:
        context = self._patient()
        success = self._rng.normal(0.0, _NOISE)
        fate = self._rng.random()
        delay = self._rng.uniform(2 * DAY, 9 * DAY)
        self._now = at
        decision = await self._service.decide(SPECIFICATION.name, context)
        if fate < _MISSING:
            return
        if fate < _MISSING + _LATE:
            delay += _WAIT
        success += float(np.dot(EFFECTS[decision.arm], self._schema.encode_row(context)))
        heappush(self._due, (at + delay, decision.decision_id, round(success, 3)))

    async def _reward(self, at: float, decision_id: str, value: float) -> None:
        self._now = at
        await self._service.reward(decision_id, value)

    def _patient(self) -> dict[str, Value]:
        rng = self._rng
        return {
            "age": round(rng.normal(65.0, 12.0)),
            "weight": round(rng.normal(80.0, 15.0)),
            "kidney function": round(rng.normal(70.0, 20.0)),
            "gene variant": str(rng.choice(("common", "slow", "very slow"), p=(0.6, 0.3, 0.1))),
            "other drugs": str(rng.choice(("no", "yes"), p=(0.65, 0.35))),
        }
