"""Which of several independent normal variables is the highest?"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from greedyfirst.policies.selection import share_of_best
from greedyfirst.validation import FloatArray

# Past this many standard deviations the normal density is below 1e-23.
REACH = 10.0


def chances_of_highest(
    means: FloatArray, variances: FloatArray, eligible: FloatArray
) -> FloatArray:
    r"""P(arm i's draw is the highest), draws independent :math:`N(m_i, s_i^2)`.

    .. math:: P_i = \int \phi(z) \prod_{j \ne i} \Phi\big((m_i + s_iz - m_j)/s_j\big)\,dz

    by adaptive quadrature, to about 1e-10. When no draw varies, best means share it.
    """
    result = np.zeros(len(means))
    arms = np.flatnonzero(eligible)
    spreads = np.sqrt(np.maximum(variances, 0.0))
    if not spreads[arms].max() > 0.0:
        return share_of_best(means, eligible)
    for arm in arms:
        others = arms[arms != arm]
        result[arm] = _chance(
            means[arm], spreads[arm], means[others], np.maximum(spreads[others], 1e-300)
        )
    return result / result.sum()


def _chance(mean: float, spread: float, means: FloatArray, spreads: FloatArray) -> float:
    """P_i of :func:`chances_of_highest`; the interval is cut where the other arms' means lie."""

    def integrand(z: float) -> float:
        below = np.prod(ndtr((mean + spread * z - means) / spreads))
        return float(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * below)

    if spread <= 0.0:
        return float(np.prod(ndtr((mean - means) / spreads)))
    edges = [(means + k * spreads - mean) / spread for k in (-REACH, 0.0, REACH)]
    inside = np.concatenate(edges)
    points = np.unique(np.concatenate([[-REACH, 0.0, REACH], inside[np.abs(inside) < REACH]]))
    pieces = zip(points[:-1], points[1:], strict=True)
    return float(sum(quad(integrand, low, high, epsabs=1e-12, limit=200)[0] for low, high in pieces))
