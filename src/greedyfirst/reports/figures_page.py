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
from greedyfirst.reports.pages import image, write_page
from greedyfirst.simulation.result import counted
from greedyfirst.simulation.streaming import half_width_text


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
    write_page(
        path,
        "figures.html",
        title="Mostly exploration-free algorithms: the paper's figures, made again",
        answer=_verdict(made),
        compared=_all_comparisons(made),
        missing=missing,
        figures=[
            {
                "title": figure.title,
                "picture": image(figure.picture.read_bytes()),
                "published": figure.name in PUBLISHED,
                "ends": _ends(figure),
                "switches": _switches(figure),
            }
            for figure in made
        ],
        instances=_number(instances),
        seed=seed,
    )


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


def _all_comparisons(made: Sequence[MadeFigure]) -> list[list[str]]:
    """A row for each published end, the furthest first."""
    ends = {figure.title: figure.final for figure in made}
    return [
        [
            each.label,
            title.partition(":")[0],
            *_cells(ends[title][each.label]),
            *_cells(PUBLISHED[each.figure][each.label]),
            f"{each.z:+.1f}",
            f"{each.p_value:.3f}",
        ]
        for title, each in sorted(_comparisons(made), key=lambda each: -abs(each[1].z))
    ]


def _ends(figure: MadeFigure) -> list[list[str]]:
    """What each curve ends at, beside the published end where there is one."""
    if figure.name not in PUBLISHED:
        return [[label, *_cells(ours)] for label, ours in figure.final.items()]
    published = PUBLISHED[figure.name]
    apart = {each.label: each.z for each in compare(figure.name, figure.final)}
    return [
        [
            label,
            *_cells(ours),
            *(_cells(published[label]) if label in published else ("", "")),
            f"{apart[label]:+.1f}" if label in apart else "",
        ]
        for label, ours in figure.final.items()
    ]


def _switches(figure: MadeFigure) -> list[list[str]]:
    """How often Greedy-First switched, where the published figure says how often it did."""
    published = PUBLISHED_SWITCHES.get(figure.name)
    if published is None or figure.name not in PUBLISHED:
        return []
    return [
        [
            label,
            str(count),
            str(figure.final[label].runs),
            str(published),
            f"{switches_apart(count, figure.final[label].runs, published):+.1f}",
        ]
        for label, count in figure.switches.items()
    ]


def _cells(value: Final) -> tuple[str, str]:
    """With the digits that shares or sums of regret need."""
    digits = 4 if abs(value.mean) < 1 else 2
    return f"{value.mean:.{digits}f}", half_width_text(value.half_width, f".{digits}f")
