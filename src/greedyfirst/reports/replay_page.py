"""A replay's files: curves as CSV and PNG, and one page with everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.experiments.experiment import write_curves
from greedyfirst.files.pictures import add_legend, save_picture, shortened
from greedyfirst.replay.played import GREEDY_FIRST, MEANINGS
from greedyfirst.replay.replay import LATE, Replay
from greedyfirst.replay.verdict import verdict
from greedyfirst.reports.pages import picture, write_page
from greedyfirst.simulation.plot import styles_of
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: As many arms have colours that can be told apart; of more, the rest share a grey.
COLOURS, GREY = 10, "#d0d0d0"
TITLE_LENGTH = 50  # characters


def replay_files(name: str) -> list[str]:
    """The names of the files about a table of this name."""
    return [f"{name}-{end}" for end in ("replay.csv", "replay.png", "replay.html", "schema.json")]


def write_replay(
    replay: Replay,
    directory: Path,
    *,
    name: str,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> list[Path]:
    """NAME-replay.csv, .png, .html and -schema.json in ``directory``; their paths.

    The page shows the ``command`` that made it, if it is given, and ``notes`` on the table.
    """
    table, curves, page, schema = (directory / file for file in replay_files(name))
    write_curves(replay.result, table, per_decision=True)
    title = shortened(replay.source, TITLE_LENGTH)
    save_picture(lambda figure: draw_curves(replay, figure.add_subplot(), title=title), curves)
    _write_page(replay, page, command, notes)
    replay.schema.save(schema)
    return [table, curves, page, schema]


def measure(replay: Replay) -> str:
    """What the curves show."""
    return "share of wrong decisions" if replay.counts_errors else "regret per decision"


def draw_curves(replay: Replay, axes: Axes, *, title: str | None = None) -> None:
    """What each policy has cost so far, per decision, and where first pulls end."""
    replay.result.plot(axes, title=title, per_decision=measure(replay))
    end = replay.initial_pulls * len(replay.arms)
    if end > 0 and replay.tried_pulls:
        axes.axvline(end, color="0.6", linewidth=1.0, linestyle=":")


def draw_recent(replay: Replay, axes: Axes) -> None:
    """What each policy costs per decision over the last tenth of the points."""
    result = replay.result
    back = max(len(result.steps) // 10, 1)
    steps, mean = result.steps, result.mean
    for place, (colour, line) in enumerate(styles_of(result.policies)):
        recent = (mean[place, back:] - mean[place, :-back]) / (steps[back:] - steps[:-back])
        name = shortened(result.policies[place])
        axes.plot(steps[back:], recent, label=name, color=colour, linestyle=line, linewidth=1.4)
    axes.set_xlabel("decisions")
    axes.set_ylabel(f"{measure(replay)}, lately")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    lines, names = axes.get_legend_handles_labels()
    add_legend(axes, lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _write_page(replay: Replay, path: Path, command: str | None, notes: Sequence[str]) -> None:
    result, order = replay.result, _in_order(replay)
    starved = replay.reasons(GREEDY_FIRST) if GREEDY_FIRST in result.policies else []
    write_page(
        path,
        "replay.html",
        title=f"Would greedy have been enough on {replay.source}?",
        answer=verdict(replay),
        facts=_facts(replay, command),
        counts_errors=replay.counts_errors,
        arm_shares=[
            [arm, f"{share:.1%}"] for arm, share in zip(replay.arms, replay.arm_shares, strict=True)
        ],
        notes=notes,
        n_rows=result.horizon,
        n_orders=result.n_instances,
        measure=measure(replay),
        late=f"last {LATE:.0%}",
        costs=[
            [name, *replay.cells(place), replay.alarms(name), MEANINGS.get(name, "")]
            for place, name in order
        ],
        curves=picture(lambda axes: draw_curves(replay, axes)),
        recent=picture(lambda axes: draw_recent(replay, axes)) if len(result.steps) > 1 else None,
        arms=list(replay.arms),
        pulls=[
            [name, *(f"{share:.1%}" for share in replay.pull_shares[place])]
            for place, name in order
        ],
        shares=picture(lambda axes: draw_shares(replay, axes)),
        starved=[
            [arm, str(count), f"{rounds:.0f}", direction]
            for arm, count, rounds, direction in starved
        ],
        seed=result.seed,
    )


def _facts(replay: Replay, command: str | None) -> list[list[str]]:
    """What was played on what."""
    pulls = replay.initial_pulls
    rows = [
        ["rows", f"{replay.result.horizon:,}"],
        ["arms (K)", str(len(replay.arms))],
        ["features (d), encoded", str(replay.schema.n_features)],
        ["intercept", "yes" if replay.schema.intercept else "no"],
    ]
    if replay.tried_pulls:
        rows.append(["first pulls of each arm", f"{pulls}: the first {pulls * len(replay.arms)}"])
    if command is not None:
        rows.append(["command", command])
    return rows


def _in_order(replay: Replay) -> list[tuple[int, str]]:
    """Places and names of policies, best first."""
    order = np.argsort(replay.final, kind="stable")
    return [(int(place), replay.result.policies[place]) for place in order]


def _drawn_shares(replay: Replay) -> list[tuple[str, FloatArray, str]]:
    """Name, share of each policy and colour of arms; of many the most chosen, and the others."""
    shares, arms = replay.pull_shares, replay.arms
    many = len(arms) > COLOURS
    order = np.argsort(-shares.sum(axis=0), kind="stable")
    kept, rest = np.split(order, [COLOURS - 1 if many else COLOURS])
    drawn = [(arms[arm], shares[:, arm], f"C{colour}") for colour, arm in enumerate(np.sort(kept))]
    if many:
        drawn.append((f"{len(rest)} others", shares[:, rest].sum(axis=1), GREY))
    return drawn


def draw_shares(replay: Replay, axes: Axes) -> None:
    """Stacked bars, best policy on top."""
    rows = _in_order(replay)[::-1]
    places = [place for place, _ in rows]
    left = np.zeros(len(rows))
    bars, names = [], []
    for name, shares, colour in _drawn_shares(replay):
        bars.append(axes.barh(range(len(rows)), shares[places], left=left, color=colour))
        names.append(name)
        left += shares[places]
    axes.set_yticks(range(len(rows)), [shortened(name) for _, name in rows], parse_math=False)
    axes.set_xlabel("share of decisions")
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    add_legend(axes, bars, names, title="arm", loc="center left", bbox_to_anchor=(1.0, 0.5))
