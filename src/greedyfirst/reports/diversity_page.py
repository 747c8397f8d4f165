"""The covariate diversity of a table's contexts, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greedyfirst.reports.pages import picture, write_page
from greedyfirst.theory import CovariateDiversity


def write_diversity_page(
    found: CovariateDiversity, path: Path, *, source: str, notes: Sequence[str] = ()
) -> None:
    """Verdict, what is to be known about columns, numbers, and the picture."""
    write_page(
        path,
        "diversity.html",
        title=f"Is greedy promised to work on {source}?",
        answer=found.verdict(),
        columns=[*found.violations, *notes],
        numbers=found.numbers(terms=5),
        halves=picture(found.plot) if len(found.profile) else None,
    )
