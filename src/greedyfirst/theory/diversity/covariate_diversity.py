"""Covariate diversity (Assumption 3) of a sample of contexts: is greedy safe on it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from greedyfirst.theory.diversity.column_findings import ColumnFindings, inspect_columns
from greedyfirst.theory.diversity.direction_net import CELLS_PER_EDGE, DirectionNet
from greedyfirst.theory.diversity.half_plane_sweep import sweep_half_planes
from greedyfirst.theory.diversity.half_space_evaluation import (
    HalfSpaceEvaluation,
    evaluate_half_spaces,
    in_span,
)
from greedyfirst.theory.diversity.half_space_moments import (
    half_space_moment,
    in_half_space,
    smallest_eigenpair,
)
from greedyfirst.theory.diversity.half_space_search import HalfSpace, HalfSpaceSearch, whitening
from greedyfirst.theory.diversity.result import CovariateDiversity
from greedyfirst.theory.diversity.row_chunks import Contexts, RowChunks
from greedyfirst.theory.diversity.row_summary import RowSummary, summarise
from greedyfirst.theory.diversity.sampling_error import (
    SamplingError,
    bootstrap_interval,
    mean_above,
    mean_below,
)
from greedyfirst.validation import FloatArray, names, number, whole_number, wrong

# Half-spaces of the search that are evaluated on all rows; the best one's opposite is added.
N_EVALUATED = 3
# If all rows together have at most this many numbers, the search is repeated on all of them.
LARGEST_FULL_SEARCH = 200_000


def measure_diversity(
    contexts: Contexts,
    *,
    feature_names: Sequence[str] | None = None,
    x_max: float | None = None,
    confidence: float = 0.95,
    search_rows: int = 20_000,
    n_directions: int = 64,
    seed: int = 0,
) -> CovariateDiversity:
    r"""Bound λ₀ of a sample from above and below, and λ₀ of its law with confidence.

    .. math:: \lambda_0 = \min_{\|u\| = 1} \lambda_{\min}\Bigl( \frac1n \sum_i x_i x_i^\top
              1\{x_i^\top u \ge 0\} \Bigr) .

    - **Upper bound**: the value at the half-space that a search found on a random part of the rows,
      computed on all rows (`HalfSpaceSearch`). Exact in one and two dimensions
      (`sweep_half_planes`).
    - **Lower bound**: a net of directions in three dimensions (`DirectionNet`); pairs x, -x of rows
      in any dimension (`AntipodalPairs`); otherwise 0.
    - **The law's λ₀**: a bootstrap interval and concentration bounds (`SamplingError`).

    Two passes over the rows, O(n d²) time. Memory: a chunk, ``search_rows`` rows, and in one and
    two dimensions all rows.

    Parameters
    ----------
    contexts : array (n, d), sequence of arrays (·, d), or function returning an iterator of them
        The contexts, at least two rows.
    feature_names : sequence of str
        The columns' names; by default those of a data frame, else x0, x1, …
    x_max : float
        A bound on the norm of the law's contexts. By default the longest row's norm; the
        concentration bounds then assume that no context is longer.
    confidence : float
        The confidence of each interval and bound on the law's λ₀.
    search_rows : int
        The most rows that are searched; never more than half, since the bounds on the law's λ₀
        need rows that the search has not seen.
    n_directions : int
        The number of random directions from which the search starts.
    seed : int
        Seed of the random part, the search and the bootstrap.

    Returns
    -------
    CovariateDiversity
        The bounds, the half-space that was found, and a verdict.
    """
    confidence = number("confidence", confidence, above=0, below=1)
    search_rows = whole_number("search_rows", search_rows, at_least=2)
    n_directions = whole_number("n_directions", n_directions, at_least=1)
    seed = whole_number("seed", seed, at_least=0)
    rows = RowChunks(contexts)
    summary = summarise(rows, search_rows=search_rows, seed=seed)
    labels = _labels(contexts, feature_names, summary.n_features)
    prepared = _Preparation(
        summary=summary,
        findings=inspect_columns(summary, labels),
        feature_names=labels,
        x_max=_norm_bound(x_max, summary.longest),
        confidence=confidence,
    )
    if prepared.findings.one_signed is not None or prepared.findings.rank == 0:
        return prepared.result_without_search()
    basis = prepared.findings.basis
    searched = in_span(summary.searched, basis)
    search = HalfSpaceSearch(searched, np.random.default_rng((seed, 1)))
    scanned = search.scan(n_directions)
    net = None
    if prepared.findings.rank in CELLS_PER_EDGE:
        transform = whitening(searched.T @ searched / len(searched))
        net = DirectionNet(transform, per_edge=CELLS_PER_EDGE[prepared.findings.rank])
    if prepared.findings.rank <= 2:
        found = [search.evaluate(sweep_half_planes(searched))]
    else:
        found = search.run(scanned)
    # The opposite is added: one of the two keeps at most half in all rows' weakest direction.
    found = [*found[:N_EVALUATED], replace(found[0], witness=-found[0].witness)]
    checked = evaluate_half_spaces(rows, summary, basis, found, net=net, seed=seed)
    profile = np.sort([each.value for each in scanned])
    return prepared.result_of_search(_refine(checked, prepared, n_directions, seed), profile, seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Preparation:
    """What is known before the search; it makes the result."""

    summary: RowSummary
    findings: ColumnFindings
    feature_names: tuple[str, ...]
    x_max: float
    confidence: float

    @property
    def ceiling(self) -> float:
        basis = self.findings.basis
        if basis.shape[1] == 0:
            return 0.0
        return 0.5 * smallest_eigenpair(basis.T @ self.summary.second_moment @ basis)[0]

    def result_without_search(self) -> CovariateDiversity:
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
            log_chance = math.log((1.0 - self.confidence) / (2 * d))
            upper = mean_above(0.0, n, self.x_max**2, log_chance)
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
            violations=self.findings.sentences,
            sampling=self._build_sampling_error((0.0, 0.0), upper, 0.0, 0),
            profile=np.empty(0),
        )

    def result_of_search(
        self, checked: HalfSpaceEvaluation, profile: FloatArray, seed: int
    ) -> CovariateDiversity:
        """The result of a search that was evaluated on all rows."""
        basis, best = self.findings.basis, checked.best
        lower, reason = self._lower(checked)
        violations = self.findings.sentences
        if best.value == 0.0:
            violations = (*violations, _describe_zero(checked))
        return CovariateDiversity(
            feature_names=self.feature_names,
            n_rows=self.summary.n_rows,
            rank=self.findings.rank,
            upper=best.value,
            lower=min(lower, best.value),
            lower_reason=reason,
            ceiling=self.ceiling,
            witness=basis @ best.witness,
            weakest=basis @ best.weakest,
            kept_rows=checked.kept_rows,
            violations=violations,
            sampling=self._sampling_error(checked, seed),
            profile=profile,
        )

    def _lower(self, checked: HalfSpaceEvaluation) -> tuple[float, str]:
        """The best proved lower bound on the sample's λ₀, and how it is proved."""
        if checked.best.value == 0.0 or checked.is_exact:
            return checked.best.value, "exact"
        basis = self.findings.basis
        paired = smallest_eigenpair(basis.T @ self.summary.paired_moment @ basis)[0]
        if checked.net_least >= paired and checked.net_least > 0.0:
            return checked.net_least, "proved by a net of directions"
        if paired > 0.0:
            return paired, "proved by rows whose negatives are rows too"
        return 0.0, "nothing proved"

    def _sampling_error(self, checked: HalfSpaceEvaluation, seed: int) -> SamplingError:
        """Bounds on the law's λ₀, from rows that the search has not seen."""
        log_chance = math.log(1.0 - self.confidence)
        n, limit = checked.held_out_rows, self.x_max**2
        interval = bootstrap_interval(
            checked.group_sums,
            checked.group_rows,
            confidence=self.confidence,
            rng=np.random.default_rng((seed, 2)),
        )
        upper = mean_above(checked.held_out_mean, n, limit, log_chance)
        lower = 0.0
        if checked.net_least_held_out > 0.0:
            union = log_chance - math.log(checked.net_size)
            lower = mean_below(checked.net_least_held_out, n, limit, union)
        return self._build_sampling_error(interval, upper, lower, n)

    def _build_sampling_error(
        self, interval: tuple[float, float], upper: float, lower: float, held_out_rows: int
    ) -> SamplingError:
        symmetric = 0.0
        if self.ceiling > 0.0:
            symmetric = 0.5 * mean_below(
                2.0 * self.ceiling,
                self.summary.n_rows,
                self.x_max**2,
                math.log(1.0 - self.confidence),
            )
        return SamplingError(
            confidence=self.confidence,
            x_max=self.x_max,
            bootstrap=interval,
            upper=upper,
            lower=lower,
            lower_if_symmetric=symmetric,
            held_out_rows=held_out_rows,
        )


def _describe_zero(checked: HalfSpaceEvaluation) -> str:
    if checked.kept_rows == 0:
        return "a combination of columns has one sign in every row, as an intercept has"
    return f"the {checked.kept_rows} rows of a half-space do not vary where others do"


def _refine(
    checked: HalfSpaceEvaluation, prepared: _Preparation, n_directions: int, seed: int
) -> HalfSpaceEvaluation:
    """If all rows are in memory, sweep or search all of them as well."""
    if prepared.summary.all_rows is None:
        return checked
    rows = in_span(prepared.summary.all_rows, prepared.findings.basis)
    is_exact = rows.shape[1] <= 2
    if is_exact:
        directions = [sweep_half_planes(rows)]
    else:
        search = HalfSpaceSearch(rows, np.random.default_rng((seed, 3)))
        begin = [search.evaluate(u) for u in (checked.best.witness, checked.net_direction)]
        if rows.size <= LARGEST_FULL_SEARCH:
            begin.append(search.run(search.scan(n_directions))[0])
        directions = [search.improve(each).witness for each in begin]
    for direction in directions:
        value, weakest = smallest_eigenpair(half_space_moment(rows, direction) / len(rows))
        if is_exact or value < checked.best.value:
            checked = replace(
                checked,
                best=HalfSpace(value=value, witness=direction, weakest=weakest),
                kept_rows=int(in_half_space(rows, direction).sum()),
                is_exact=is_exact,
            )
    return checked


def _labels(contexts: Any, feature_names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    if feature_names is not None:
        return names("feature_names", feature_names, n_features)
    own = getattr(contexts, "columns", None)
    if own is not None:
        return names("contexts.columns", [str(name) for name in own], n_features)
    return tuple(f"x{j}" for j in range(n_features))


def _norm_bound(x_max: float | None, longest: float) -> float:
    if x_max is None:
        return longest
    bound = number("x_max", x_max, above=0)
    if bound < longest:
        raise wrong("x_max", x_max, f"at least the longest row's norm, {longest:.17g}")
    return bound
