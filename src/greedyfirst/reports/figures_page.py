"""All figures of the paper on one page, beside the published numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greedyfirst.experiments.published import PUBLISHED, Final, standard_errors_apart
from greedyfirst.reports.html_page import HtmlPage
from greedyfirst.simulation.result import counted
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.version import __version__

#: A difference that chance hardly explains: 0.3 % of curves that agree are as far apart.
FAR = 3.0


class MadeFigure(NamedTuple):
    """A figure that was made."""

    name: str
    title: str
    picture: Path
    #: What its curves end at, by label; empty where that says nothing.
    final: Mapping[str, Final]


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
        "standard errors: between -3 and 3 where the two agree up to chance. With fewer than some "
        "30 instances the standard errors are rough themselves, and one instance has none."
    )
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


def _compared(figure: MadeFigure) -> dict[str, float]:
    """z of each curve whose published end is known, and whose own spread is."""
    published = PUBLISHED.get(figure.name, {})
    return {
        label: standard_errors_apart(ours, published[label])
        for label, ours in figure.final.items()
        if label in published and not math.isnan(ours.half_width)
    }


def _verdict(made: Sequence[MadeFigure]) -> str:
    apart = [z for figure in made for z in _compared(figure).values()]
    if not apart:
        return f"{len(made)} figures; nothing that can be compared with published numbers."
    close = sum(abs(z) <= FAR for z in apart)
    return (
        f"{len(made)} figures; {close} of the {len(apart)} curves with known published numbers end "
        f"within {FAR:g} joint standard errors of them."
    )


def _add_numbers(page: HtmlPage, figure: MadeFigure) -> None:
    published, apart = PUBLISHED.get(figure.name, {}), _compared(figure)
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


def _cells(value: Final) -> tuple[str, str]:
    """With the digits that shares or sums of regret need."""
    digits = 4 if abs(value.mean) < 1 else 2
    return f"{value.mean:.{digits}f}", half_width_text(value.half_width, f".{digits}f")
