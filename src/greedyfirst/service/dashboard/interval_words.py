"""Intervals in plain words."""

from __future__ import annotations

from greedyfirst.service.dashboard.wording import number
from greedyfirst.service.state.effects import Interval


def ends(interval: Interval) -> str:
    """From where to where it reaches."""
    if interval.low is None or interval.high is None:
        return "not known yet"
    return f"{number(interval.low)} to {number(interval.high)}"


def verdict(difference: Interval) -> str:
    """Whether two arms are told apart."""
    if difference.low is None or difference.high is None:
        return "not known yet"
    return {1: "more", -1: "less", 0: "not told apart"}[difference.sign]
