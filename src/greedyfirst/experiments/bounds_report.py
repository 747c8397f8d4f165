"""The theorems' numbers for one problem, and the simulated truth beside them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from greedyfirst.experiments.conservatism import simulate_greedy, simulate_greedy_first
from greedyfirst.files.pictures import save_picture
from greedyfirst.problems import ContextDistribution, GaussianNoise, LinearProblem
from greedyfirst.theory import (
    EigenvalueSample,
    ProblemConstants,
    RegretInputs,
    SuccessInputs,
    choose_lead,
    diversity_constant,
    greedy_first_success,
    greedy_regret,
    greedy_success,
    greedy_success_limit,
    simple_greedy_success,
    success_inputs,
)
from greedyfirst.validation import number, whole_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Noise around the one asked for, at which bounds and shares are drawn.
SIGMA_FACTORS = np.geomspace(1e-2, 1e3, 26)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number of the report."""

    what: str
    value: float
    #: With all simulation errors at their worst, where there are any.
    worst: float | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class BoundsReport:
    """All numbers, and curves over the noise where they were asked for."""

    lines: tuple[Line, ...]
    #: (label, σ, probability, half_width)
    curves: tuple[tuple[str, float, float, float], ...] = ()

    def table(self) -> str:
        """For a terminal."""
        table = Table()
        table.add_column("what")
        table.add_column("value", justify="right")
        table.add_column("at worst", justify="right")
        table.add_column("")
        for line in self.lines:
            worst = "" if line.worst is None else f"{line.worst:.4g}"
            table.add_row(line.what, f"{line.value:.4g}", worst, line.remark)
        text = io.StringIO()
        Console(file=text, width=110).print(table)
        return text.getvalue().rstrip()

    def write(self, directory: Path) -> list[Path]:
        """bounds.csv and bounds.png in ``directory``; their paths."""
        path, picture = directory / "bounds.csv", directory / "bounds.png"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["curve", "sigma", "probability", "half_width"])
            writer.writerows(self.curves)
        save_picture(partial(_draw, self), picture)
        return [path, picture]


def report_bounds(
    arms: Sequence[Sequence[float]],
    *,
    contexts: ContextDistribution,
    sigma: float,
    initial_pulls: int,
    h: float | None = None,
    lambda0: float | None = None,
    t0: int | None = None,
    n_runs: int = 0,
    horizon: int = 2000,
    seed: int = 10,
) -> BoundsReport:
    """What Theorems 1, 2 and 4 promise for given arms, contexts and noise.

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
    h
        The lead of Assumption 4; ``None`` finds the best one.
    lambda0, t0
        Of Greedy-First's test; ``None`` leaves Theorem 4 out.
    n_runs
        Simulated runs at each noise for the curves; 0 for none.
    horizon
        T, of the runs and of Theorem 1.
    seed
        Of everything.
    """
    number("sigma", sigma, above=0)
    whole_number("n_runs", n_runs, at_least=0)
    constants = ProblemConstants(contexts=contexts, arms=arms, seed=seed)
    sample = EigenvalueSample.draw(contexts, rows=initial_pulls, n_samples=20_000, seed=seed + 1)
    lead = choose_lead(constants, sample, sigma=sigma).lead if h is None else constants.lead(h)
    lines = [
        Line(what="x_max", value=float(constants.x_max or 0), remark="largest norm of a context"),
        Line(what="b_max", value=constants.b_max, remark="largest norm of a parameter"),
        Line(what="h", value=lead.h, remark="chosen" if h is None else "given"),
        Line(
            what="λ₁(h)",
            value=lead.lambda1,
            worst=lead.lower,
            remark=f"optimal arms {list(lead.optimal)}, sub-optimal {list(lead.suboptimal)}",
        ),
    ]
    lines += _regret_lines(constants, contexts, sigma, horizon)
    if not lead.holds or not lead.lambda1 > 0:
        undecided = f"arms {list(lead.undecided)} neither lead nor trail by h"
        lines.append(Line(what="S^gb (Theorem 2)", value=0.0, remark=f"no promise: {undecided}"))
        return BoundsReport(lines=tuple(lines))
    inputs = success_inputs(constants, lead, sigma=sigma, initial_pulls=initial_pulls)
    test = None if lambda0 is None or t0 is None or lead.suboptimal else (lambda0, t0)
    lines += _success_lines(inputs, sample, lead.lower, test)
    curves: list[tuple[str, float, float, float]] = []
    if n_runs:
        settings = {"horizon": horizon, "n_runs": n_runs, "seed": seed}
        curves = _curves(inputs, sample, arms, contexts, test, settings)
    return BoundsReport(lines=tuple(lines), curves=tuple(curves))


def _regret_lines(
    constants: ProblemConstants, contexts: ContextDistribution, sigma: float, horizon: int
) -> list[Line]:
    """Covariate diversity and the margin, and Theorem 1 where it applies."""
    diversity, margin = diversity_constant(contexts), constants.margin()
    lines = [
        Line(what="λ₀ (Assumption 3)", value=diversity.lower, remark=diversity.lemma),
        Line(what="C₀ (margin)", value=margin.value, worst=margin.upper, remark="Assumption 2"),
    ]
    if constants.n_arms != 2 or not diversity.lower > 0.0:
        why = "more than two arms" if constants.n_arms != 2 else "no covariate diversity"
        return [
            *lines,
            Line(what="regret (Theorem 1)", value=math.inf, remark=f"no promise: {why}"),
        ]
    bound = greedy_regret(
        RegretInputs(
            n_features=constants.n_features,
            horizon=horizon,
            x_max=float(constants.x_max or 0),
            b_max=constants.b_max,
            sigma=sigma,
            margin_constant=margin.upper,
            lambda0=diversity.lower,
        )
    )
    says = f"at T = {horizon}; {bound.trivial_bound:.4g} needs no theorem"
    return [*lines, Line(what="regret (Theorem 1)", value=bound.bound, remark=says)]


def _success_lines(
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    lower: float,
    test: tuple[float, int] | None,
) -> list[Line]:
    lines = []
    for form in ("printed", "proved"):
        found = greedy_success(inputs, sample, form=form, lambda1_lower=lower)
        remark = f"as {form}; largest term: {found.dominant}" if found.terms else "no promise"
        lines.append(
            Line(what="S^gb (Theorem 2)", value=found.value, worst=found.worst, remark=remark)
        )
    limit = greedy_success_limit(n_arms=inputs.n_arms, sample=sample)
    lines.append(Line(what="its limit for σ → 0", value=limit, remark="Proposition 2"))
    lines.append(
        Line(what="without a sample", value=simple_greedy_success(inputs), remark="Corollary 2")
    )
    if test is not None:
        first = greedy_first_success(
            inputs, sample, lambda0=test[0], t0=test[1], lambda1_lower=lower
        )
        remark = f"Greedy-First never switches; λ₀ = {test[0]:g}, t₀ = {test[1]}"
        lines.append(
            Line(what="S^gf (Theorem 4)", value=first.value, worst=first.worst, remark=remark)
        )
    return lines


def _curves(
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    arms: Sequence[Sequence[float]],
    contexts: ContextDistribution,
    test: tuple[float, int] | None,
    settings: dict[str, Any],
) -> list[tuple[str, float, float, float]]:
    """Bounds and simulated shares for noise around the one asked for."""
    found = []
    m = inputs.initial_pulls
    for sigma in (float(each) for each in inputs.sigma * SIGMA_FACTORS):
        problem = LinearProblem(contexts=contexts, arms=arms, noise=GaussianNoise(sigma=sigma))
        noisy = replace(inputs, sigma=sigma)
        bound = greedy_success(noisy, sample)
        found.append(("Theorem 2", sigma, bound.value, bound.value - bound.worst))
        shares = simulate_greedy(
            problem, initial_pulls=m, h=inputs.h, x_max=inputs.x_max, **settings
        )
        inside, mild = shares.inside, shares.mild
        found.append(("simulated: estimates stay inside", sigma, inside.value, inside.half_width))
        found.append(("simulated: no costly decision", sigma, mild.value, mild.half_width))
        if test is not None:
            lambda0, t0 = test
            first = greedy_first_success(noisy, sample, lambda0=lambda0, t0=t0)
            found.append(("Theorem 4", sigma, first.value, first.value - first.worst))
            long = {**settings, "horizon": max(settings["horizon"], t0 + 1)}
            stays = simulate_greedy_first(problem, initial_pulls=m, lambda0=lambda0, t0=t0, **long)
            found.append(
                ("simulated: Greedy-First stays greedy", sigma, stays.value, stays.half_width)
            )
    return found


def _draw(report: BoundsReport, figure: Figure) -> None:
    """Probabilities against the noise."""
    axes = figure.add_subplot()
    labels = list(dict.fromkeys(label for label, *_ in report.curves))
    for label in labels:
        points = np.array([rest for each, *rest in report.curves if each == label])
        line = "--" if label.startswith("simulated") else "-"
        axes.plot(points[:, 0], points[:, 1], linestyle=line, label=label, linewidth=1.8)
    axes.set_xscale("log")
    axes.set_xlabel("noise σ")
    axes.set_ylabel("probability")
    axes.set_ylim(-0.03, 1.05)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("What the theorems promise, and what happens", fontsize=11)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
