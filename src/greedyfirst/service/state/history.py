"""A deployment's history for its charts: a few hundred points, however long it runs.

A point is added every ``stride`` rewards. When there are too many, every second one is dropped and
the stride doubles, so points stay evenly spread and cost nothing in the long run.
"""

from __future__ import annotations

from msgspec import Struct

from greedyfirst.agent import Agent

MOST_POINTS = 256


class Point(Struct, frozen=True, kw_only=True):
    """Where things stood after ``rewards`` rewards; one number per arm that there was."""

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
        report = agent.diversity()
        self.points.append(
            Point(
                rewards=agent.rewards,
                at=at,
                decisions=agent.decisions,
                reward_sum=self.reward_sum,
                pulls=[arm.pulls for arm in report.arms],
                min_eigenvalues=[arm.min_eigenvalue for arm in report.arms],
                thresholds=[arm.threshold if arm.watched else None for arm in report.arms],
            )
        )
        if len(self.points) > MOST_POINTS:
            self.stride *= 2
            self.points = [point for point in self.points if point.rewards % self.stride == 0]
