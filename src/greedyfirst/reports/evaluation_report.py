"""An evaluation's files: all estimates as CSV, and a picture of them."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from greedyfirst.evaluation import ESTIMATORS, ArmValue, Estimate, Evaluation
from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.files.pictures import add_legend, save_picture, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = dict(zip(ESTIMATORS, ("#d1495b", "#30638e", "#edae49", "#0b6e4f"), strict=True))
MARKERS = dict(zip(ESTIMATORS, "s^Do", strict=True))


def evaluation_files(name: str) -> list[str]:
    """The names of the files about a log of this name."""
    return [f"{name}-evaluation.csv", f"{name}-evaluation.png"]


def write_evaluations(
    evaluations: Mapping[str, Evaluation], directory: Path, *, name: str
) -> list[Path]:
    """NAME-evaluation.csv and .png in ``directory``, for targets by name; their paths."""
    import pandas as pd

    table, picture = (directory / file for file in evaluation_files(name))
    frames = [made.to_frame().assign(policy=target) for target, made in evaluations.items()]
    rows = pd.concat(frames)
    with atomic_write(table) as temporary:
        rows[["policy", *(column for column in rows if column != "policy")]].to_csv(
            temporary, index=False
        )
    height = 1.6 + 0.8 * len(evaluations)
    save_picture(lambda figure: _draw(evaluations, figure), picture, size=(8.0, height))
    return [table, picture]


def evaluation_table(evaluations: Mapping[str, Evaluation], *, source: str) -> str:
    """For a terminal: a row per target and estimator."""
    some = next(iter(evaluations.values()))
    logged = some.logged
    table = Table(
        title=escape(f"{source}: what was done earned {_rounded(logged.value, logged)} a decision")
    )
    table.add_column("policy")
    table.add_column("estimator")
    for heading in ("value", f"{some.level:.0%} interval", "more than what was done"):
        table.add_column(heading, justify="right")
    for target, made in evaluations.items():
        shown = target
        for name, estimate in made.estimates.items():
            gain = made.gains[name]
            table.add_row(
                escape(shown),
                name,
                _rounded(estimate.value, estimate),
                f"{_rounded(estimate.low, estimate)} to {_rounded(estimate.high, estimate)}",
                f"{_rounded(gain.value, gain, '+')} "
                f"({_rounded(gain.low, gain, '+')} to {_rounded(gain.high, gain, '+')})",
            )
            shown = ""
        table.add_section()
    text = io.StringIO()
    Console(file=text, width=110).print(table)
    return text.getvalue().rstrip()


def arms_table(values: Mapping[str, ArmValue], *, level: float) -> str:
    """For a terminal: what each arm would pay if everyone got it, a row per arm."""
    table = Table(title="each arm for everyone (adaptively weighted)")
    table.add_column("arm")
    for heading in ("value", f"{level:.0%} interval", "decisions used", "taken"):
        table.add_column(heading, justify="right")
    for arm, made in values.items():
        found, interval = made.estimate, made.refusal or ""
        if found is not None:
            interval = f"{_rounded(found.low, found)} to {_rounded(found.high, found)}"
        table.add_row(
            escape(arm),
            "–" if found is None else _rounded(found.value, found),
            interval,
            f"{made.decisions:,}",
            f"{made.taken:,}",
        )
    text = io.StringIO()
    Console(file=text, width=110).print(table)
    return text.getvalue().rstrip()


def _rounded(value: float, estimate: Estimate, sign: str = "") -> str:
    """To two digits of the standard error, however large the value is."""
    error = estimate.standard_error
    if not math.isfinite(error) or error <= 0 or not 1e-6 < error < 1e6:
        return f"{value:{sign}.4g}"
    return f"{value:{sign}.{max(1 - math.floor(math.log10(error)), 0)}f}"


def _draw(evaluations: Mapping[str, Evaluation], figure: Figure) -> None:
    """A line per target and estimator: the estimate and its interval; what was earned behind."""
    axes = figure.add_subplot()
    logged = next(iter(evaluations.values())).logged
    axes.axvspan(logged.low, logged.high, color="0.9", zorder=0)
    axes.axvline(logged.value, color="0.5", linewidth=1.0, zorder=1)
    handles = {}
    for row, made in enumerate(evaluations.values()):
        for place, (name, estimate) in enumerate(made.estimates.items()):
            height = row + 0.16 * (place - 1.5)
            handles[name] = axes.errorbar(
                estimate.value,
                height,
                xerr=[[estimate.value - estimate.low], [estimate.high - estimate.value]],
                color=COLOURS[name],
                marker=MARKERS[name],
                markersize=5,
                capsize=2,
                linewidth=1.4,
                linestyle="none",
            )
    axes.set_yticks(
        range(len(evaluations)), [shortened(target) for target in evaluations], parse_math=False
    )
    axes.set_ylim(len(evaluations) - 0.5, -0.5)
    axes.set_xlabel("mean reward per decision; grey: what the log earned")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    add_legend(axes, list(handles.values()), list(handles), **beside)
