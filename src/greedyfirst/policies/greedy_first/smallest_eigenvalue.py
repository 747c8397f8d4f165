r"""The paper's statistic: the smallest eigenvalue of an arm's Gram matrix, against λ₀t/4.

Inside the span of all contexts (``span="pooled"``) it is that of :math:`G_i + \tau Z^\top Z`, Z a
basis of the span's complement and τ at least the trace of :math:`G_i`.
"""

from __future__ import annotations

import math
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.models import least_squares
from greedyfirst.numerics.eigenvalues import smallest_eigenpair
from greedyfirst.numerics.matrices import add_outer
from greedyfirst.numerics.vectors import copy, inner
from greedyfirst.policies.greedy_first.statistic import Statistic
from greedyfirst.policies.greedy_first.watch import Watch, span_rank

# Covers the rounding of G⁺ many times over.
BOUND_MARGIN = 1e-3


class SmallestEigenvalue(Statistic):
    """λ_min: it never falls as rows are added, but can when the span of all contexts grows.

    Examples
    --------
    The threshold after t rounds is λ₀t/4:

    >>> from greedyfirst.policies.greedy_first import SmallestEigenvalue
    >>> SmallestEigenvalue.threshold(0.2, 100)
    5.0
    """

    name = "smallest_eigenvalue"
    can_fall = True

    @staticmethod
    @kernel
    def lower_bound(statistic: Any, watch: Watch, arm: int) -> float:
        """λ_min ≥ 1/‖G⁺‖ by the Frobenius norm, O(d²); 0 where G⁺ is not known."""
        model = watch.samples
        inverse = model.inverse[arm]
        d = inverse.shape[0]
        rank = model.rank[arm]
        if rank < span_rank(watch, d) or (rank < d and model.refreshed_at[arm] == 0):
            return 0.0
        squares = 0.0
        for i in range(d):
            squares += inner(inverse[i], inverse[i])
        return (1.0 - BOUND_MARGIN) / math.sqrt(squares) if squares > 0.0 else 0.0

    @staticmethod
    @kernel
    def value(statistic: Any, watch: Watch, arm: int) -> float:
        """λ_min, 0 while singular; its eigenvector into ``watch.weakest``: O(d³)."""
        model = watch.samples
        least_squares.settle(model, arm)
        matrix, gram = watch.matrix, model.settled_gram[arm]
        d = matrix.shape[0]
        trace = 0.0
        for i in range(d):
            trace += gram[i, i]
            copy(gram[i], matrix[i])
        rank = span_rank(watch, d)
        for k in range(d - rank):
            add_outer(matrix, watch.basis[k], trace + 1.0)
        watch.eigenvalue_computations += 1
        smallest = smallest_eigenpair(matrix, watch.work, watch.weakest[arm])
        if model.rank[arm] < rank:
            return 0.0
        return max(smallest, 0.0)

    @staticmethod
    def threshold(lambda0: float, rounds: float) -> float:
        """λ₀t/4."""
        return lambda0 * rounds / 4.0

    @staticmethod
    def rounds_allowed(lambda0: float, value: float) -> float:
        """4λ_min/λ₀."""
        return 4.0 * value / lambda0

    @staticmethod
    def lambda0_from(value: float, rounds: float) -> float:
        """λ_min/(2t) (Algorithm 5)."""
        return value / (2.0 * rounds)
