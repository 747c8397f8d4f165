"""Columns in which covariate diversity fails, as sentences with the columns' names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity.row_summary import RowSummary
from greedyfirst.validation import FloatArray

# A column, scaled to unit mean square, is a combination of others when the residual of its
# regression on them has a mean square below d times this. Sums of squares cannot resolve less.
COLLINEAR = 1e-12
# Coefficients of a combination below this (columns scaled) are left out of its text.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFindings:
    """Columns in which covariate diversity fails, and the span of the rows."""

    #: One sentence for each finding.
    sentences: tuple[str, ...]
    #: The column that never changes sign and so makes λ₀ = 0, None where all change it.
    one_signed: int | None
    #: Orthonormal columns that span the rows (d, rank); the identity where rank = d.
    basis: FloatArray

    @property
    def rank(self) -> int:
        """The dimension of the rows' span."""
        return int(self.basis.shape[1])


def inspect_columns(summary: RowSummary, names: tuple[str, ...]) -> ColumnFindings:
    """Find constant, one-signed and collinear columns.

    A column with x_j ≥ 0 in every row makes λ₀ exactly 0: u = -e_j keeps only rows with x_j = 0,
    and among them nothing is seen of v = e_j.
    """
    constant: list[str] = []
    others: list[str] = []
    place, steadiest = None, -1.0
    for j, name in enumerate(names):
        low, high = float(summary.lowest[j]), float(summary.highest[j])
        if low == high == 0.0:
            constant.append(f"{name} is 0 in every row")
        elif low >= 0.0 or high <= 0.0:
            (constant if low == high else others).append(_one_signed(name, low, high))
            # Of several such columns the one nearest to a constant is the witness; 1 if constant.
            steadiness = min(abs(low), abs(high)) / float(np.sqrt(summary.second_moment[j, j]))
            if steadiness > steadiest:
                place, steadiest = j, steadiness
    basis, combinations = _span(summary, names)
    return ColumnFindings(
        sentences=(*constant, *combinations, *others), one_signed=place, basis=basis
    )


def _one_signed(name: str, low: float, high: float) -> str:
    if low == high:
        return (
            f"{name} is {low:g} in every row, an intercept: the half-space that wants it "
            f"{'negative' if low > 0.0 else 'positive'} keeps no row"
        )
    side, other = ("below", "negative") if low >= 0.0 else ("above", "positive")
    return (
        f"{name} is never {side} 0 (from {low:g} to {high:g}): the half-space that wants it "
        f"{other} keeps no row in which it varies"
    )


def _span(summary: RowSummary, names: tuple[str, ...]) -> tuple[FloatArray, list[str]]:
    """A basis of the rows' span, and each dependent column in terms of the ones before it."""
    G = summary.second_moment
    d = len(names)
    scales = np.sqrt(np.diagonal(G))
    used = scales > 0.0
    safe = np.where(used, scales, 1.0)
    scaled = G / safe / safe[:, np.newaxis]
    independent: list[int] = []
    sentences: list[str] = []
    null: list[FloatArray] = []
    for j in range(d):
        block = scaled[np.ix_(independent, independent)]
        weights = np.linalg.solve(block, scaled[independent, j]) if independent else np.empty(0)
        left = scaled[j, j] - 2.0 * weights @ scaled[independent, j] + weights @ block @ weights
        if left > COLLINEAR * d and used[j]:
            independent.append(j)
            continue
        combination = np.zeros(d)
        combination[j] = -1.0 / safe[j]
        combination[independent] = weights / scales[independent]
        null.append(combination)
        if used[j]:
            sentences.append(_describe(j, combination * safe, safe, names))
    if not null:
        return np.eye(d), sentences
    # The complement of the combinations that vanish: the last left singular vectors.
    vanishing = np.array([each / np.linalg.norm(each) for each in null]).T
    complete = np.linalg.svd(vanishing, full_matrices=True)[0]
    return np.ascontiguousarray(complete[:, len(null) :]), sentences


def _describe(j: int, weights: FloatArray, scales: FloatArray, names: tuple[str, ...]) -> str:
    """Column j as a sum of others: "c = 2·a - 0.5·b"."""
    terms = ""
    for k in np.flatnonzero(np.abs(weights) > NEGLIGIBLE):
        if k != j:
            value = float(weights[k] * scales[j] / scales[k])
            sign = "-" if value < 0.0 else "+"
            factor = "" if abs(abs(value) - 1.0) < 1e-9 else f"{abs(value):.4g}·"
            terms += f" {sign} {factor}{names[k]}"
    text = terms.strip()
    text = text[2:] if text.startswith("+ ") else text.replace("- ", "-", 1)
    return f"{names[j]} is a combination of other columns: {names[j]} = {text}"
