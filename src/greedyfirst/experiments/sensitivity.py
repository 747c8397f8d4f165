"""Sensitivity of Greedy-First to h, q and t₀: the last figure of the appendix.

Figure 2(c)'s setting, where covariate diversity fails, with Greedy-First alone and one parameter
varied at a time; all values play the same instances. h and q are options of the OLS Bandit that a
switch starts; t₀ is when λ₀ is estimated, and the test begins at 2·t₀ as in Figure 2. The paper
does not say which values it took: these are roughly geometric, and Figure 2's own are among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from greedyfirst.experiments import figure2
from greedyfirst.experiments.experiment import Experiment, Varied
from greedyfirst.policies import GreedyFirst

H_VALUES = (1.0, 2.5, 5.0, 10.0, 25.0)
Q_VALUES = (1, 2, 3, 5, 10)
T0_MULTIPLES = (1, 2, 4, 8, 16)  # of K·d
N_ARMS, D = figure2.N_ARMS, figure2.N_FEATURES + 1  # d counts the intercept


def experiment(
    symbol: str, policies: Mapping[str, GreedyFirst], values: tuple[float, ...]
) -> Experiment:
    """Figure 2(c) with these policies."""
    setting = figure2.panel("fig2c", title="", intercept=True, correct_prior=True)
    return replace(
        setting,
        name=f"sensitivity-{symbol}",
        title=f"Greedy-First with several {symbol}, in the setting of Figure 2(c)",
        policies=policies,
        readings={},
        varied=Varied(symbol, values),
    )


def with_h(h: float) -> GreedyFirst:
    """Greedy-First with another h of its OLS Bandit."""
    return figure2.greedy_first(N_ARMS, D, h=h)


def with_q(q: int) -> GreedyFirst:
    """Greedy-First with another q of its OLS Bandit."""
    return figure2.greedy_first(N_ARMS, D, q=q)


def with_t0(multiple: int) -> GreedyFirst:
    """Greedy-First with t₀ = multiple·K·d, and a test that begins at twice that."""
    return figure2.greedy_first(N_ARMS, D, t0_multiple=multiple)


EXPERIMENTS = (
    experiment("h", {f"h = {h:g}": with_h(h) for h in H_VALUES}, H_VALUES),
    experiment("q", {f"q = {q}": with_q(q) for q in Q_VALUES}, Q_VALUES),
    experiment(
        "t0",
        {f"t0 = {m}·K·d": with_t0(m) for m in T0_MULTIPLES},
        tuple(float(multiple * N_ARMS * D) for multiple in T0_MULTIPLES),
    ),
)
