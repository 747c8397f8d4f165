"""All figures of the paper on one page, beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greedyfirst.experiments.published import (
    FALSE_ALARMS,
    PUBLISHED,
    PUBLISHED_SWITCHES,
    Comparison,
    Final,
    agree,
    compare,
    switches_apart,
)
from greedyfirst.reports.html_page import HtmlPage
from greedyfirst.simulation.result import counted
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.version import __version__


class MadeFigure(NamedTuple):
    """A figure that was made."""

    #: That of the published figure.
    name: str
    title: str
    picture: Path
    #: What its curves end at, by label; empty where that says nothing.
    final: Mapping[str, Final]
    #: In how many instances each Greedy-First switched, by label.
    switches: Mapping[str, int]


def write_figures_page(
    made: Sequence[MadeFigure],
    missing: Mapping[str, str],
    path: Path,
    *,
    instances: int | None,
    seed: int,
) -> None:
    """Each figure with its picture and end values.

    ``missing`` gives titles and reasons; ``instances`` is ``None`` for the paper's number.
    """
    page = HtmlPage("Mostly exploration-free algorithms: the paper's figures, made again")
    page.verdict(_verdict(made))
    page.paragraph(
        "± is half a 95 % confidence interval over instances, at the last t that is plotted. The "
        "published numbers were read off the paper's figures. z is the difference in joint "
        "standard errors. p is the chance of means as far apart if both have one law (Student's "
        "t-test: with one spread, which the side of more runs tells best); over all curves the "
        "smallest p is judged (Bonferroni). One instance has no standard error and is not compared."
    )
    _add_all_comparisons(page, made)
    if missing:
        page.heading("Left out")
        page.items([f"{title}: {reason}" for title, reason in missing.items()])
    for figure in made:
        page.heading(figure.title)
        page.image(figure.picture.read_bytes(), text=figure.title)
        _add_numbers(page, figure)
    page.write(path, footer=f"greedyfirst {__version__}, {_number(instances)}, seed {seed}")


def _number(instances: int | None) -> str:
    if instances is None:
        return "as many instances as the paper or more"
    return counted(instances, "instance")


def _comparisons(made: Sequence[MadeFigure]) -> list[tuple[str, Comparison]]:
    """Every comparison with a published end, under its figure's title."""
    return [(figure.title, each) for figure in made for each in compare(figure.name, figure.final)]


def _verdict(made: Sequence[MadeFigure]) -> str:
    found = _comparisons(made)
    figures = counted(len(made), "figure")
    if not found:
        return f"{figures}; nothing that can be compared with published numbers."
    title, furthest = max(found, key=lambda each: abs(each[1].z))
    together = "agree" if agree([each for _, each in found]) else "do not agree"
    return (
        f"{figures}; {counted(len(found), 'published end value')} beside ours: taken together they "
        f"{together}, at a false-alarm rate of {100 * FALSE_ALARMS:g} %. The largest |z| is "
        f"{abs(furthest.z):.1f} ({furthest.label} in {title})."
    )


def _add_all_comparisons(page: HtmlPage, made: Sequence[MadeFigure]) -> None:
    """One table of all published ends, the furthest first."""
    found = sorted(_comparisons(made), key=lambda each: -abs(each[1].z))
    if not found:
        return
    ends = {figure.title: figure.final for figure in made}
    page.heading("All published end values beside ours, the furthest apart first")
    page.table(
        ["policy", "figure", "ours", "±", "published", "±", "z", "p"],
        [
            [
                each.label,
                title.partition(":")[0],
                *_cells(ends[title][each.label]),
                *_cells(PUBLISHED[each.figure][each.label]),
                f"{each.z:+.1f}",
                f"{each.p_value:.3f}",
            ]
            for title, each in found
        ],
    )


def _add_numbers(page: HtmlPage, figure: MadeFigure) -> None:
    published = PUBLISHED.get(figure.name, {})
    apart = {each.label: each.z for each in compare(figure.name, figure.final)}
    if not figure.final:
        page.paragraph("Its curves are probabilities against the noise: no end values to compare.")
        return
    if not published:
        page.paragraph("No published numbers are known for this figure.")
        page.table(
            ["policy", "ours", "±"],
            [[label, *_cells(ours)] for label, ours in figure.final.items()],
        )
        return
    page.table(
        ["policy", "ours", "±", "published", "±", "z"],
        [
            [
                label,
                *_cells(ours),
                *(_cells(published[label]) if label in published else ("", "")),
                f"{apart[label]:+.1f}" if label in apart else "",
            ]
            for label, ours in figure.final.items()
        ],
    )
    _add_switches(page, figure)


def _add_switches(page: HtmlPage, figure: MadeFigure) -> None:
    """How often Greedy-First switched, where the published figure says how often it did."""
    published = PUBLISHED_SWITCHES.get(figure.name)
    if published is None or not figure.switches:
        return
    page.table(
        ["policy", "switches", "instances", "published, of 1000", "z"],
        [
            [
                label,
                str(count),
                str(figure.final[label].runs),
                str(published),
                f"{switches_apart(count, figure.final[label].runs, published):+.1f}",
            ]
            for label, count in figure.switches.items()
        ],
    )


def _cells(value: Final) -> tuple[str, str]:
    """With the digits that shares or sums of regret need."""
    digits = 4 if abs(value.mean) < 1 else 2
    return f"{value.mean:.{digits}f}", half_width_text(value.half_width, f".{digits}f")
