"""Bounds and simulated shares of success against the noise, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.conservatism import simulate_greedy, simulate_greedy_first
from greedyfirst.problems import ContextDistribution, GaussianNoise, LinearProblem
from greedyfirst.theory import (
    EigenvalueSample,
    SuccessInputs,
    greedy_first_success,
    greedy_success,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Noise around the one asked for, at which bounds and shares are drawn.
SIGMA_FACTORS = np.geomspace(1e-2, 1e3, 26)

#: A point of a curve: label, σ, probability and half the width of its interval.
Point = tuple[str, float, float, float]


def success_curves(
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    *,
    arms: Sequence[Sequence[float]],
    contexts: ContextDistribution,
    test: tuple[float, int] | None,
    horizon: int,
    n_runs: int,
    seed: int,
    **spread: Unpack[Spread],
) -> list[Point]:
    """Theorems 2 and 4, and the simulated truth, for noise around the one asked for.

    Parameters
    ----------
    inputs, sample
        As for `greedy_success`; σ of ``inputs`` is the middle.
    arms, contexts
        The problem.
    test
        λ₀ and t₀ of Greedy-First; ``None`` leaves it out.
    horizon, n_runs, seed
        Of the simulated runs.
    **spread
        ``n_jobs``, ``engine`` and ``resume``, as in :func:`greedyfirst.simulate`.
    """
    found: list[Point] = []
    m = inputs.initial_pulls
    run: dict[str, Any] = {"initial_pulls": m, "n_runs": n_runs, "seed": seed, **spread}
    for sigma in (float(each) for each in inputs.sigma * SIGMA_FACTORS):
        problem = LinearProblem(contexts=contexts, arms=arms, noise=GaussianNoise(sigma=sigma))
        noisy = replace(inputs, sigma=sigma)
        bound = greedy_success(noisy, sample)
        found.append(("Theorem 2", sigma, bound.value, bound.value - bound.worst))
        shares = simulate_greedy(problem, h=inputs.h, x_max=inputs.x_max, horizon=horizon, **run)
        inside, mild = shares.inside, shares.mild
        found.append(("simulated: estimates stay inside", sigma, inside.value, inside.half_width))
        found.append(("simulated: no costly decision", sigma, mild.value, mild.half_width))
        if test is not None:
            lambda0, t0 = test
            first = greedy_first_success(noisy, sample, lambda0=lambda0, t0=t0)
            found.append(("Theorem 4", sigma, first.value, first.value - first.worst))
            long = max(horizon, t0 + 1)
            stays = simulate_greedy_first(problem, lambda0=lambda0, t0=t0, horizon=long, **run)
            label = "simulated: Greedy-First stays greedy"
            found.append((label, sigma, stays.value, stays.half_width))
    return found


def draw_curves(curves: Sequence[Point], figure: Figure) -> None:
    """Probabilities against the noise."""
    axes = figure.add_subplot()
    labels = list(dict.fromkeys(label for label, *_ in curves))
    for label in labels:
        points = np.array([rest for each, *rest in curves if each == label])
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
