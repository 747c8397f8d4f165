"""The second pass over the contexts: what the half-spaces that a search found keep of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.diversity.direction_net import DirectionNet
from greedyfirst.theory.diversity.half_space_moments import kept, smallest_eigenpair
from greedyfirst.theory.diversity.half_space_search import Found
from greedyfirst.theory.diversity.row_chunks import RowChunks
from greedyfirst.theory.diversity.row_summary import RowSummary, split_chunks
from greedyfirst.theory.diversity.sampling_error import GROUPS
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedWitnesses:
    """Sums over all rows, and over those that the search has not seen."""

    #: The half-space that keeps least of all rows, and the number of rows it keeps.
    best: Found
    kept_rows: int
    #: Of the first half-space, over held-out rows by group: Σ (xᵀv)² 1{xᵀu ≥ 0}, and rows (k,).
    group_sums: FloatArray
    group_rows: FloatArray
    #: The least λ_min over the net: of all rows, and of held-out rows; 0 without a net.
    net_least: float
    net_least_held_out: float
    net_size: int
    #: The direction at which the net's bound is least, where a search of all rows may go on.
    suspect: FloatArray
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


def check_witnesses(
    rows: RowChunks,
    summary: RowSummary,
    basis: FloatArray,
    found: list[Found],
    *,
    net: DirectionNet | None,
    seed: int,
) -> CheckedWitnesses:
    """Read all rows once more; O(n d²) time for each half-space, O(d²) memory.

    Parameters
    ----------
    rows : RowChunks
        The contexts.
    summary : RowSummary
        Of the first pass.
    basis : array (d, r)
        Of the rows' span; the half-spaces are in its coordinates.
    found : list of Found
        The half-spaces; the first is the one that held-out rows judge.
    net : DirectionNet or None
        For r ≤ 3, the net of the lower bound.
    seed : int
        Of the first pass's sample.
    """
    r = basis.shape[1]
    moments = np.zeros((len(found), r, r))
    counts = np.zeros(len(found), dtype=np.int64)
    group_sums, group_rows = np.zeros(GROUPS), np.zeros(GROUPS)
    cells = None if net is None else (net.empty(), net.empty())
    start = 0
    for chunk, held in split_chunks(rows, seed, summary.cut):
        z = in_span(chunk, basis)
        for place, each in enumerate(found):
            inside = kept(z, each.witness)
            chosen = z[inside]
            moments[place] += chosen.T @ chosen
            counts[place] += int(inside.sum())
            if place == 0:
                values = np.where(inside[held], (z[held] @ each.weakest) ** 2, 0.0)
                groups = (start + np.flatnonzero(held)) % GROUPS
                group_sums += np.bincount(groups, weights=values, minlength=GROUPS)
                group_rows += np.bincount(groups, minlength=GROUPS)
        if net is not None and cells is not None:
            net.deposit(z[held], cells[0])
            net.deposit(z[~held], cells[1])
        start += len(chunk)
    if start != summary.n_rows:
        raise ValueError(
            "contexts must be the same rows each time they are read, "
            f"got {summary.n_rows} rows, then {start}"
        )
    pairs = [smallest_eigenpair(moment / summary.n_rows) for moment in moments]
    first = int(np.argmin([value for value, _ in pairs]))
    value, weakest = pairs[first]
    least, least_held_out, suspect = 0.0, 0.0, found[0].witness
    if net is not None and cells is not None:
        sums = (cells[0] + cells[1], cells[0])
        answers = net.least(sums, (summary.n_rows, int(group_rows.sum())))
        (least, suspect), (least_held_out, _) = answers
    return CheckedWitnesses(
        best=Found(value=value, witness=found[first].witness, weakest=weakest),
        kept_rows=int(counts[first]),
        group_sums=group_sums,
        group_rows=group_rows,
        net_least=least,
        net_least_held_out=least_held_out,
        suspect=suspect,
        net_size=0 if net is None else len(net),
    )


def in_span(rows: FloatArray, basis: FloatArray) -> FloatArray:
    """The rows' coordinates (n, r) in the span; the rows themselves where they span everything."""
    if basis.shape[0] == basis.shape[1]:
        return rows
    result: FloatArray = rows @ basis
    return result
