"""What the published curves end at, and how far ours are from it.

The numbers were read off the published figures: the mean at the last plotted t, and twice its
standard error. Figures that are not here have no such numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.special import stdtr

#: False alarms of all comparisons together, where all curves have the published law.
FALSE_ALARMS = 0.01


class Final(NamedTuple):
    """The end of a curve: a mean over runs, and half a 95 % confidence interval.

    The latter is nan for a single run, which tells no spread.
    """

    mean: float
    half_width: float
    runs: int


#: The runs behind the published curves, by figure.
_RUNS = {"fig2": 1000, "fig3": 10, "fig4": 100}
_READ_OFF: dict[str, dict[str, tuple[float, float]]] = {
    "fig2a": {
        "Greedy": (5.84267, 0.19273),
        "Greedy-First": (5.89521, 0.19252),
        "OLS Bandit": (18.98534, 0.57048),
        "OFUL": (6.4843, 0.17003),
        "Prior-free TS": (39.83211, 1.03064),
        "Prior-dependent TS": (9.14296, 0.23459),
    },
    "fig2b": {
        "Greedy": (7.54869, 0.26942),
        "Greedy-First": (7.41744, 0.26818),
        "OLS Bandit": (13.52146, 0.27628),
        "OFUL": (8.46968, 0.24279),
        "Prior-free TS": (62.22044, 1.45915),
        "Prior-dependent TS": (15.6926, 0.31609),
    },
    "fig2c": {
        "Greedy": (48.56806, 24.55075),
        "Greedy-First": (12.26216, 0.79002),
        "OLS Bandit": (24.42417, 1.05567),
        "OFUL": (22.337, 1.08342),
        "Prior-free TS": (92.26431, 1.97096),
        "Prior-dependent TS": (15.82758, 0.36966),
    },
    "fig2d": {
        "Greedy": (87.43062, 25.96646),
        "Greedy-First": (19.46194, 2.84402),
        "OLS Bandit": (20.16069, 0.54075),
        "OFUL": (31.15449, 1.34983),
        "Prior-free TS": (131.57438, 2.25967),
        "Prior-dependent TS": (25.63046, 0.50903),
    },
    "fig3a": {
        "GLM Greedy": (7.02058, 1.60428),
        "GLM-UCB": (75.13878, 18.88233),
    },
    "fig3b": {
        "GLM Greedy": (19.71386, 3.02811),
        "GLM-UCB": (329.47135, 34.51881),
    },
    "fig4a": {
        "Greedy": (0.36212, 0.00109),
        "Greedy-First": (0.3625, 0.00126),
        "OLS Bandit": (0.40286, 0.00475),
        "OFUL": (0.40651, 0.00061),
        "Prior-dependent TS": (0.44134, 0.00122),
        "Oracle": (0.36082, 2e-05),
    },
    "fig4b": {
        "Greedy": (0.52193, 0.00157),
        "Greedy-First": (0.52193, 0.00157),
        "OLS Bandit": (0.59861, 0.00427),
        "OFUL": (0.57499, 0.00091),
        "Prior-dependent TS": (0.5705, 0.00075),
        "Oracle": (0.52467, 4e-05),
    },
    "fig4c": {
        "Greedy": (0.20092, 0.00119),
        "Greedy-First": (0.1545, 0.00737),
        "OLS Bandit": (0.1545, 0.00734),
        "OFUL": (0.31339, 0.0008),
        "Prior-dependent TS": (0.21424, 0.00082),
        "Oracle": (0.04653, 5e-05),
    },
    "fig4d": {
        "Greedy": (0.3546, 0.00068),
        "Greedy-First": (0.38693, 0.00134),
        "OLS Bandit": (0.38496, 0.0015),
        "OFUL": (0.49974, 0.00075),
        "Prior-dependent TS": (0.41448, 0.00107),
        "Oracle": (0.31483, 5e-05),
        "Doctors": (0.45868, 5e-05),
    },
}

#: By figure and label.
PUBLISHED: dict[str, dict[str, Final]] = {
    name: {label: Final(*end, runs=_RUNS[name[:-1]]) for label, end in curves.items()}
    for name, curves in _READ_OFF.items()
}
#: How many of the 1000 runs of Greedy-First switched, by the caption of Figure 2.
PUBLISHED_SWITCHES = {"fig2a": 0, "fig2b": 0, "fig2c": 69, "fig2d": 139}


class Comparison(NamedTuple):
    """Our end of a curve beside the published one."""

    figure: str
    label: str
    #: Ours less the published mean, in joint standard errors.
    z: float
    #: The chance of means as far apart, if both have one law: of Student's t-test.
    p_value: float


def compare(figure: str, final: Mapping[str, Final]) -> list[Comparison]:
    """Every curve of ours whose published end is known, and whose own spread is."""
    published = PUBLISHED.get(figure, {})
    return [
        Comparison(
            figure,
            label,
            standard_errors_apart(ours, published[label]),
            _p_value(ours, published[label]),
        )
        for label, ours in final.items()
        if label in published and not math.isnan(ours.half_width)
    ]


def agree(comparisons: Sequence[Comparison], *, false_alarms: float = FALSE_ALARMS) -> bool:
    """Whether no comparison is further off than chance explains, all of them taken together.

    Bonferroni: with n comparisons the smallest p-value must be at least ``false_alarms`` / n,
    however the curves depend on one another. p-values are exact for normal runs; regret is skewed,
    and resampling our own runs of all ten panels gives 1.05 % for 1 % (standard error 0.16 %).
    """
    return all(each.p_value >= false_alarms / len(comparisons) for each in comparisons)


def standard_errors_apart(ours: Final, published: Final) -> float:
    """How far ours is above the published mean, in joint standard errors; nan if not known."""
    joint = math.hypot(ours.half_width, published.half_width) / 2
    return (ours.mean - published.mean) / joint if joint != 0 else math.inf


def _p_value(ours: Final, published: Final) -> float:
    """Of Student's t-test, two-sided.

    One law has one spread: the side with more runs tells it. Each side's own, as in z, would raise
    false alarms where few skewed runs happen to lie close together.
    """
    ends = (ours, published)
    freedom = sum(end.runs - 1 for end in ends)
    squares = sum((end.runs - 1) * end.runs * (end.half_width / 2) ** 2 for end in ends)
    error = math.sqrt(squares / freedom * sum(1 / end.runs for end in ends))
    difference = abs(ours.mean - published.mean)
    return float(2 * stdtr(freedom, -difference / error)) if error > 0 else float(difference == 0)


def switches_apart(ours: int, runs: int, published: int, published_runs: int = 1000) -> float:
    """How far our share of switches is above the published one, in joint standard errors."""
    pooled = (ours + published) / (runs + published_runs)
    error = math.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / published_runs))
    return (ours / runs - published / published_runs) / error if error > 0 else 0.0
