"""The covariate diversity of a table's contexts, as a page."""

from __future__ import annotations

from pathlib import Path

from greedyfirst.reports.html_page import HtmlPage
from greedyfirst.theory import CovariateDiversity
from greedyfirst.version import __version__


def write_diversity_page(found: CovariateDiversity, path: Path, *, source: str) -> None:
    """Verdict, numbers, what is wrong with columns, and the picture."""
    page = HtmlPage(f"Is greedy safe on {source}?")
    page.verdict(found.verdict())
    page.paragraph(
        "Greedy needs no exploration if, whatever half of the contexts an arm receives, they still "
        "vary in every direction. λ₀ is how much they vary in the weakest one: 0 means that some "
        "half tells nothing about some direction (Assumption 3 of the paper)."
    )
    page.heading("Numbers")
    low, high = found.sampling.bootstrap
    page.table(
        ["", "value", ""],
        [
            ["rows", f"{found.n_rows}", ""],
            ["columns", f"{len(found.feature_names)}", f"rank {found.rank}"],
            ["λ₀ of the sample, at most", f"{found.upper:.6g}", "attained by the half-space below"],
            ["λ₀ of the sample, at least", f"{found.lower:.6g}", found.lower_reason],
            ["if contexts were symmetric", f"{found.ceiling:.6g}", "half of λ_min(E xx')"],
            [
                f"{found.sampling.confidence:.0%} bootstrap of it",
                f"{low:.6g} to {high:.6g}",
                "on rows that the search has not seen",
            ],
        ],
    )
    page.heading("The weakest half")
    page.paragraph(
        f"Contexts with x'u ≥ 0 for u = {found.name_direction(found.witness, terms=5)}: "
        f"{found.kept_rows} of {found.n_rows} rows. They vary least in the direction "
        f"{found.name_direction(found.weakest, terms=5)}."
    )
    if found.violations:
        page.heading("Columns to look at")
        page.items(found.violations)
    if len(found.profile):
        page.heading("Other halves")
        page.picture(found.plot, text="Smallest eigenvalue kept by random half-spaces")
    page.write(path, footer=f"greedyfirst {__version__}")
