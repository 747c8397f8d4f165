"""Plausible ranges of rewards and features, and what is done with a value outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from greedyfirst.service.errors import InvalidError

#: Sizes of numbers that cannot make estimates overflow.
LEAST, MOST = 1e-100, 1e12
Amount = Annotated[float, Meta(ge=-MOST, le=MOST)]
#: "refuse": a request with such a value gets 422; "hold": a person is asked about the reward.
Outside = Literal["refuse", "hold"]


def words(low: float | None, high: float | None) -> str:
    """A range in a sentence: "0 to 1"."""
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"


def check(where: str, low: float | None, high: float | None) -> None:
    """Refuse a range that nothing is in."""
    if low is not None and high is not None and not low < high:
        raise InvalidError(f"{where} must have low below high, got low {low} and high {high}")


class FeatureRange(NamedTuple):
    """The plausible values of a feature."""

    name: str
    low: float
    high: float
    outside: Outside

    def has(self, value: float) -> bool:
        """Whether the value is plausible."""
        return self.low <= value <= self.high

    def words(self) -> str:
        """The range in a sentence."""
        low, high = (None if abs(end) == float("inf") else end for end in (self.low, self.high))
        return words(low, high)


def outside(ranges: Sequence[FeatureRange], context: dict[str, Any]) -> tuple[str, ...]:
    """The features outside their plausible range; an error where that is to be refused."""
    found = []
    for limit in ranges:
        value = context[limit.name]
        if not limit.has(value):
            if limit.outside == "refuse":
                raise InvalidError(f"feature {limit.name!r} must be {limit.words()}, got {value}")
            found.append(limit.name)
    return tuple(found)


class RewardRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plausible rewards; of a sum, each part's. ``low`` or ``high`` may be left out."""

    low: Amount | None = None
    high: Amount | None = None
    outside: Outside = "refuse"

    def has(self, value: float) -> bool:
        """Whether the value is plausible."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def words(self) -> str:
        """The range in a sentence."""
        return words(self.low, self.high)
