"""What the published curves end at, as far as it is known.

The numbers were read off the published figures: the mean at the last plotted t, and twice its
standard error. Figures that are not here have no such numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Final(NamedTuple):
    """The end of a curve: a mean over runs, and half a 95 % confidence interval.

    The latter is nan for a single run, which tells no spread.
    """

    mean: float
    half_width: float


#: By figure and label.
PUBLISHED: dict[str, dict[str, Final]] = {
    "fig2a": {
        "Greedy": Final(5.84267, 0.19273),
        "Greedy-First": Final(5.89521, 0.19252),
        "OLS Bandit": Final(18.98534, 0.57048),
        "OFUL": Final(6.4843, 0.17003),
        "Prior-free TS": Final(39.83211, 1.03064),
        "Prior-dependent TS": Final(9.14296, 0.23459),
    },
    "fig2b": {
        "Greedy": Final(7.54869, 0.26942),
        "Greedy-First": Final(7.41744, 0.26818),
        "OLS Bandit": Final(13.52146, 0.27628),
        "OFUL": Final(8.46968, 0.24279),
        "Prior-free TS": Final(62.22044, 1.45915),
        "Prior-dependent TS": Final(15.6926, 0.31609),
    },
    "fig2c": {
        "Greedy": Final(48.56806, 24.55075),
        "Greedy-First": Final(12.26216, 0.79002),
        "OLS Bandit": Final(24.42417, 1.05567),
        "OFUL": Final(22.337, 1.08342),
        "Prior-free TS": Final(92.26431, 1.97096),
        "Prior-dependent TS": Final(15.82758, 0.36966),
    },
    "fig2d": {
        "Greedy": Final(87.43062, 25.96646),
        "Greedy-First": Final(19.46194, 2.84402),
        "OLS Bandit": Final(20.16069, 0.54075),
        "OFUL": Final(31.15449, 1.34983),
        "Prior-free TS": Final(131.57438, 2.25967),
        "Prior-dependent TS": Final(25.63046, 0.50903),
    },
    "fig3a": {
        "GLM Greedy": Final(7.02058, 1.60428),
        "GLM-UCB": Final(75.13878, 18.88233),
    },
    "fig3b": {
        "GLM Greedy": Final(19.71386, 3.02811),
        "GLM-UCB": Final(329.47135, 34.51881),
    },
    "fig4a": {
        "Greedy": Final(0.36212, 0.00109),
        "Greedy-First": Final(0.3625, 0.00126),
        "OLS Bandit": Final(0.40286, 0.00475),
        "OFUL": Final(0.40651, 0.00061),
        "Prior-dependent TS": Final(0.44134, 0.00122),
        "Oracle": Final(0.36082, 2e-05),
    },
    "fig4b": {
        "Greedy": Final(0.52193, 0.00157),
        "Greedy-First": Final(0.52193, 0.00157),
        "OLS Bandit": Final(0.59861, 0.00427),
        "OFUL": Final(0.57499, 0.00091),
        "Prior-dependent TS": Final(0.5705, 0.00075),
        "Oracle": Final(0.52467, 4e-05),
    },
    "fig4c": {
        "Greedy": Final(0.20092, 0.00119),
        "Greedy-First": Final(0.1545, 0.00737),
        "OLS Bandit": Final(0.1545, 0.00734),
        "OFUL": Final(0.31339, 0.0008),
        "Prior-dependent TS": Final(0.21424, 0.00082),
        "Oracle": Final(0.04653, 5e-05),
    },
    "fig4d": {
        "Greedy": Final(0.3546, 0.00068),
        "Greedy-First": Final(0.38693, 0.00134),
        "OLS Bandit": Final(0.38496, 0.0015),
        "OFUL": Final(0.49974, 0.00075),
        "Prior-dependent TS": Final(0.41448, 0.00107),
        "Oracle": Final(0.31483, 5e-05),
        "Doctors": Final(0.45868, 5e-05),
    },
}


def standard_errors_apart(ours: Final, published: Final) -> float:
    """How far ours is above the published mean, in joint standard errors; nan if not known."""
    joint = math.hypot(ours.half_width, published.half_width) / 2
    return (ours.mean - published.mean) / joint if joint != 0 else math.inf
