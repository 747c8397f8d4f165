"""The loop around a policy in plain NumPy, with the library's own random draws."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from greedyfirst.problems import Draw

FloatArray = NDArray[np.float64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class NumpyPolicy(Protocol):
    """A policy for one run."""

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int: ...

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None: ...


def play(policy: NumpyPolicy, draw: Draw, uniforms: FloatArray) -> float:
    """The regret of one run."""
    columns = draw.contexts, draw.rewards.tolist(), draw.regrets.tolist(), uniforms.tolist()
    total = 0.0
    for step, (x, pays, costs, ties) in enumerate(zip(*columns, strict=True), start=1):
        arm = policy.choose(step, x, ties)
        total += costs[arm]
        policy.learn(step, x, arm, pays[arm])
    return total


def uniforms(seed: int, horizon: int, count: int) -> FloatArray:
    """The library's uniform draws (horizon, count), from which ties and normal draws come."""
    with np.errstate(over="ignore"):
        steps = np.arange(1, horizon + 1, dtype=np.uint64) * _GOLDEN
        streams = _mix(_mix(np.array([seed], np.uint64) + _GOLDEN) ^ steps)
        places = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
        return (_mix(streams[:, None] + places) >> np.uint64(11)) * 2.0**-53


def normals(uniform: FloatArray) -> FloatArray:
    """Standard normal draws (horizon, n) from 2n uniform ones."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform[:, ::2]))
    return radius * np.cos(2.0 * np.pi * uniform[:, 1::2])


def _mix(z: Any) -> Any:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def highest(scores: list[float], ties: list[float]) -> int:
    """The arm with the highest score; equal ones share."""
    best = max(scores)
    chosen = scores.index(best)
    if scores.count(best) > 1:
        equal = [arm for arm, score in enumerate(scores) if score == best]
        for place, arm in enumerate(equal[1:], start=2):
            if ties[arm] * place < 1.0:
                chosen = arm
    return chosen
