"""A deployment's history as a short table: what its charts show, for those who cannot see them."""

from __future__ import annotations

from typing import NamedTuple

from greedyfirst.service.state.history import History, Point

_MOST_ROWS = 12


class HistoryRow(NamedTuple):
    """A stretch of the history."""

    point: Point
    #: The mean reward since the row before.
    mean_reward: float


def history_rows(history: History) -> list[HistoryRow]:
    """At most a dozen stretches, about equally long, up to the newest point."""
    points = history.points
    if not points:
        return []
    rows = min(_MOST_ROWS, len(points))
    chosen = [points[(number + 1) * len(points) // rows - 1] for number in range(rows)]
    made, rewards, total = [], 0, 0.0
    for point in chosen:
        mean = (point.reward_sum - total) / (point.rewards - rewards)
        made.append(HistoryRow(point, mean))
        rewards, total = point.rewards, point.reward_sum
    return made
