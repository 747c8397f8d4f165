"""The covariate diversity of a table's contexts, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greedyfirst.reports.html_page import HtmlPage
from greedyfirst.theory import CovariateDiversity
from greedyfirst.version import __version__


def write_diversity_page(
    found: CovariateDiversity, path: Path, *, source: str, notes: Sequence[str] = ()
) -> None:
    """Verdict, what is to be known about columns, numbers, and the picture."""
    page = HtmlPage(f"Is greedy promised to work on {source}?")
    page.verdict(found.verdict())
    page.paragraph(
        "Greedy needs no exploration if every half of the contexts varies in every direction, "
        "since each of two arms then learns about all directions from the contexts that it gets. "
        "λ₀ is how much the weakest half varies in its weakest direction: 0 means that some half "
        "tells nothing about some direction (Assumption 3 of the paper)."
    )
    if found.violations or notes:
        page.heading("Columns to look at")
        page.items([*found.violations, *notes])
    page.heading("Numbers")
    page.table(["", ""], found.numbers(terms=5))
    if len(found.profile):
        page.heading("Other halves")
        page.picture(found.plot, text="Smallest eigenvalue kept by random half-spaces")
    page.write(path, footer=f"greedyfirst {__version__}")
