"""A policy's course as a short table: what its charts show, for those who cannot see them."""

from __future__ import annotations

from typing import NamedTuple

from greedyfirst.service.state.history import Course, Point

_MOST_ROWS = 12


class CourseRow(NamedTuple):
    """A stretch of the course."""

    point: Point
    #: The mean reward since the row before.
    mean_reward: float


def course_rows(course: Course) -> list[CourseRow]:
    """At most a dozen stretches, about equally long, up to the newest point."""
    points = course.points
    if not points:
        return []
    rows = min(_MOST_ROWS, len(points))
    chosen = [points[(number + 1) * len(points) // rows - 1] for number in range(rows)]
    made, rewards, total = [], 0, 0.0
    for point in chosen:
        mean = (point.reward_sum - total) / (point.rewards - rewards)
        made.append(CourseRow(point, mean))
        rewards, total = point.rewards, point.reward_sum
    return made
