"""Sums of a block of rows for one step of Newton's method, arm by arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for
from greedyfirst.links.link import curvature, extreme, log_likelihood, score
from greedyfirst.models.likelihood import GeneralizedLinear, evaluate, objective
from greedyfirst.models.separation import square_scores
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray, IntArray


@dataclass(kw_only=True, eq=False)
class LikelihoodSums:
    """ℓ (n_arms,), its gradient (n_arms, d), and a matrix (n_arms, d, d), at a point for each arm.

    The matrix is minus the second derivatives, or Σ score²·xx' as
    :mod:`greedyfirst.models.separation` needs it.
    """

    value: FloatArray
    gradient: FloatArray
    matrix: FloatArray

    @classmethod
    def zero(cls, n_arms: int, d: int) -> LikelihoodSums:
        """Sums of no rows."""
        shapes = (n_arms,), (n_arms, d), (n_arms, d, d)
        value, gradient, matrix = (np.zeros(shape) for shape in shapes)
        return cls(value=value, gradient=gradient, matrix=matrix)

    def add(self, other: LikelihoodSums) -> None:
        """Add the sums of other rows."""
        self.value += other.value
        self.gradient += other.gradient
        self.matrix += other.matrix


def sum_likelihood(
    link: Any,
    columns: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
    points: FloatArray,
    *,
    squared: bool,
) -> LikelihoodSums:
    """The sums of rows whose features are ``columns`` (d, n), at ``points`` (n_arms, d)."""
    sums = LikelihoodSums.zero(*points.shape)
    entry = entry_for(_add_up, link)
    found = sums.value, sums.gradient, sums.matrix, np.zeros(points.shape[1])
    run(entry, link, columns, arms, rewards, points, squared, *found)
    return sums


def _add_up(
    link: Any,
    columns: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
    points: FloatArray,
    squared: bool,
    value: FloatArray,
    gradient: FloatArray,
    matrix: FloatArray,
    x: FloatArray,
) -> None:
    d, n = columns.shape
    for row in range(n):
        arm, reward = arms[row], rewards[row]
        for i in range(d):
            x[i] = columns[i, row]
        z = inner(points[arm], x)
        first, second = score(link, z, reward), curvature(link, z, reward)
        value[arm] += log_likelihood(link, z, reward)
        add_multiple(gradient[arm], first, x)
        weight = second
        if squared:
            weight = first * first
            if extreme(link, reward) == 0.0:
                weight += second
        for i in range(d):
            add_multiple(matrix[arm, i], weight * x[i], x)


def own_sums(
    model: GeneralizedLinear, points: FloatArray, weight: float, *, squared: bool
) -> LikelihoodSums:
    """The sums of the rows that the model keeps, less the ridge's penalty of this ``weight``."""
    sums = LikelihoodSums.zero(*points.shape)
    found = sums.value, sums.gradient, sums.matrix
    run(entry_for(_own, model), model, points, weight, squared, *found)
    return sums


def _own(
    model: GeneralizedLinear,
    points: FloatArray,
    weight: float,
    squared: bool,
    value: FloatArray,
    gradient: FloatArray,
    matrix: FloatArray,
) -> None:
    for arm in range(points.shape[0]):
        if model.linear.pulls[arm] == 0:
            continue
        value[arm] = objective(model, arm, points[arm], weight)
        evaluate(model, arm, points[arm], weight)
        copy(model.gradient, gradient[arm])
        if squared:
            square_scores(model, arm, points[arm])
        for i in range(points.shape[1]):
            copy(model.squared[i] if squared else model.hessian[i], matrix[arm, i])
