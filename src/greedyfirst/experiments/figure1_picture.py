"""The picture of Figure 1."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from greedyfirst.experiments.figure1 import (
    GREEDY_FIRST_PULLS,
    INITIAL_PULLS,
    LAMBDA0,
    T0,
    Figure1,
)
from greedyfirst.files.pictures import save_picture

COLOURS = {2: "#d1495b", 5: "#edae49", 20: "#0b6e4f", 100: "#30638e"}
LAMBDA0_COLOURS = ("#30638e", "#d1495b")


def draw(result: Figure1, path: Path) -> None:
    """Two panels: the Greedy Bandit for several m, and Greedy-First."""
    save_picture(partial(_panels, result), path, size=(11.0, 5.6))


def _panels(result: Figure1, figure: Figure) -> None:
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    left.set_ylabel("probability")
    _draw_greedy(result, left)
    _draw_greedy_first(result, right)


def _draw_greedy(result: Figure1, axes: Axes) -> None:
    styles: dict[str, tuple[Any, float, str]] = {
        "printed": ("-", 1.9, "Theorem 2, as printed"),
        "proved": (":", 1.3, "Theorem 2, as proved"),
        "inside": ("--", 1.3, "simulated: estimates stay inside"),
        "mild": ("-.", 1.0, "simulated: no costly decision"),
    }
    for m in INITIAL_PULLS:
        for kind, (line, width, _) in styles.items():
            curve = result.curve(kind, m)
            axes.plot(curve.sigma, curve.value, color=COLOURS[m], linestyle=line, linewidth=width)
    colours = [Line2D([], [], color=COLOURS[m], label=f"m = {m}") for m in INITIAL_PULLS]
    lines = [
        Line2D([], [], color="#4a4a4a", linestyle=line, linewidth=width, label=label)
        for line, width, label in styles.values()
    ]
    _finish(axes, "Greedy Bandit", [*colours, *lines])


def _draw_greedy_first(result: Figure1, axes: Axes) -> None:
    m = GREEDY_FIRST_PULLS
    reference = result.curve("printed", m)
    axes.plot(reference.sigma, reference.value, color=COLOURS[m], linewidth=1.3, label="Theorem 2")
    for lambda0, colour, line in zip(LAMBDA0, LAMBDA0_COLOURS, ("-", (0, (5, 2))), strict=True):
        curve = result.curve("printed", m, lambda0)
        label = f"Theorem 4, λ₀ = {lambda0:g}"
        axes.plot(curve.sigma, curve.value, color=colour, linestyle=line, label=label)
    for lambda0, colour, marker in zip(LAMBDA0, LAMBDA0_COLOURS, ("o", "x"), strict=True):
        curve = result.curve("stays greedy", m, lambda0)
        label = f"simulated: stays greedy, λ₀ = {lambda0:g}"
        axes.plot(
            curve.sigma,
            curve.value,
            marker,
            color=colour,
            markersize=4,
            fillstyle="none",
            label=label,
        )
    _finish(axes, f"Greedy-First, m = {m}, t₀ = {T0}", None)


def _finish(axes: Axes, title: str, handles: list[Any] | None) -> None:
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.04)
    axes.set_xlabel("noise σ")
    axes.set_title(title, fontsize=11)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    # Below the axes: the curves leave no corner free.
    axes.legend(
        handles=handles,
        frameon=False,
        fontsize=8.5,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
    )
