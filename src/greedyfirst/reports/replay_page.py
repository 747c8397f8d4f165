"""A replay's files: curves as CSV and PNG, and one page with everything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.experiments.experiment import write_curves
from greedyfirst.pictures import save_picture
from greedyfirst.replay.replay import GREEDY_FIRST, Replay
from greedyfirst.replay.verdict import verdict
from greedyfirst.reports.html_page import HtmlPage
from greedyfirst.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_replay(replay: Replay, directory: Path, *, name: str) -> list[Path]:
    """NAME-replay.csv, .png, .html and -schema.json in ``directory``; their paths."""
    table, picture, page, schema = (
        directory / f"{name}-{ending}"
        for ending in ("replay.csv", "replay.png", "replay.html", "schema.json")
    )
    write_curves(replay.result, table, per_decision=True)
    save_picture(
        lambda figure: draw_curves(replay, figure.add_subplot(), title=replay.source), picture
    )
    _write_page(replay, page)
    replay.schema.save(schema)
    return [table, picture, page, schema]


def measure(replay: Replay) -> str:
    """What the curves show."""
    return "share of wrong decisions" if replay.counts_errors else "regret per decision"


def draw_curves(replay: Replay, axes: Axes, *, title: str | None = None) -> None:
    """What each policy has cost so far, per decision."""
    replay.result.plot(axes, title=title, per_decision=measure(replay))


def _write_page(replay: Replay, path: Path) -> None:
    result = replay.result
    page = HtmlPage(f"Would greedy have been enough on {replay.source}?")
    for sentence in verdict(replay):
        page.verdict(sentence)
    page.heading("What each policy costs")
    page.paragraph(
        f"{result.horizon} rows in {result.n_instances} random orders, the same for all policies; "
        "± is half a 95 % confidence interval."
    )
    page.table(
        ["policy", measure(replay), "±", "switched"],
        [
            [name, *replay.cells(place), str(result.switches.get(name, ""))]
            for place, name in _in_order(replay)
        ],
    )
    page.picture(
        lambda axes: draw_curves(replay, axes),
        text=f"{measure(replay)} against decisions, for each policy",
    )
    page.heading("How often each arm was chosen")
    page.table(
        ["policy", *replay.arms],
        [
            [name, *(f"{share:.1%}" for share in replay.pull_shares[place])]
            for place, name in _in_order(replay)
        ],
    )
    page.picture(lambda axes: _draw_shares(replay, axes), text="Share of pulls of each arm")
    if GREEDY_FIRST in result.policies and replay.reasons(GREEDY_FIRST):
        page.heading("Why Greedy-First switched")
        page.table(
            ["arm", "orders", "median round", "samples say least about"],
            [
                [arm, str(count), f"{rounds:.0f}", direction]
                for arm, count, rounds, direction in replay.reasons(GREEDY_FIRST)
            ],
        )
    page.write(path, footer=f"greedyfirst {__version__}, seed {result.seed}")


def _in_order(replay: Replay) -> list[tuple[int, str]]:
    """Places and names of policies, best first."""
    order = np.argsort(replay.final, kind="stable")
    return [(int(place), replay.result.policies[place]) for place in order]


def _draw_shares(replay: Replay, axes: Axes) -> None:
    """Stacked bars, best policy on top."""
    rows = _in_order(replay)[::-1]
    left = np.zeros(len(rows))
    for arm, name in enumerate(replay.arms):
        shares = np.array([replay.pull_shares[place, arm] for place, _ in rows])
        axes.barh([policy for _, policy in rows], shares, left=left, label=name)
        left += shares
    axes.set_xlabel("share of decisions")
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        frameon=False,
        title="arm",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=1 + len(replay.arms) // 16,
    )
