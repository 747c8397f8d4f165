"""A line of the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number of the report."""

    what: str
    #: None where the theorem makes no promise; the remark says why.
    value: float | None
    #: With all simulation errors at their worst, where there are any.
    worst: float | None = None
    remark: str = ""
