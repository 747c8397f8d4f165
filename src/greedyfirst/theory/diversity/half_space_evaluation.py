"""The second pass over the contexts: the half-spaces of a search, evaluated on all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity.direction_net import DirectionNet
from greedyfirst.theory.diversity.half_space_moments import in_half_space, smallest_eigenpair
from greedyfirst.theory.diversity.half_space_search import HalfSpace
from greedyfirst.theory.diversity.row_chunks import RowChunks
from greedyfirst.theory.diversity.row_summary import RowSummary, chunks_with_held_out
from greedyfirst.theory.diversity.sampling_error import GROUPS
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class HalfSpaceEvaluation:
    """Sums over all rows, and over those that the search has not seen."""

    #: The half-space that keeps least of all rows, and the number of rows it keeps.
    best: HalfSpace
    kept_rows: int
    #: The first half-space on held-out rows, by group: Σ (xᵀv)² 1{xᵀu ≥ 0}, and rows (k,).
    group_sums: FloatArray
    group_rows: FloatArray
    #: The least λ_min over the net: of all rows, and of held-out rows; 0 without a net.
    net_least: float
    net_least_held_out: float
    net_size: int
    #: The direction (r,) at which the net's bound is least: a start for a search of all rows.
    net_direction: FloatArray
    #: Whether ``best`` is the least of all half-spaces.
    is_exact: bool = False

    @property
    def held_out_rows(self) -> int:
        """The number of rows that the search has not seen."""
        return int(self.group_rows.sum())

    @property
    def held_out_mean(self) -> float:
        """The mean of (xᵀv)² 1{xᵀu ≥ 0} over held-out rows."""
        return float(self.group_sums.sum() / self.group_rows.sum())


def evaluate_half_spaces(
    rows: RowChunks,
    summary: RowSummary,
    basis: FloatArray,
    found: list[HalfSpace],
    *,
    net: DirectionNet | None,
    seed: int,
) -> HalfSpaceEvaluation:
    """Read all rows once more; O(n d²) time for each half-space, O(d²) memory.

    Parameters
    ----------
    rows : RowChunks
        The contexts.
    summary : RowSummary
        The result of the first pass.
    basis : array (d, r)
        An orthonormal basis of the rows' span; the half-spaces are in its coordinates.
    found : list of HalfSpace
        The half-spaces; the first one is also evaluated on held-out rows.
    net : DirectionNet or None
        The net of the lower bound, for r ≤ 3.
    seed : int
        The seed of the first pass.
    """
    r = basis.shape[1]
    moments = np.zeros((len(found), r, r))
    counts = np.zeros(len(found), dtype=np.int64)
    group_sums, group_rows = np.zeros(GROUPS), np.zeros(GROUPS)
    cells = None if net is None else (net.zero_sums(), net.zero_sums())
    start = 0
    for chunk, held in chunks_with_held_out(rows, seed, summary.largest_key):
        z = in_span(chunk, basis)
        for place, each in enumerate(found):
            inside = in_half_space(z, each.witness)
            chosen = z[inside]
            moments[place] += chosen.T @ chosen
            counts[place] += int(inside.sum())
            if place == 0:
                values = np.where(inside[held], (z[held] @ each.weakest) ** 2, 0.0)
                groups = (start + np.flatnonzero(held)) % GROUPS
                group_sums += np.bincount(groups, weights=values, minlength=GROUPS)
                group_rows += np.bincount(groups, minlength=GROUPS)
        if net is not None and cells is not None:
            net.add_rows(z[held], cells[0])
            net.add_rows(z[~held], cells[1])
        start += len(chunk)
    if start != summary.n_rows:
        raise ValueError(
            "contexts must be the same rows each time they are read, "
            f"got {summary.n_rows} rows, then {start}"
        )
    pairs = [smallest_eigenpair(moment / summary.n_rows) for moment in moments]
    first = int(np.argmin([value for value, _ in pairs]))
    value, weakest = pairs[first]
    least, least_held_out, net_direction = 0.0, 0.0, found[0].witness
    if net is not None and cells is not None:
        sums = (cells[0] + cells[1], cells[0])
        answers = net.lower_bounds(sums, (summary.n_rows, int(group_rows.sum())))
        (least, net_direction), (least_held_out, _) = answers
    return HalfSpaceEvaluation(
        best=HalfSpace(value=value, witness=found[first].witness, weakest=weakest),
        kept_rows=int(counts[first]),
        group_sums=group_sums,
        group_rows=group_rows,
        net_least=least,
        net_least_held_out=least_held_out,
        net_direction=net_direction,
        net_size=0 if net is None else len(net),
    )


def in_span(rows: FloatArray, basis: FloatArray) -> FloatArray:
    """The rows' coordinates (n, r) in the span; the rows themselves where they span everything."""
    if basis.shape[0] == basis.shape[1]:
        return rows
    result: FloatArray = rows @ basis
    return result
