r"""How sure a replay's costs are: rows are a sample of those to come, and their order is random.

With ℓ the cost of policy p for row i in order o,

.. math:: \bar\ell_p = \text{mean over } o, i, \quad
          C = \frac{\operatorname{cov}_i(\bar\ell_{p\,i})}{n}
            + \frac{\operatorname{cov}_o(\bar\ell_{p\,o})}{R} :

the first part is that of n rows drawn from a population, the second that of R random orders.
Differences between policies are judged by C, and the best of several by the law of the largest
of as many correlated normal variables, with Student's correction for R orders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from greedyfirst.problems import TableProblem
from greedyfirst.simulation.episode import SmallIntArray
from greedyfirst.validation import FloatArray

LEVEL = 0.95
# Draws for the quantile of a largest one: its error is then some 0.02.
DRAWS = 20_000


class RowCosts:
    """Adds up what each policy's decisions cost, row by row."""

    def __init__(self, problem: TableProblem, n_policies: int, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.regrets = problem.row_regrets()
        self.sums = np.zeros((n_policies, problem.n_rows), np.float32)
        self.orders = 0

    def add(self, instance: int, arms: SmallIntArray) -> None:
        """The decisions (n_policies, n_rows) of one order."""
        source = np.random.SeedSequence(self.seed, spawn_key=(instance,))
        order = self.problem.order(np.random.default_rng(source), self.problem.n_rows)
        regrets = self.regrets[order]
        steps = np.arange(len(order))
        for place, taken in enumerate(arms):
            self.sums[place, order] += regrets[steps, taken]
        self.orders += 1

    def covariance(self, final: FloatArray, unit: float) -> FloatArray:
        """C, by the costs per decision (n_orders, n_policies) over all rows; NaN for one order."""
        n_rows = self.sums.shape[1]
        if len(final) < 2:
            return np.full((final.shape[1],) * 2, np.nan)
        rows = np.zeros((len(self.sums),) * 2)
        if n_rows > 1:
            rows = np.cov(unit / self.orders * self.sums) / n_rows
        orders = np.cov(final, rowvar=False) / len(final)
        total: FloatArray = np.atleast_2d(rows) + np.atleast_2d(orders)
        return total


def half_widths(covariance: FloatArray, n_orders: int) -> FloatArray:
    """Half a 95 % confidence interval of each policy's cost."""
    if n_orders < 2:
        return np.full(len(covariance), np.nan)
    quantile = stdtrit(n_orders - 1, (1 + LEVEL) / 2)
    half: FloatArray = quantile * np.sqrt(np.diag(covariance))
    return half


def largest_quantile(covariance: FloatArray, n_orders: int) -> float:
    """The quantile of the largest standardised difference, for differences of this covariance."""
    deviations = np.sqrt(np.diag(covariance))
    known = deviations > 0
    if not known.any():
        return 0.0
    scaled = covariance[np.ix_(known, known)] / np.outer(deviations[known], deviations[known])
    rng = np.random.default_rng(0)
    normal = rng.multivariate_normal(np.zeros(known.sum()), scaled, size=DRAWS, method="eigh")
    freedom = n_orders - 1
    student = normal * np.sqrt(freedom / rng.chisquare(freedom, size=DRAWS))[:, np.newaxis]
    return float(np.quantile(student.max(axis=1), LEVEL))


def gains(
    cost: FloatArray, covariance: FloatArray, base: int, others: NDArray[np.int64], n_orders: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each of ``others`` costs less than ``base``; simultaneous lower and upper bounds."""
    contrast = np.zeros((len(others), len(cost)))
    contrast[:, base] = 1.0
    contrast[np.arange(len(others)), others] -= 1.0
    gain = contrast @ cost
    spread = contrast @ covariance @ contrast.T
    half = largest_quantile(spread, n_orders) * np.sqrt(np.maximum(np.diag(spread), 0.0))
    return gain, gain - half, gain + half
