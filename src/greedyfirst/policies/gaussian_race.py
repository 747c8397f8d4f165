"""Which of several independent normal variables is the highest?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greedyfirst.validation import FloatArray

# Past this many standard deviations the normal density is below 1e-23.
REACH = 10.0
# Of each variable's range: pieces so many standard deviations long, with so many nodes each.
PIECE, NODES = 2.0, 24


def chances_of_highest(
    means: FloatArray, spreads: FloatArray, entrants: NDArray[np.bool_], rounding: float = 0.0
) -> FloatArray:
    r"""P(variable i is the highest), variables independent :math:`N(m_i, s_i^2)`.

    .. math:: P_i = \int \frac1{s_i}\phi\left(\frac{t - m_i}{s_i}\right)
              \prod_{j \ne i} \Phi\left(\frac{t - m_j}{s_j}\right)\,dt

    to about 1e-12, by Gauss-Legendre quadrature over pieces that are short for each variable that
    varies there. Entrants that do not vary (spread 0) share what is theirs when their means tie,
    but for ``rounding``.
    """
    # Slow to import, and only needed for exact probabilities.
    from scipy.special import ndtr

    result = np.zeros(len(means))
    fixed = np.flatnonzero(entrants & ~(spreads > 0.0))
    moving = np.flatnonzero(entrants & (spreads > 0.0))
    bar = means[fixed].max() if len(fixed) else -np.inf
    if len(moving):
        result[moving] = _chances_above(means[moving], spreads[moving], bar)
    winners = fixed[means[fixed] >= bar - rounding]
    if len(winners):
        result[winners] = np.prod(ndtr((bar - means[moving]) / spreads[moving])) / len(winners)
    result /= result.sum()
    return result


def _chances_above(means: FloatArray, spreads: FloatArray, bar: float) -> FloatArray:
    """P that each variable exceeds the bar and all others."""
    from scipy.special import log_ndtr

    # Below the lowest place one of the factors is nothing.
    lowest = max(bar, float((means - REACH * spreads).max()))
    highest = float((means + REACH * spreads).max())
    if not lowest < highest:
        return np.zeros(len(means))
    ends = _pieces(means, spreads, lowest, highest)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(ends)[:, None] / 2.0
    t = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
    z = (t[:, None] - means) / spreads
    below = log_ndtr(z)
    others = below.sum(axis=1, keepdims=True) - below
    density = np.exp(others - 0.5 * z * z) / (np.sqrt(2.0 * np.pi) * spreads)
    chances: FloatArray = (half * weights).ravel() @ density
    return chances


def _pieces(means: FloatArray, spreads: FloatArray, lowest: float, highest: float) -> FloatArray:
    """Where pieces end: at steps of the smallest spread, or around each variable, if fewer."""
    places = np.arange(-REACH, REACH + PIECE, PIECE)
    cuts = (means[:, None] + spreads[:, None] * places).ravel()
    inside = cuts[(cuts > lowest) & (cuts < highest)]
    even = (highest - lowest) / (PIECE * float(spreads.min()))
    if even < len(inside):
        return np.linspace(lowest, highest, int(even) + 2)
    return np.unique(np.concatenate([[lowest], inside, [highest]]))
