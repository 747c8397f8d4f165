"""From what was found in rows to bounds on λ₀, of the rows and of their law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity.column_findings import ColumnFindings
from greedyfirst.theory.diversity.half_space_evaluation import HalfSpaceEvaluation
from greedyfirst.theory.diversity.half_space_moments import smallest_eigenpair
from greedyfirst.theory.diversity.result import CovariateDiversity
from greedyfirst.theory.diversity.row_summary import RowSummary
from greedyfirst.theory.diversity.sampling_error import SamplingError, mean_above, mean_below
from greedyfirst.theory.diversity.verdict import describe_rest
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Conclusion:
    """What is known before the search; it makes the result."""

    summary: RowSummary
    findings: ColumnFindings
    feature_names: tuple[str, ...]
    #: The bound on the norm of contexts that the caller gave, None if none.
    x_max: float | None
    confidence: float
    #: The same for the columns that are no constants, where there are constants.
    rest: CovariateDiversity | None

    @property
    def ceiling(self) -> float:
        """λ_min(Σ xxᵀ/n)/2 in the rows' span."""
        basis = self.findings.basis
        if basis.shape[1] == 0:
            return 0.0
        return 0.5 * smallest_eigenpair(basis.T @ self.summary.second_moment @ basis)[0]

    @property
    def longest(self) -> float:
        """The norm that no context exceeds: as given, or that of the longest row."""
        return self.summary.longest if self.x_max is None else self.x_max

    def without_search(self) -> CovariateDiversity:
        """λ₀ = 0 by a column that never changes sign, or because all rows are 0."""
        n, d, place = self.summary.n_rows, self.summary.n_features, self.findings.one_signed
        if place is None:
            witness = weakest = np.eye(d)[0]
            kept_rows, upper = n, 0.0
        else:
            weakest = self.findings.basis @ self.findings.basis[place]
            weakest /= np.linalg.norm(weakest)
            witness = -weakest if self.summary.highest[place] > 0.0 else weakest
            kept_rows = int(self.summary.zeros[place])
            # 2d half-spaces ±e_j could have been chosen, hence the union over them.
            log_chance = self._log_chance() - math.log(2 * d)
            upper = mean_above(0.0, n, self._limit_of_column(place), log_chance)
        certain = self.findings.is_certain or place is None
        return CovariateDiversity(
            feature_names=self.feature_names,
            n_rows=n,
            rank=self.findings.rank,
            upper=0.0,
            lower=0.0,
            lower_reason="exact",
            ceiling=self.ceiling,
            witness=witness,
            weakest=weakest,
            kept_rows=kept_rows,
            cause=self.findings.cause,
            doubt="" if certain else "so few rows can have one sign by chance",
            violations=self._violations(),
            sampling=self._sampling_error(0.0, upper, n),
            profile=np.empty(0),
            without_constant=self.rest,
        )

    def of_search(self, checked: HalfSpaceEvaluation, profile: FloatArray) -> CovariateDiversity:
        """The result of a search that was evaluated on all rows."""
        basis, best = self.findings.basis, checked.best
        lower, reason = self._lower(checked)
        cause, doubt, violations = "", "", self._violations()
        if best.value == 0.0:
            cause, doubt = _describe_zero(checked), checked.doubt_zero(self.confidence)
            violations = (*violations, *self._copies())
        return CovariateDiversity(
            feature_names=self.feature_names,
            n_rows=self.summary.n_rows,
            rank=self.findings.rank,
            upper=best.value,
            lower=lower,
            lower_reason=reason,
            ceiling=self.ceiling,
            witness=basis @ best.witness,
            weakest=basis @ best.weakest,
            kept_rows=checked.kept_rows,
            cause=cause,
            doubt=doubt,
            violations=violations,
            sampling=self._sampling_of_search(checked, lower),
            profile=profile,
            without_constant=None,
        )

    def _violations(self) -> tuple[str, ...]:
        if self.rest is None:
            return self.findings.sentences
        first, *others = self.findings.sentences
        return (f"{first} {describe_rest(self.rest)}", *others)

    def _copies(self) -> tuple[str, ...]:
        different, n = self.summary.distinct_rows, self.summary.n_rows
        if different is None or 2 * different > n:
            return ()
        return (
            f"Of the {n} rows {different} are different. If the others are copies, the answer is "
            f"about {different} rows only.",
        )

    def _lower(self, checked: HalfSpaceEvaluation) -> tuple[float, str]:
        """The best proved lower bound on the sample's λ₀, and how it is proved."""
        value = checked.best.value
        if value == 0.0 or checked.is_exact:
            return value, "exact"
        basis = self.findings.basis
        paired = smallest_eigenpair(basis.T @ self.summary.paired_moment @ basis)[0]
        if checked.net_least >= paired and checked.net_least > 0.0:
            return min(checked.net_least, value), "proved by a net of directions"
        if paired > 0.0:
            return min(paired, value), "proved by rows whose negatives are rows too"
        return 0.0, "by a search; nothing is proved from below"

    def _sampling_of_search(self, checked: HalfSpaceEvaluation, proved: float) -> SamplingError:
        """An interval for the law's λ₀, from rows that the search has not seen."""
        held_out = checked.held_out
        limit = held_out.longest if self.x_max is None else self.x_max**2
        upper = mean_above(held_out.mean, held_out.n_rows, limit, self._log_chance())
        lower = 0.0
        if checked.net_least_held_out > 0.0:
            union = self._log_chance() - math.log(checked.net_size)
            lower = mean_below(checked.net_least_held_out, held_out.n_rows, self.longest**2, union)
        return self._sampling_error(
            min(lower, proved), max(upper, checked.best.value), held_out.n_rows
        )

    def _log_chance(self) -> float:
        """The logarithm of the chance with which each end of the interval may fail."""
        return math.log(0.5 * (1.0 - self.confidence))

    def _limit_of_column(self, place: int) -> float:
        """A bound on the square of what a context has in the direction of a column."""
        if self.x_max is not None or self.findings.rank < self.summary.n_features:
            return self.longest**2
        return max(float(self.summary.lowest[place]) ** 2, float(self.summary.highest[place]) ** 2)

    def _sampling_error(self, lower: float, upper: float, held_out_rows: int) -> SamplingError:
        symmetric = 0.0
        if self.ceiling > 0.0:
            log_chance = math.log(1.0 - self.confidence)
            symmetric = 0.5 * mean_below(
                2.0 * self.ceiling, self.summary.n_rows, self.longest**2, log_chance
            )
        return SamplingError(
            confidence=self.confidence,
            x_max=self.longest,
            lower=lower,
            upper=upper,
            lower_if_symmetric=symmetric,
            held_out_rows=held_out_rows,
        )


def _describe_zero(checked: HalfSpaceEvaluation) -> str:
    if checked.kept_rows == 0:
        return "a combination of columns has one sign in every row, as an intercept has"
    return "some half of the rows lacks a direction that the others have"
