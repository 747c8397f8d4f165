"""The ratios of the field as a table in Markdown and as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from greedyfirst.files.pictures import save_picture
from ratios_of_the_field import geometric_mean

#: From which ratio on cells are as dark as can be, and from which on their words are white.
DARKEST, WHITE = 10.0, 4.0


def geometric_means(rows: pd.DataFrame, sampled: bool) -> pd.DataFrame:
    """Of each policy over the problems that it played: mean, standard error, number of them."""
    found = {}
    for policy, own in rows.groupby("policy", sort=False):
        errors = None if sampled else own["ratio_se"].to_numpy()
        found[policy] = (*geometric_mean(own["ratio"].to_numpy(), errors), len(own))
    return pd.DataFrame.from_dict(found, orient="index", columns=["mean", "error", "problems"])


def markdown(rows: pd.DataFrame, *, sampled: bool) -> str:
    """Policies by their geometric mean over all problems, and over each kind of several.

    ``sampled``: the problems are drawn at random, and standard errors are for others of their law.
    """
    kinds = list(dict.fromkeys(rows["kind"]))
    everything = geometric_means(rows, sampled).sort_values("mean")
    columns = {"all": everything}
    if len(kinds) > 1:
        columns |= {kind: geometric_means(rows[rows["kind"] == kind], sampled) for kind in kinds}
    lines = [
        f"| policy | {' | '.join(columns)} | worst | on | problems |",
        "|---" * (len(columns) + 4) + "|",
    ]
    for policy in everything.index:
        own = rows[rows["policy"] == policy]
        worst = own.loc[own["ratio"].idxmax()]
        cells = [_cell(column, policy) for column in columns.values()]
        number = everything.loc[policy, "problems"]
        high = f"{worst['ratio']:.3g} ± {worst['ratio_se']:.2g}"
        where = worst["problem"]
        lines.append(f"| `{policy}` | {' | '.join(cells)} | {high} | {where} | {number:.0f} |")
    return "\n".join(lines)


def _cell(column: pd.DataFrame, policy: str) -> str:
    if policy not in column.index:
        return ""
    return f"{column.loc[policy, 'mean']:.3f} ± {column.loc[policy, 'error']:.3f}"


def picture(rows: pd.DataFrame, path: Path) -> None:
    """A row per problem, a column per policy, dark where the ratio is high."""
    shown = rows.pivot(index="problem", columns="policy", values="ratio")
    shown = shown.loc[rows["problem"].unique(), np.log(shown).mean().sort_values().index]
    kinds = rows.drop_duplicates("problem").set_index("problem")["kind"]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        drawn = axes.imshow(
            shown.clip(1.0, DARKEST), norm=LogNorm(1.0, DARKEST), cmap="YlOrRd", aspect="auto"
        )
        axes.set_xticks(range(len(shown.columns)), shown.columns, rotation=40, ha="right")
        axes.set_yticks(range(len(shown)), shown.index)
        for i, j in np.ndindex(*shown.shape):
            value = shown.iat[i, j]
            if np.isfinite(value):
                words = f"{value:.2f}" if value < DARKEST else f"{value:.0f}"
                colour = "white" if value > WHITE else "black"
                axes.text(j, i, words, ha="center", va="center", fontsize=7, color=colour)
        borders = np.flatnonzero(kinds.to_numpy()[1:] != kinds.to_numpy()[:-1])
        for border in borders:
            axes.axhline(border + 0.5, color="black", linewidth=1.5)
        axes.set_title(
            "Mean regret over the best policy's (1: as good as that); "
            + ", then ".join(f"{kind} problems" for kind in dict.fromkeys(kinds))
            + "; blank: not played"
        )
        bar = figure.colorbar(drawn, ax=axes, shrink=0.4, ticks=[1, 2, 5, 10])
        bar.ax.set_yticklabels(["1", "2", "5", "10 or more"])

    save_picture(draw, path, size=(14.0, 0.24 * len(shown) + 3.5))
