"""Regret curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from greedyfirst.files.pictures import SIZE, add_legend

if TYPE_CHECKING:
    from greedyfirst.simulation.result import SimulationResult

#: One colour and line style per policy, the same in every figure; others follow the list's rest.
STYLES = {
    "Greedy-First": ("#0b6e4f", "-"),
    "Greedy": ("#d1495b", "--"),
    "OLS Bandit": ("#30638e", "-."),
    "OFUL": ("#edae49", "-"),
    "Prior-free TS": ("#7d5ba6", ":"),
    "Prior-dependent TS": ("#4a4a4a", (0, (3, 1, 1, 1))),
}
OTHERS = ("#c44900", "#5c7aea", "#8f2d56", "#7a9e00", "#00798c", "#1b998b")
#: Colours of a family of curves run along this map, short of its yellow end.
FAMILY_MAP, FAMILY_END = "plasma", 0.88
FAMILY_LINES = ("-", "--", "-.")
BAND_OPACITY, FAMILY_BAND_OPACITY = 0.18, 0.1  # bands of a family lie over one another


def plot_curves(
    result: SimulationResult,
    ax: Axes | None = None,
    *,
    title: str | None = None,
    family: bool = False,
    per_decision: str | None = None,
) -> Axes:
    """Mean regret with 95 % bands; divided by t under the name ``per_decision``, if that is given.

    The legend lists policies in the order of their last means. In a ``family`` they differ in one
    parameter: colours and the legend, beside the curves, follow the order of the policies. Names
    and the title are shown as they are, never as formulas.
    """
    ax = _new_axes() if ax is None else ax
    order = list(range(len(result.policies)))
    if not family:
        order.sort(key=lambda place: -result.mean[place, -1])
    styles = _family_styles(len(order)) if family else styles_of(result.policies)
    opacity = FAMILY_BAND_OPACITY if family else BAND_OPACITY
    lines = []
    for place in order:
        colour, line = styles[place]
        over = result.steps if per_decision is not None else 1.0
        mean, half = result.mean[place] / over, result.half_width[place] / over
        lines += ax.plot(
            result.steps,
            mean,
            color=colour,
            linestyle=line,
            label=result.policies[place],
            linewidth=1.8,
            zorder=2 + (line != "-"),  # where curves are the same, both are seen
        )
        if result.n_instances > 1:
            ax.fill_between(
                result.steps, mean - half, mean + half, color=colour, alpha=opacity, linewidth=0
            )
    ax.set_xlabel("rounds t")
    ax.set_ylabel("mean cumulative regret" if per_decision is None else per_decision)
    ax.set_xlim(0, result.horizon)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    # Curves of a family, or per decision, leave no corner free.
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    names = [result.policies[place] for place in order]
    add_legend(ax, lines, names, **(beside if family or per_decision is not None else {}))
    if title is not None:
        ax.set_title(title, fontsize=11, parse_math=False)
    return ax


def plot_boxes(
    result: SimulationResult, ax: Axes | None = None, *, symbol: str, values: Sequence[float]
) -> Axes:
    """Regret at the horizon: quartiles, whiskers at 5 and 95 %, a diamond at the mean."""
    ax = _new_axes() if ax is None else ax
    keys = ("whislo", "q1", "med", "q3", "whishi")
    boxes = [
        {**dict(zip(keys, numbers, strict=True)), "mean": mean, "label": f"{value:g}"}
        for numbers, mean, value in zip(
            result.final_quantiles, result.final.mean(axis=0), values, strict=True
        )
    ]
    drawn = ax.bxp(
        boxes,
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        widths=0.6,
        medianprops={"color": "black"},
        meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black"},
    )
    for box, (colour, _) in zip(drawn["boxes"], _family_styles(len(boxes)), strict=True):
        box.set_facecolor(colour)
        box.set_alpha(0.6)
    ax.set_yscale("log")
    ax.set_xlabel(symbol)
    ax.set_ylabel(f"regret at T = {result.horizon}")
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("quartiles, 5 % and 95 %, mean (diamond)", fontsize=11)
    return ax


def _new_axes() -> Axes:
    return Figure(figsize=SIZE, layout="constrained").add_subplot()


def styles_of(names: Sequence[str]) -> list[tuple[Any, Any]]:
    """A colour and a line style for each policy."""
    rest = cycle(OTHERS)
    return [STYLES[name] if name in STYLES else (next(rest), "-") for name in names]


def _family_styles(size: int) -> list[tuple[Any, Any]]:
    """Colours along the map; line styles take turns, to tell neighbours apart."""
    colours = colormaps[FAMILY_MAP](np.linspace(0.0, FAMILY_END, size))
    return list(zip(colours, cycle(FAMILY_LINES), strict=False))
