r"""Ridge regression whose penalty falls with every row: the practice of the paper's figures.

.. math:: \hat\beta = (G + p^2I)^{-1}m, \quad p = \lVert X\rVert_2/n .

No inverse serves twice, so one for a penalty nearby is used: :math:`P = (G + q^2I)^{-1}` is kept by
rank-one updates for a q² within ``NEAR`` of p², and
:math:`\hat\beta \leftarrow P(m - (p^2 - q^2)\hat\beta)` is repeated from the last estimate on: its
error falls to ``NEAR`` of it or less each time. Some O(d²) a row, where a fresh solution is O(d³).
"""

from __future__ import annotations

import math

from greedyfirst.compiling.kernels import kernel
from greedyfirst.numerics.eigenvalues import largest_eigenvalue
from greedyfirst.numerics.matrices import add_outer, invert, multiply
from greedyfirst.numerics.vectors import copy, inner
from greedyfirst.validation import FloatArray

# How far, as a share, p² may be from q²; q² is set so that p² falls through the whole range.
NEAR = 0.05
# The estimate is corrected until it changes by less than this share, which rounding may prevent.
LAST_CHANGE = 1e-9
CORRECTIONS = 20


@kernel
def ridge(
    gram: FloatArray,
    moment: FloatArray,
    count: float,
    x: FloatArray,
    penalty: float,
    inverse: FloatArray,
    top: FloatArray,
    estimate: FloatArray,
    scratch: FloatArray,
    matrix: FloatArray,
) -> float:
    """Bring ``estimate`` up to date after row x, which G and m contain; the penalty q² in use.

    ``inverse`` (d, d) is that of G + q²I before x for q² = ``penalty``, or anything for 0; ``top``
    (d,) the last first eigenvector of G, 0 before the first row. ``scratch`` (3, d) and ``matrix``
    (d, d) are overwritten.
    """
    d = x.shape[0]
    if not inner(top, top) > 0.0:
        for i in range(d):
            top[i] = math.sqrt(gram[i, i])
    if not inner(top, top) > 0.0:
        return 0.0
    wanted = largest_eigenvalue(gram, top, scratch) / (count * count)
    v, shifted = scratch[0], scratch[1]
    if abs(wanted - penalty) <= NEAR * penalty:
        add_outer(inverse, v, -1.0 / (1.0 + multiply(inverse, x, v)))
    else:
        penalty = wanted / (1.0 + NEAR)
        for i in range(d):
            copy(gram[i], matrix[i])
            matrix[i, i] += penalty
        if not invert(matrix, inverse, v):
            return 0.0
    for _ in range(CORRECTIONS):
        for i in range(d):
            shifted[i] = moment[i] - (wanted - penalty) * estimate[i]
        multiply(inverse, shifted, v)
        change = 0.0
        for i in range(d):
            change += (v[i] - estimate[i]) * (v[i] - estimate[i])
        copy(v, estimate)
        if change <= LAST_CHANGE * LAST_CHANGE * inner(v, v):
            break
    return penalty
