"""A deployment's history for its charts: a few hundred points, however long it runs.

A point is added every ``stride`` rewards. When there are too many, every second one is dropped and
the stride doubles, so points stay evenly spread and cost nothing in the long run.
"""

from __future__ import annotations

from msgspec import Struct

from greedyfirst.agent import Agent

MOST_POINTS = 256
#: Arms × features³ up to which an agent's report of diversity takes some milliseconds.
MOST_AT_ONCE = 2_000_000


def wide(agent: Agent) -> bool:
    """Whether a report of its diversity would keep requests waiting."""
    return agent.n_arms * agent.n_features**3 > MOST_AT_ONCE


class Point(Struct, frozen=True, kw_only=True):
    """Where things stood after ``rewards`` rewards; one number per arm that there was.

    Points of an agent with many features have no eigenvalues and thresholds: with 900 of them, each
    would stop the service for a second.
    """

    rewards: int
    at: float
    decisions: int
    reward_sum: float
    pulls: list[int]
    min_eigenvalues: list[float]
    thresholds: list[float | None]


class History(Struct):
    """The points so far."""

    stride: int = 1
    reward_sum: float = 0.0
    points: list[Point] = []

    def add(self, agent: Agent, reward: float, at: float) -> None:
        """Add a reward that the agent has just learned."""
        self.reward_sum += reward
        if agent.rewards % self.stride:
            return
        arms = () if wide(agent) else agent.diversity().arms
        self.points.append(
            Point(
                rewards=agent.rewards,
                at=at,
                decisions=agent.decisions,
                reward_sum=self.reward_sum,
                pulls=agent.pulls.tolist(),
                min_eigenvalues=[arm.min_eigenvalue for arm in arms],
                thresholds=[arm.threshold if arm.watched else None for arm in arms],
            )
        )
        if len(self.points) > MOST_POINTS:
            self.stride *= 2
            self.points = [point for point in self.points if point.rewards % self.stride == 0]
