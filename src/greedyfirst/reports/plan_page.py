"""A plan's files: numbers as CSV, a picture, and one page that a committee can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.files.pictures import add_legend, save_picture
from greedyfirst.planning.plan import ADAPTIVE, FIXED, Plan
from greedyfirst.planning.wording import (
    COSTS,
    DESIGN,
    LEARNED,
    QUESTION,
    answer,
    assumptions,
    method,
    needed_rows,
    precision,
    rows,
)
from greedyfirst.reports.pages import picture, write_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILES = ("plan.csv", "plan.png", "plan.html")
COLOURS = {ADAPTIVE: "#0b6e4f", FIXED: "#30638e"}
MARKERS = {ADAPTIVE: "o", FIXED: "s"}
TWO_PANELS = (12.0, 4.6)  # inches
ERROR_BAR = 2  # standard errors: 95 %


def write_plan(
    plan: Plan, directory: Path, *, command: str | None = None, notes: Sequence[str] = ()
) -> list[Path]:
    """plan.csv, plan.png and plan.html in ``directory``; their paths.

    The page shows the ``command`` that made it, if it is given, and ``notes`` on the table.
    """
    table, curves, page = (directory / name for name in FILES)
    plan.frame.to_csv(table, index=False)
    save_picture(lambda figure: _draw_both(plan, figure), curves, size=TWO_PANELS)
    _write_page(plan, page, command, notes)
    return [table, curves, page]


def draw_people(plan: Plan, axes: Axes) -> None:
    """People on an arm that is not best for them, against the size of the trial."""
    sizes = np.array(plan.people)
    lines = []
    for design in (ADAPTIVE, FIXED):
        found = [plan.row(size, design) for size in plan.people]
        count = sizes * np.array([row["not_best"] for row in found])
        error = ERROR_BAR * sizes * np.array([row["not_best_se"] for row in found])
        lines.append(_line(axes, sizes, count, error, design, "-"))
    axes.set_ylabel("people not on their best arm")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    _finish(axes, lines, [plan.names[design] for design in (ADAPTIVE, FIXED)])


def draw_precision(plan: Plan, axes: Axes) -> None:
    """Half the interval's width and the error that 95 % stay below, against the size."""
    sizes = np.array(plan.people)
    lines, names = [], []
    for column, half, style, meaning in (
        ("error_95", 1.0, "-", "error (95 %)"),
        ("width", 0.5, ":", "half interval"),
    ):
        for design in (ADAPTIVE, FIXED):
            found = [plan.row(size, design) for size in plan.people]
            value = half * np.array([row[column] for row in found])
            error = ERROR_BAR * half * np.array([row[f"{column}_se"] for row in found])
            lines.append(_line(axes, sizes, value, error, design, style))
            names.append(f"{plan.names[design]}, {meaning}")
    lines.append(axes.axhline(plan.width / 2, color="0.6", linewidth=1.0))
    names.append("wanted")
    axes.set_ylabel("difference of the best two arms, ±")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    _finish(axes, lines, names)


def _line(
    axes: Axes, sizes: np.ndarray, values: np.ndarray, errors: np.ndarray, design: str, style: str
) -> object:
    known = np.isfinite(values)
    return axes.errorbar(
        sizes[known],
        values[known],
        yerr=np.where(np.isfinite(errors), errors, 0.0)[known],
        color=COLOURS[design],
        marker=MARKERS[design],
        markersize=4,
        linestyle=style,
        linewidth=1.4,
        capsize=2,
    )


def _finish(axes: Axes, lines: list[object], names: list[str]) -> None:
    axes.set_xlabel("people in the trial")
    axes.spines[["top", "right"]].set_visible(False)
    add_legend(axes, lines, names)


def _draw_both(plan: Plan, figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    draw_people(plan, left)
    draw_precision(plan, right)


def _write_page(plan: Plan, path: Path, command: str | None, notes: Sequence[str]) -> None:
    write_page(
        path,
        "plan.html",
        title=QUESTION,
        answer=answer(plan),
        designs=[plan.names[ADAPTIVE], plan.names[FIXED]],
        needed=needed_rows(plan),
        costs={"headings": [DESIGN, *COSTS.values()], "rows": rows(plan, COSTS)},
        people=picture(lambda axes: draw_people(plan, axes)),
        learned={"headings": [DESIGN, *LEARNED.values()], "rows": rows(plan, LEARNED)},
        errors=picture(lambda axes: draw_precision(plan, axes)),
        precision=precision(plan),
        assumptions=assumptions(plan),
        notes=notes,
        method=method(plan),
        command=command,
        seed=plan.seed,
    )
