"""Figure 1 (Example 1): the bounds of Theorems 2 and 4 against the noise, and the truth beside.

K = 3 arms at 120° on the unit circle, contexts uniform on the unit disc, h = 0.3 and so
λ₁ ≈ 0.0255. The paper draws the bounds; here simulated shares are added, which hold for noise that
is tens to thousands of times higher. Its caption compares two λ₀ of Greedy-First at m = 20.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from rich.console import Console
from rich.table import Table

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.conservatism import Share, simulate_greedy, simulate_greedy_first
from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBall
from greedyfirst.theory import (
    EigenvalueSample,
    LeadEstimate,
    ProblemConstants,
    SuccessInputs,
    SuccessProbability,
    greedy_first_success,
    greedy_success,
    success_inputs,
)
from greedyfirst.validation import FloatArray, whole_number
from greedyfirst.version import __version__

NAME = "fig1"
ARMS = ((1.0, 0.0), (-0.5, math.sqrt(0.75)), (-0.5, -math.sqrt(0.75)))
H = 0.3
INITIAL_PULLS = (2, 5, 20, 100)
T0, LAMBDA0, GREEDY_FIRST_PULLS = 1000, (0.01, 0.0001), 20
BOUND_SIGMAS = np.geomspace(1e-6, 0.1, 61)
SIMULATED_SIGMAS = np.geomspace(1e-4, 10, 26)
HORIZON, N_RUNS = 2000, 400
CONFIDENCE = 0.99


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """A probability against σ."""

    label: str
    #: "printed" or "proved" for bounds, "inside", "mild" or "stays greedy" for simulated shares.
    kind: str
    initial_pulls: int
    lambda0: float | None
    sigma: FloatArray
    value: FloatArray
    #: Of a bound: how far it falls when simulation errors are at their worst. Of a share: half
    #: the length of its 95 % interval.
    half_width: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure1:
    """All curves of the figure, and what they were made with."""

    curves: tuple[Curve, ...]
    lead: LeadEstimate
    settings: dict[str, Any]
    seed: int

    def table(self) -> str:
        """Where each curve is still above one half, for a terminal."""
        table = Table(title=f"λ₁ = {self.lead.lambda1:.4f} for h = {self.lead.h:g}")
        table.add_column("curve")
        table.add_column("at its lowest noise", justify="right")
        table.add_column("above 1/2 up to σ =", justify="right")
        for curve in self.curves:
            above = curve.sigma[curve.value >= 0.5]
            last = f"{above.max():.2g}" if len(above) else "-"
            table.add_row(curve.label, f"{curve.value[0]:.4f}", last)
        text = io.StringIO()
        Console(file=text, width=100).print(table)
        return text.getvalue().rstrip()

    def curve(self, kind: str, initial_pulls: int, lambda0: float | None = None) -> Curve:
        """The curve of this kind."""
        for curve in self.curves:
            if (curve.kind, curve.initial_pulls, curve.lambda0) == (kind, initial_pulls, lambda0):
                return curve
        raise KeyError((kind, initial_pulls, lambda0))


def problem(sigma: float) -> LinearProblem:
    """Example 1 with Gaussian noise."""
    return LinearProblem(
        contexts=UniformBall(n_features=2), arms=ARMS, noise=GaussianNoise(sigma=sigma)
    )


def compute(
    *,
    bound_sigmas: Sequence[float] | FloatArray = BOUND_SIGMAS,
    simulated_sigmas: Sequence[float] | FloatArray = SIMULATED_SIGMAS,
    n_samples: int = 50_000,
    n_contexts: int = 10**6,
    n_runs: int = N_RUNS,
    horizon: int = HORIZON,
    seed: int = 10,
    **spread: Unpack[Spread],
) -> Figure1:
    """Bounds and simulated shares.

    Parameters
    ----------
    bound_sigmas, simulated_sigmas
        Where the bounds are computed, and where runs are simulated.
    n_samples, n_contexts
        Draws of λ_min for each m, and contexts for λ₁.
    n_runs, horizon
        Of each simulated share.
    seed
        Of everything.
    **spread
        ``n_jobs``, ``engine`` and ``resume`` of the simulated shares, as in
        :func:`greedyfirst.simulate`.
    """
    whole_number("seed", seed, at_least=0)
    constants = ProblemConstants(
        contexts=UniformBall(n_features=2),
        arms=ARMS,
        n_samples=n_contexts,
        seed=seed,
        confidence=CONFIDENCE,
    )
    lead = constants.lead(H)
    curves: list[Curve] = []
    for m in INITIAL_PULLS:
        sample = EigenvalueSample.draw(
            UniformBall(n_features=2), rows=m, n_samples=n_samples, seed=seed + m
        )
        inputs = [
            success_inputs(constants, lead, sigma=float(sigma), initial_pulls=m)
            for sigma in bound_sigmas
        ]
        curves += _bounds(inputs, sample, lead)
        curves += _shares(m, simulated_sigmas, horizon, n_runs, seed, spread)
    return Figure1(
        curves=tuple(curves),
        lead=lead,
        settings={
            "arms": ARMS,
            "contexts": "uniform on the unit disc",
            "h": H,
            "lambda1": lead.lambda1,
            "lambda1 lower": lead.lower,
            "initial pulls": INITIAL_PULLS,
            "t0": T0,
            "lambda0": LAMBDA0,
            "confidence": CONFIDENCE,
            "draws of lambda_min": n_samples,
            "contexts drawn": n_contexts,
            "runs": n_runs,
            "horizon": horizon,
        },
        seed=seed,
    )


def _bounds(
    inputs: list[SuccessInputs], sample: EigenvalueSample, lead: LeadEstimate
) -> list[Curve]:
    m = sample.rows
    lower, confidence = lead.lower, CONFIDENCE
    curves = [
        _bound_curve(
            f"Theorem 2 ({form}), m = {m}",
            form,
            None,
            [
                greedy_success(one, sample, form=form, confidence=confidence, lambda1_lower=lower)
                for one in inputs
            ],
        )
        for form in ("printed", "proved")
    ]
    for lambda0 in LAMBDA0 if m == GREEDY_FIRST_PULLS else ():
        found = [
            greedy_first_success(
                one, sample, lambda0=lambda0, t0=T0, confidence=confidence, lambda1_lower=lower
            )
            for one in inputs
        ]
        label = f"Theorem 4 (printed), m = {m}, λ₀ = {lambda0:g}"
        curves.append(_bound_curve(label, "printed", lambda0, found))
    return curves


def _bound_curve(
    label: str, kind: str, lambda0: float | None, found: list[SuccessProbability]
) -> Curve:
    return Curve(
        label=label,
        kind=kind,
        initial_pulls=found[0].inputs.initial_pulls,
        lambda0=lambda0,
        sigma=np.array([one.inputs.sigma for one in found]),
        value=np.array([one.value for one in found]),
        half_width=np.array([one.value - one.worst for one in found]),
    )


def _shares(
    m: int,
    sigmas: Sequence[float] | FloatArray,
    horizon: int,
    n_runs: int,
    seed: int,
    spread: Spread,
) -> list[Curve]:
    problems = [problem(float(sigma)) for sigma in sigmas]
    greedy = [
        simulate_greedy(
            one,
            initial_pulls=m,
            h=H,
            x_max=1.0,
            horizon=horizon,
            n_runs=n_runs,
            seed=seed,
            **spread,
        )
        for one in problems
    ]
    inside, mild = f"estimates stay inside, m = {m}", f"no costly decision, m = {m}"
    curves = [
        _share_curve(inside, "inside", m, None, sigmas, [one.inside for one in greedy]),
        _share_curve(mild, "mild", m, None, sigmas, [one.mild for one in greedy]),
    ]
    for lambda0 in LAMBDA0 if m == GREEDY_FIRST_PULLS else ():
        shares = [
            simulate_greedy_first(
                one,
                initial_pulls=m,
                lambda0=lambda0,
                t0=T0,
                horizon=max(horizon, T0 + 1),
                n_runs=n_runs,
                seed=seed,
                **spread,
            )
            for one in problems
        ]
        label = f"Greedy-First stays greedy, m = {m}, λ₀ = {lambda0:g}"
        curves.append(_share_curve(label, "stays greedy", m, lambda0, sigmas, shares))
    return curves


def _share_curve(
    label: str,
    kind: str,
    m: int,
    lambda0: float | None,
    sigmas: Sequence[float] | FloatArray,
    shares: list[Share],
) -> Curve:
    return Curve(
        label=label,
        kind=kind,
        initial_pulls=m,
        lambda0=lambda0,
        sigma=np.array([float(sigma) for sigma in sigmas]),
        value=np.array([share.value for share in shares]),
        half_width=np.array([share.half_width for share in shares]),
    )


def write(result: Figure1, directory: Path) -> list[Path]:
    """fig1.csv, fig1.png and fig1.json in ``directory``; their paths."""
    # Half a second to import, and only needed once there is something to draw.
    from greedyfirst.experiments.figure1_picture import draw

    table, picture, facts = (directory / f"{NAME}.{ending}" for ending in ("csv", "png", "json"))
    with open(table, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        # The columns that every figure's file has; t holds the noise σ.
        writer.writerow(["policy", "t", "mean", "half_width"])
        for curve in result.curves:
            for row in zip(curve.sigma, curve.value, curve.half_width, strict=True):
                writer.writerow([curve.label, *(repr(float(number)) for number in row)])
    draw(result, picture)
    description = {
        "settings": result.settings,
        "seed": result.seed,
        "version": __version__,
        "switches": {},
        "seconds": {},
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    facts.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    return [table, picture, facts]
