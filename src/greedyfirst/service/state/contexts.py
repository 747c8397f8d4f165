"""A context: from the names and values of a request to the numbers that an agent takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from greedyfirst.service.errors import InvalidError
from greedyfirst.service.state.ranges import FeatureRange
from greedyfirst.tables import Schema
from greedyfirst.validation import FloatArray

#: Sizes of numbers that cannot make estimates overflow.
LEAST, MOST = 1e-100, 1e12


def encode(schema: Schema, context: dict[str, Any]) -> FloatArray:
    """The context as numbers whose squares, and those of their inverses, are finite."""
    encoded = schema.encode_row(context)
    for place, value in enumerate(encoded.tolist()):
        if value and not LEAST <= abs(value) <= MOST:
            feature = schema.feature_names[place]
            raise ValueError(
                f"feature {feature!r} must be 0, or {LEAST:g} to {MOST:g} in size once "
                f"standardised, got {context[feature]!r}"
            )
    return encoded


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


def plain(context: dict[str, Any]) -> dict[str, Any]:
    """A context as the log keeps it: what is learned later must be what was decided on.

    Whole numbers beyond 64 bits become floats; numbers that JSON does not have are refused.
    """
    return {name: _plain(name, value) for name, value in context.items()}


def _plain(name: str, value: Any) -> Any:
    if type(value) is int and 2**63 <= abs(value) < 2**1023:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidError(f"feature {name!r} must be finite, got {value}")
    return value


def same_context(kept: dict[str, Any], context: dict[str, Any]) -> bool:
    """Whether a context is the one that was kept; true is not 1 here."""
    one, other = sorted(kept.items()), sorted(plain(context).items())
    return msgspec.json.encode(one) == msgspec.json.encode(other)
