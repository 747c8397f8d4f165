"""Which of several independent normal variables is the highest?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from greedyfirst.validation import FloatArray

# Past this many standard deviations the normal density is below 1e-23.
REACH = 10.0


def chances_of_highest(
    means: FloatArray, spreads: FloatArray, entrants: NDArray[np.bool_]
) -> FloatArray:
    r"""P(variable i is the highest), variables independent :math:`N(m_i, s_i^2)`.

    .. math:: P_i = \int \phi(z) \prod_{j \ne i} \Phi\big((m_i + s_iz - m_j)/s_j\big)\,dz

    by adaptive quadrature, to about 1e-10. Entrants that do not vary
    (spread 0) share what is theirs when their means tie.
    """
    # Slow to import, and only needed for exact probabilities.
    from scipy.special import ndtr

    result = np.zeros(len(means))
    fixed = np.flatnonzero(entrants & ~(spreads > 0.0))
    moving = np.flatnonzero(entrants & (spreads > 0.0))
    bar = means[fixed].max() if len(fixed) else -np.inf
    for place in moving:
        others = moving[moving != place]
        result[place] = _chance(means[place], spreads[place], means[others], spreads[others], bar)
    winners = fixed[means[fixed] == bar]
    if len(winners):
        result[winners] = np.prod(ndtr((bar - means[moving]) / spreads[moving])) / len(winners)
    result /= result.sum()
    return result


def _chance(
    mean: float, spread: float, means: FloatArray, spreads: FloatArray, bar: float
) -> float:
    """P that N(mean, spread²) exceeds the bar and all others; cut where these have their mass."""
    # Slow to import, and only needed for exact probabilities.
    from scipy.integrate import quad
    from scipy.special import ndtr

    def integrand(z: float) -> float:
        below = np.prod(ndtr((mean + spread * z - means) / spreads))
        return float(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * below)

    lowest = min(max((bar - mean) / spread, -REACH), REACH)
    cuts = np.concatenate([(means + k * spreads - mean) / spread for k in (-REACH, 0.0, REACH)])
    inside = cuts[(cuts > lowest) & (cuts < REACH)]
    points = np.unique(np.concatenate([[lowest, max(lowest, 0.0), REACH], inside]))
    pieces = pairwise(points)
    # full_output: no warning where rounding, at 1e-12 or so, is what stops the refinement.
    options = {"epsabs": 1e-12, "limit": 200, "full_output": 1}
    return float(sum(quad(integrand, *piece, **options)[0] for piece in pieces))
