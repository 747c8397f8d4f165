"""The theorems' numbers for one problem, in a table and in words, beside the simulated truth."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Unpack

from rich.console import Console
from rich.table import Table

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.bounds.arm_by_arm import simulated_regret
from greedyfirst.experiments.bounds.curves import Point, draw_curves, success_curves
from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.lines import constant_lines, regret_lines, success_lines
from greedyfirst.experiments.bounds.problem import Question, prepare
from greedyfirst.experiments.bounds.words import in_words
from greedyfirst.files.pictures import save_picture
from greedyfirst.problems import ContextDistribution
from greedyfirst.theory.bounds.link_slopes import proved_link
from greedyfirst.validation import number, whole_number, wrong

FILES = ("bounds.csv", "bounds.png")


@dataclass(frozen=True, kw_only=True)
class BoundsReport:
    """All numbers, what they mean, and curves over the noise where they were asked for."""

    #: The constants of the problem, regret bounds, chances to succeed.
    sections: tuple[tuple[Line, ...], ...]
    #: What the numbers say, a sentence or two each.
    words: tuple[str, ...]
    curves: tuple[Point, ...] = field(default=())

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines."""
        return tuple(line for section in self.sections for line in section)

    def text(self, width: int = 100) -> str:
        """For a terminal of this many columns."""
        table = Table(width=width)
        table.add_column("what", no_wrap=True)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("at worst", justify="right", no_wrap=True)
        table.add_column("", ratio=1)
        for section in self.sections:
            for line in section:
                cells = ["–" if line.value is None else f"{line.value:.4g}"]
                cells.append("" if line.worst is None else f"{line.worst:.4g}")
                table.add_row(line.what, *cells, line.remark)
            table.add_section()
        text = io.StringIO()
        Console(file=text, width=width, markup=False, emoji=False, highlight=False).print(table)
        return "\n".join([text.getvalue().rstrip(), *(_wrapped(one, width) for one in self.words)])

    def write(self, directory: Path) -> list[Path]:
        """bounds.csv and bounds.png in ``directory``; their paths."""
        path, picture = (directory / name for name in FILES)
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["curve", "sigma", "probability", "half_width"])
            writer.writerows(self.curves)
        save_picture(partial(draw_curves, self.curves), picture)
        return [path, picture]


def _wrapped(sentence: str, width: int) -> str:
    return fill(sentence, width, subsequent_indent="  ", break_on_hyphens=False)


def report_bounds(
    arms: Sequence[Sequence[float]],
    *,
    contexts: ContextDistribution,
    sigma: float,
    initial_pulls: int,
    x_max: float | None = None,
    h: float | None = None,
    lambda0: float | None = None,
    t0: int | None = None,
    q: int | None = None,
    alpha: float = 0.0,
    link: str | None = None,
    n_runs: int = 0,
    horizon: int = 2000,
    seed: int = 10,
    **spread: Unpack[Spread],
) -> BoundsReport:
    """What the paper promises for given arms, contexts and noise.

    Parameters
    ----------
    arms : array (n_arms, n_features)
        β.
    contexts
        The law of contexts.
    sigma
        The noise.
    initial_pulls
        m, of each arm.
    x_max
        A bound of ‖x‖; ``None`` takes the law's.
    h
        The lead of Assumption 4; ``None`` finds the best one.
    lambda0, t0
        Of Greedy-First's test; ``None`` leaves out Theorems 3 and 4.
    q
        Forced samples of OLS Bandit, for Theorem 3; ``None`` takes the fewest that make its bound
        logarithmic.
    alpha
        The margin's exponent of Corollary 1; 0 needs no margin condition.
    link
        The link of Proposition 1; ``None`` leaves it out.
    n_runs
        Simulated runs at each noise for the curves; 0 for none.
    horizon
        T, of the runs and of the regret bounds.
    seed
        Of everything.
    **spread
        ``n_jobs``, ``engine`` and ``resume`` of the runs, as in :func:`greedyfirst.simulate`.
    """
    number("sigma", sigma, above=0)
    number("alpha", alpha, at_least=0)
    whole_number("n_runs", n_runs, at_least=0)
    if (lambda0 is None) != (t0 is None):
        raise wrong("lambda0 and t0", (lambda0, t0), "both given or both None")
    if link is not None:
        proved_link(link, "Proposition 1")
    test = None
    if lambda0 is not None and t0 is not None:
        test = (number("lambda0", lambda0, above=0), whole_number("t0", t0, at_least=1))
    question = Question(sigma=sigma, horizon=horizon, test=test, q=q, alpha=alpha, link=link, h=h)
    problem = prepare(
        arms,
        contexts=contexts,
        sigma=sigma,
        initial_pulls=initial_pulls,
        x_max=x_max,
        h=h,
        seed=seed,
    )
    regret = regret_lines(problem, question, pulls=initial_pulls)
    success = success_lines(problem, question)
    if n_runs:
        lost = simulated_regret(
            arms,
            contexts=contexts,
            sigma=sigma,
            horizon=horizon,
            n_runs=n_runs,
            seed=seed,
            **spread,
        )
        regret = (*regret[:-1], lost, regret[-1])
    curves: list[Point] = []
    if n_runs and problem.inputs is not None:
        curves = success_curves(
            problem.inputs,
            problem.sample,
            arms=arms,
            contexts=contexts,
            test=None if problem.lead.suboptimal else test,
            horizon=horizon,
            n_runs=n_runs,
            seed=seed,
            **spread,
        )
    return BoundsReport(
        sections=(constant_lines(problem, question), regret, success),
        words=in_words(question, regret, success),
        curves=tuple(curves),
    )
