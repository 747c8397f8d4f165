"""Few rows that stand for many: how samples are handed over.

At most d rows per arm have the same Gram matrix and moments as all of an arm's rows, which is all
that least squares and Gaussian posteriors learn from them.
"""

from __future__ import annotations

import math

from greedyfirst.compiling.records import Record, floats, part
from greedyfirst.compiling.routines import routine
from greedyfirst.models.least_squares import LeastSquares, settle
from greedyfirst.numerics.matrices import eigen
from greedyfirst.numerics.vectors import inner
from greedyfirst.validation import FloatArray

# Eigenvalues of a unit-diagonal G below this share of d are rounding.
SUMMARY_CUT = 1e-14


class Summary(Record):
    """The rows that stand for an arm's samples."""

    samples: LeastSquares = part(shared=True)
    #: The rows, 0 for those that are not needed, and their rewards.
    rows: FloatArray = floats("d", "d")
    rewards: FloatArray = floats("d")
    # Scratch.
    directions: FloatArray = floats("d", "d")
    scale: FloatArray = floats("d")
    scaled: FloatArray = floats("d")


@routine(Summary)
def summarise(summary: Summary, arm: int) -> None:
    r"""At most d rows with the same G and m as all rows of an arm.

    With S the roots of G's diagonal and :math:`S^{-1}GS^{-1} = \sum \lambda uu^\top`, the rows are
    :math:`\sqrt\lambda Su` with rewards :math:`u^\top S^{-1}m/\sqrt\lambda`.
    """
    samples = summary.samples
    settle(samples, arm)
    gram, moment = samples.settled_gram[arm], samples.moment[arm]
    rows, directions, rewards = summary.rows, summary.directions, summary.rewards
    scale, scaled = summary.scale, summary.scaled
    d = gram.shape[0]
    for i in range(d):
        scale[i] = math.sqrt(gram[i, i])
        scaled[i] = moment[i] / scale[i] if scale[i] > 0.0 else 0.0
    for i in range(d):
        for j in range(d):
            product = scale[i] * scale[j]
            rows[i, j] = gram[i, j] / product if product > 0.0 else 0.0
    eigen(rows, directions, rewards)
    for k in range(d):
        root = math.sqrt(rewards[k]) if rewards[k] > SUMMARY_CUT * d else 0.0
        rewards[k] = inner(directions[k], scaled) / root if root > 0.0 else 0.0
        for i in range(d):
            rows[k, i] = directions[k, i] * root * scale[i]
