"""Covariate diversity (Assumption 3) of a sample of contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from greedyfirst.theory.diversity.column_findings import inspect_columns
from greedyfirst.theory.diversity.conclusion import Conclusion
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
from greedyfirst.validation import names, number, whole_number, wrong

# Half-spaces of the search that are evaluated on all rows; the best one's opposite is added.
N_EVALUATED = 3
# If all rows together have at most this many numbers, the search is repeated on all of them.
LARGEST_FULL_SEARCH = 200_000
# Numbers up to this, and down to its inverse, have squares and sums of squares.
LARGEST_NUMBER = 1e100


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
    - **The law's λ₀**: an interval by concentration inequalities (`SamplingError`).

    Two passes over the rows, O(n d²) time. Memory: a chunk, ``search_rows`` rows, and in one and
    two dimensions all rows.

    Parameters
    ----------
    contexts : array (n, d), sequence of arrays (·, d), or function returning an iterator of them
        The contexts, at least two rows.
    feature_names : sequence of str
        The columns' names; by default those of a data frame, else x0, x1, …
    x_max : float
        A bound on the norm of the law's contexts. By default the interval for the law's λ₀ supposes
        that contexts reach no further than the rows do.
    confidence : float
        The confidence of the interval for the law's λ₀, and with which λ₀ = 0 is called no
        accident of few rows.
    search_rows : int
        The most rows that are searched; never more than half, since the bounds on the law's λ₀
        need rows that the search has not seen.
    n_directions : int
        The number of random directions from which the search starts.
    seed : int
        Seed of the random part and the search.

    Returns
    -------
    CovariateDiversity
        The bounds, the half-space that was found, and a verdict.

    Examples
    --------
    With an intercept one half-space holds no row at all, so λ₀ = 0 and greedy is promised nothing:

    >>> import numpy as np
    >>> from greedyfirst.theory import measure_diversity
    >>> ages = np.random.default_rng(0).uniform(-1, 1, size=500)
    >>> measure_diversity(np.column_stack([np.ones(500), ages])).upper
    0.0
    """
    confidence = number("confidence", confidence, above=0, below=1)
    search_rows = whole_number("search_rows", search_rows, at_least=2)
    n_directions = whole_number("n_directions", n_directions, at_least=1)
    seed = whole_number("seed", seed, at_least=0)
    rows = RowChunks(contexts)
    summary = summarise(rows, search_rows=search_rows, seed=seed)
    labels = _labels(contexts, feature_names, summary.n_features)
    _check_sizes(summary, labels)
    findings = inspect_columns(summary, labels, confidence=confidence)
    rest = None
    others = [j for j in range(len(labels)) if summary.lowest[j] != summary.highest[j]]
    if findings.constant and others:
        rest = measure_diversity(
            lambda: (chunk[:, others] for chunk in rows),
            feature_names=[labels[j] for j in others],
            x_max=x_max,
            confidence=confidence,
            search_rows=search_rows,
            n_directions=n_directions,
            seed=seed,
        )
    prepared = Conclusion(
        summary=summary,
        findings=findings,
        feature_names=labels,
        x_max=_norm_bound(x_max, summary.longest),
        confidence=confidence,
        rest=rest,
    )
    if findings.one_signed is not None or findings.rank == 0:
        return prepared.without_search()
    return _search(rows, prepared, n_directions=n_directions, seed=seed)


def _search(
    rows: RowChunks, prepared: Conclusion, *, n_directions: int, seed: int
) -> CovariateDiversity:
    """Search a part of the rows for the weakest half-space, and evaluate it on all of them."""
    summary, basis, rank = prepared.summary, prepared.findings.basis, prepared.findings.rank
    searched = in_span(summary.searched, basis)
    search = HalfSpaceSearch(searched, np.random.default_rng((seed, 1)))
    scanned = search.scan(n_directions)
    net = None
    if rank in CELLS_PER_EDGE:
        transform = whitening(searched.T @ searched / len(searched))
        net = DirectionNet(transform, per_edge=CELLS_PER_EDGE[rank])
    found = [search.evaluate(sweep_half_planes(searched))] if rank <= 2 else search.run(scanned)
    # The opposite is added: one of the two keeps at most half in all rows' weakest direction.
    found = [*found[:N_EVALUATED], replace(found[0], witness=-found[0].witness)]
    checked = evaluate_half_spaces(rows, summary, basis, found, net=net, seed=seed)
    profile = np.sort([each.value for each in scanned])
    return prepared.of_search(_refine(checked, prepared, n_directions, seed), profile)


def _refine(
    checked: HalfSpaceEvaluation, prepared: Conclusion, n_directions: int, seed: int
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


def _check_sizes(summary: RowSummary, labels: tuple[str, ...]) -> None:
    """Refuse numbers whose squares would overflow or vanish."""
    largest = np.maximum(np.abs(summary.lowest), np.abs(summary.highest))
    for name, size in zip(labels, largest, strict=True):
        if size > LARGEST_NUMBER or 0.0 < size < 1.0 / LARGEST_NUMBER:
            raise ValueError(
                f"column {name!r} has numbers of the size {size:.0e}, whose squares cannot be "
                "computed with; change its unit"
            )


def _norm_bound(x_max: float | None, longest: float) -> float | None:
    if x_max is None:
        return None
    bound = number("x_max", x_max, above=0)
    if bound < longest:
        raise wrong("x_max", x_max, f"at least the longest row's norm, {longest:.17g}")
    return bound
