r"""An arm that is never best: Greedy-First switches "with probability 1" (§4.3).

Three arms on contexts (1, x), x those of Figure 2: :math:`x_1`, :math:`-x_1` and :math:`-h`. For
h > 0 the third arm trails by h or more everywhere. A Greedy-First that never switched would have
:math:`\lambda_{\min} \ge \lambda_0t/4` of every arm; all estimates would then come near the truth,
the third arm would not be played any more, and its :math:`\lambda_{\min}` would fall short. With
h = -0.5 it is best where :math:`|x_1| < 0.5`, and no switch is needed.

Every arm has m = 20 first pulls. λ₀ is estimated at t₀ (Algorithm 5) or given (Algorithm 3).
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from greedyfirst.experiments import figure2
from greedyfirst.experiments.experiment import ENDINGS, Experiment
from greedyfirst.experiments.published import Final
from greedyfirst.files.pictures import save_picture
from greedyfirst.policies import GreedyFirst, OLSBandit
from greedyfirst.problems import GaussianNoise, LinearProblem
from greedyfirst.simulation import SimulationResult
from greedyfirst.simulation.result import counted
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEADS = (0.5, 0.1, 0.02, -0.5)
LAMBDA0 = {"λ₀ estimated": None, "λ₀ = 0.01": 0.01, "λ₀ = 0.001": 0.001}
N_FEATURES, INITIAL_PULLS, T0 = 3, 20, 100
HORIZON, N_INSTANCES = 100_000, 400
#: Rounds at which the shares are written and drawn: from the first test on, evenly on a log scale.
STEPS = np.unique(np.geomspace(T0 + 1, HORIZON, 120).astype(np.int64))
PANELS = (11.0, 4.6)  # inches
NORMAL_95 = 1.96
COLOURS, LINES = ("#0b6e4f", "#30638e", "#edae49", "#d1495b"), ("-", "-", "-", "--")


def problem(lead: float) -> LinearProblem:
    """Arms x₁, -x₁ and -h on contexts (1, x)."""
    arms = np.zeros((3, 1 + N_FEATURES))
    arms[:2, 1] = 1.0, -1.0
    arms[2, 0] = -lead
    return LinearProblem(
        contexts=figure2.contexts(N_FEATURES, intercept=True),
        arms=arms,
        noise=GaussianNoise(sigma=figure2.SIGMA),
    )


def policy(lambda0: float | None) -> GreedyFirst:
    """The paper's Greedy-First."""
    return GreedyFirst(
        warmup="none",
        initial_pulls=INITIAL_PULLS,
        t0=T0,
        lambda0=lambda0,
        fallback=OLSBandit(h=figure2.H, q=figure2.Q, warmup="none"),
        span="full",
        carry_over=False,
    )


def shares_switched(result: SimulationResult) -> FloatArray:
    """The share of instances that have switched by each of STEPS (n_policies, n_steps)."""
    rounds = np.where(result.switched_at > 0, result.switched_at, HORIZON + 1)
    shares: FloatArray = (rounds[:, :, None] <= STEPS).mean(axis=0)
    return shares


def half_widths(shares: FloatArray, n_instances: int) -> FloatArray:
    """Half the length of each share's 95 % interval (Wilson), which is not 0 at 0 and 1."""
    z = NORMAL_95
    spread = np.sqrt(shares * (1 - shares) / n_instances + z * z / (4 * n_instances**2))
    found: FloatArray = z * spread / (1 + z * z / n_instances)
    return found


@dataclass(frozen=True, kw_only=True)
class SwitchShares(Experiment):
    """An experiment that shows how many instances have switched, not their regret."""

    def table(self, result: SimulationResult) -> str:
        """When half and when all instances had switched, for a terminal."""
        table = Table(title=f"{counted(result.n_instances, 'instance')}, T = {result.horizon}")
        table.add_column("Greedy-First")
        for heading in ("switched", "median round", "last round"):
            table.add_column(heading, justify="right")
        for place, name in enumerate(result.policies):
            rounds = result.switched_at[:, place]
            switched = rounds[rounds > 0]
            cells = (
                [f"{np.median(switched):.0f}", f"{switched.max()}"] if len(switched) else ["", ""]
            )
            table.add_row(name, f"{len(switched)}", *cells)
        text = io.StringIO()
        Console(file=text, width=100).print(table)
        return text.getvalue().rstrip()

    def final(self, result: SimulationResult) -> dict[str, Final]:
        """The share of instances that have switched."""
        shares = shares_switched(result)[:, -1]
        halves = half_widths(shares, result.n_instances)
        return {
            name: Final(float(share), float(half), result.n_instances)
            for name, share, half in zip(result.policies, shares, halves, strict=True)
        }

    def write(self, result: SimulationResult, directory: Path) -> list[Path]:
        """NAME.csv, .png and .json in ``directory``; their paths."""
        table, picture, facts = (directory / f"{self.name}{end}" for end in ENDINGS[:3])
        shares = shares_switched(result)
        halves = half_widths(shares, result.n_instances)
        with open(table, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["policy", "t", "mean", "half_width"])
            for name, own, half in zip(result.policies, shares, halves, strict=True):
                rows = zip(STEPS.tolist(), own.tolist(), half.tolist(), strict=True)
                writer.writerows([name, *row] for row in rows)
        save_picture(partial(draw, result, shares), picture, size=PANELS)
        description = self._description(result)
        facts.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        return [table, picture, facts]


def draw(result: SimulationResult, shares: FloatArray, figure: Figure) -> None:
    """A panel for each λ₀, a curve for each h."""
    panels = figure.subplots(1, len(LAMBDA0), sharey=True)
    for axes, test in zip(panels, LAMBDA0, strict=True):
        for lead, colour, line in zip(LEADS, COLOURS, LINES, strict=True):
            place = result.policies.index(label(lead, test))
            axes.step(STEPS, shares[place], where="post", color=colour, linestyle=line)
        axes.set_xscale("log")
        axes.set_ylim(-0.02, 1.04)
        axes.set_title(test, fontsize=11)
        axes.set_xlabel("rounds t")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share that has switched")
    names = [f"h = {lead:g}" if lead > 0 else f"h = {lead:g}: best in places" for lead in LEADS]
    panels[-1].legend(panels[-1].get_lines(), names, frameon=False, loc="upper left")


def label(lead: float, test: str) -> str:
    """What a Greedy-First is called."""
    return f"h = {lead:g}, {test}"


def experiment() -> SwitchShares:
    """Each way to have λ₀, with each h."""
    cases = {label(lead, test): (lead, value) for lead in LEADS for test, value in LAMBDA0.items()}
    return SwitchShares(
        name="never-best",
        title="An arm that is never best: instances in which Greedy-First has switched",
        problem={name: problem(lead) for name, (lead, _) in cases.items()},
        policies={name: policy(value) for name, (_, value) in cases.items()},
        horizon=HORIZON,
        n_instances=N_INSTANCES,
        settings={
            "arms": 3,
            "features": N_FEATURES,
            "intercept": True,
            "noise": figure2.SIGMA,
            "contexts": figure2.CONTEXTS_IN_WORDS,
            "arm parameters": "x₁, -x₁ and -h",
            "leads h": list(LEADS),
        },
    )


EXPERIMENTS = (experiment(),)
