"""The second pass over the contexts: the half-spaces of a search, evaluated on all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory.diversity.direction_net import DirectionNet
from greedyfirst.theory.diversity.half_space_moments import in_half_space, smallest_eigenpair
from greedyfirst.theory.diversity.half_space_search import HalfSpace
from greedyfirst.theory.diversity.row_chunks import RowChunks
from greedyfirst.theory.diversity.row_summary import RowSummary, chunks_with_held_out
from greedyfirst.validation import FloatArray

# A row does not vary in the direction v if |xᵀv| is at most this share of Σ|x_j v_j|. Eigenvalues
# that count as 0 (`half_space_moments.SINGULAR`) leave up to its square.
NO_VARIATION = 1e-6


@dataclass(frozen=True, kw_only=True)
class HeldOutRows:
    """The first half-space {xᵀu ≥ 0} and its direction v, on rows that the search has not seen."""

    n_rows: int
    #: Σ (xᵀv)² 1{xᵀu ≥ 0}/n over these rows.
    mean: float
    #: How many rows with xᵀv ≠ 0 lie inside the half-space, and how many outside.
    inside: int
    outside: int
    #: The largest (xᵀv)² of all rows, searched ones included.
    longest: float

    def doubt_zero(self, confidence: float) -> str:
        """Why λ_min = 0 on searched rows may be an accident, as a clause; empty if it is none.

        Under a law that is the same at x and -x each row with xᵀv ≠ 0 lies inside with a chance of
        at least 1/2, so that all k lie outside with a chance of at most 2^-k. That is below
        1 - ``confidence`` where there is no doubt.
        """
        if self.inside > 0:
            return (
                f"of {self.n_rows} rows set aside to check this, {self.inside} in the half that "
                f"was found {'has' if self.inside == 1 else 'have'} that direction"
            )
        if 0.5**self.outside > 1.0 - confidence:
            return "too few of the rows set aside to check this have that direction"
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class HalfSpaceEvaluation:
    """Sums over all rows, and over those that the search has not seen."""

    #: The half-space that keeps least of all rows, and the number of rows it keeps.
    best: HalfSpace
    kept_rows: int
    #: What the first half-space keeps of held-out rows, and its λ_min on searched ones.
    held_out: HeldOutRows
    searched_value: float
    #: The least λ_min over the net: of all rows, and of held-out rows; 0 without a net.
    net_least: float
    net_least_held_out: float
    net_size: int
    #: The direction (r,) at which the net's bound is least: a start for a search of all rows.
    net_direction: FloatArray
    #: Whether ``best`` is the least of all half-spaces.
    is_exact: bool = False

    def doubt_zero(self, confidence: float) -> str:
        """Why λ₀ = 0 may be an accident of these rows, as a clause; empty if it is none."""
        if self.searched_value > 0.0:
            return "a search of one part of the rows did not find such a half"
        return self.held_out.doubt_zero(confidence)


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
    held_out = _HeldOutSums(found[0])
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
                held_out.add(z, inside, held)
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
        answers = net.lower_bounds(sums, (summary.n_rows, held_out.n_rows))
        (least, net_direction), (least_held_out, _) = answers
    return HalfSpaceEvaluation(
        best=HalfSpace(value=value, witness=found[first].witness, weakest=weakest),
        kept_rows=int(counts[first]),
        held_out=held_out.result(),
        searched_value=found[0].value,
        net_least=least,
        net_least_held_out=least_held_out,
        net_direction=net_direction,
        net_size=0 if net is None else len(net),
    )


class _HeldOutSums:
    """Running sums of `HeldOutRows`."""

    def __init__(self, first: HalfSpace) -> None:
        self._direction = first.weakest
        self.n_rows = 0
        self._total, self._longest = 0.0, 0.0
        self._inside, self._outside = 0, 0

    def add(self, rows: FloatArray, inside: NDArray[np.bool_], held: NDArray[np.bool_]) -> None:
        heights = rows @ self._direction
        squares = heights**2
        self._longest = max(self._longest, float(squares.max()))
        sizes = np.abs(rows) @ np.abs(self._direction)
        varies = held & (np.abs(heights) > NO_VARIATION * sizes)
        self.n_rows += int(held.sum())
        self._total += float(squares[held & inside].sum())
        self._inside += int((varies & inside).sum())
        self._outside += int((varies & ~inside).sum())

    def result(self) -> HeldOutRows:
        return HeldOutRows(
            n_rows=self.n_rows,
            mean=self._total / max(self.n_rows, 1),
            inside=self._inside,
            outside=self._outside,
            longest=self._longest,
        )


def in_span(rows: FloatArray, basis: FloatArray) -> FloatArray:
    """The rows' coordinates (n, r) in the span; the rows themselves where they span everything."""
    if basis.shape[0] == basis.shape[1]:
        return rows
    result: FloatArray = rows @ basis
    return result
