"""Which of several independent normal variables is the highest?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtr

from greedyfirst.validation import FloatArray

# Past this many standard deviations the normal density is below 1e-23.
REACH = 10.0


def chances_of_highest(
    means: FloatArray, spreads: FloatArray, entrants: NDArray[np.bool_]
) -> FloatArray:
    r"""P(variable i is the highest), variables independent :math:`N(m_i, s_i^2)`.

    .. math:: P_i = \int \phi(z) \prod_{j \ne i} \Phi\big((m_i + s_iz - m_j)/s_j\big)\,dz

    by adaptive quadrature, to about 1e-10. Where no entrant varies, the highest means share it.
    """
    result = np.zeros(len(means))
    places = np.flatnonzero(entrants)
    if not spreads[places].max() > 0.0:
        winners = places[means[places] == means[places].max()]
        result[winners] = 1.0 / len(winners)
        return result
    for place in places:
        others = places[places != place]
        result[place] = _chance(
            means[place], spreads[place], means[others], np.maximum(spreads[others], 1e-300)
        )
    result /= result.sum()
    return result


def _chance(mean: float, spread: float, means: FloatArray, spreads: FloatArray) -> float:
    """P_i of :func:`chances_of_highest`; the interval is cut where the others' densities lie."""

    def integrand(z: float) -> float:
        below = np.prod(ndtr((mean + spread * z - means) / spreads))
        return float(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * below)

    if spread <= 0.0:
        return float(np.prod(ndtr((mean - means) / spreads)))
    cuts = np.concatenate([(means + k * spreads - mean) / spread for k in (-REACH, 0.0, REACH)])
    points = np.unique(np.concatenate([[-REACH, 0.0, REACH], cuts[np.abs(cuts) < REACH]]))
    pieces = pairwise(points)
    return float(sum(quad(integrand, *piece, epsabs=1e-12, limit=200)[0] for piece in pieces))
