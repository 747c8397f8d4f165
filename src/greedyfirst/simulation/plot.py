"""Regret curves as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
OTHERS = ("#1b998b", "#c44900", "#5c7aea", "#8f2d56", "#7a9e00", "#00798c")
# Past this ratio between the highest curve and the second the legend gives the numbers as well.
BAND_OPACITY = 0.18


def plot_curves(
    result: SimulationResult, axes: Axes | None = None, *, title: str | None = None
) -> Axes:
    """Mean regret with 95 % bands; the legend lists policies in the order of their last means."""
    if axes is None:
        axes = Figure(figsize=(7.2, 4.6), layout="constrained").add_subplot()
    order = sorted(range(len(result.policies)), key=lambda place: -result.mean[place, -1])
    rest = iter(OTHERS * len(order))
    styles = {
        name: STYLES[name] if name in STYLES else (next(rest), "-") for name in result.policies
    }
    for place in order:
        name = result.policies[place]
        colour, line = styles[name]
        mean, half = result.mean[place], result.half_width[place]
        axes.plot(result.steps, mean, color=colour, linestyle=line, label=name, linewidth=1.8)
        axes.fill_between(
            result.steps, mean - half, mean + half, color=colour, alpha=BAND_OPACITY, linewidth=0
        )
    axes.set_xlabel("rounds t")
    axes.set_ylabel("mean cumulative regret")
    axes.set_xlim(0, result.horizon)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if title is not None:
        axes.set_title(title, fontsize=11)
    return axes
