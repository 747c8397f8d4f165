"""Columns in which covariate diversity fails, and the span of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity import column_sentences
from greedyfirst.theory.diversity.column_kinds import ColumnKinds, sort_columns
from greedyfirst.theory.diversity.row_summary import RowSummary
from greedyfirst.validation import FloatArray

# A column, scaled to unit mean square, is a combination of others when the residual of its
# regression on them has a mean square below d times this. Sums of squares cannot resolve less.
COLLINEAR = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFindings:
    """Columns in which covariate diversity fails, and the span of the rows."""

    #: One sentence or two for each kind of finding; constants come first.
    sentences: tuple[str, ...]
    #: Why columns make λ₀ = 0, as a clause; empty where none does.
    cause: str
    #: The column that never changes sign and so makes λ₀ = 0, None where all change it.
    one_signed: int | None
    #: Whether that is no accident of few rows.
    is_certain: bool
    #: Columns that are the same number, not 0, in every row.
    constant: tuple[int, ...]
    #: Orthonormal columns that span the rows (d, rank); the identity where rank = d.
    basis: FloatArray

    @property
    def rank(self) -> int:
        """The dimension of the rows' span."""
        return int(self.basis.shape[1])


def inspect_columns(
    summary: RowSummary, names: tuple[str, ...], *, confidence: float
) -> ColumnFindings:
    """Find constant, one-signed and collinear columns.

    A column with x_j ≥ 0 in every row makes λ₀ exactly 0: u = -e_j keeps only rows with x_j = 0,
    and among them nothing is seen of v = e_j.

    Constants and columns of 0 and 1 have one sign by what they are. Of other numbers, if each sign
    were as likely as the other, one of d columns would have one sign in k non-zero rows with a
    chance of at most 2d/2^k. Above 1 - ``confidence`` that is called an accident.
    """
    kinds = sort_columns(summary, names)
    place = _steadiest(summary, kinds)
    filled = summary.n_rows - summary.zeros
    certain = any(
        2 * len(names) * 0.5 ** filled[j] <= 1.0 - confidence for j in kinds.one_signed_numbers
    )
    basis, combinations = _span(summary, names)
    sentences = [
        column_sentences.about_constants(
            [(names[j], float(summary.lowest[j])) for j in kinds.constant]
        ),
        column_sentences.about_zeros([names[j] for j in kinds.zero]),
        column_sentences.about_dummies(kinds.dummies, names),
        column_sentences.about_indicators([names[j] for j in kinds.indicators]),
        column_sentences.about_one_signed(
            [
                # Adding 0.0 turns -0.0 into 0.0.
                (names[j], float(summary.lowest[j]) + 0.0, float(summary.highest[j]) + 0.0)
                for j in kinds.one_signed_numbers
            ],
            # A schema's intercept stays one, also where rows are divided by their lengths.
            alone=not kinds.constant and not kinds.dummies and "intercept" not in names,
        ),
        column_sentences.about_span(combinations, summary.n_rows, len(names), basis.shape[1]),
    ]
    if place is None:
        # Where a column has one sign, λ₀ = 0 in all units.
        sentences.append(
            column_sentences.about_units(np.sqrt(np.diagonal(summary.second_moment)), names)
        )
    return ColumnFindings(
        sentences=tuple(sentence for sentence in sentences if sentence),
        cause=column_sentences.cause(kinds, names),
        one_signed=place,
        is_certain=kinds.has_one_sign_by_nature or certain,
        constant=kinds.constant,
        basis=basis,
    )


def _steadiest(summary: RowSummary, kinds: ColumnKinds) -> int | None:
    """Of the columns that never change sign the one nearest to a constant."""
    place, steadiest = None, -1.0
    for j in kinds.one_signed:
        least = min(abs(float(summary.lowest[j])), abs(float(summary.highest[j])))
        steadiness = least / float(np.sqrt(summary.second_moment[j, j]))
        if steadiness > steadiest:
            place, steadiest = j, steadiness
    return place


def _span(summary: RowSummary, names: tuple[str, ...]) -> tuple[FloatArray, list[str]]:
    """A basis of the rows' span, and each dependent column in terms of the ones before it."""
    G = summary.second_moment
    d = len(names)
    scales = np.sqrt(np.diagonal(G))
    used = scales > 0.0
    safe = np.where(used, scales, 1.0)
    scaled = G / safe / safe[:, np.newaxis]
    independent: list[int] = []
    combinations: list[str] = []
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
            combinations.append(column_sentences.equation(j, combination * safe, safe, names))
    if not null:
        return np.eye(d), combinations
    # The complement of the combinations that vanish: the last left singular vectors.
    vanishing = np.array([each / np.linalg.norm(each) for each in null]).T
    complete = np.linalg.svd(vanishing, full_matrices=True)[0]
    return np.ascontiguousarray(complete[:, len(null) :]), combinations
