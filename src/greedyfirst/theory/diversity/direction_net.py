"""A lower bound on λ₀ of a sample in up to 3 dimensions, proved by a net of directions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory.diversity.half_space_moments import smallest_eigenvalues
from greedyfirst.validation import FloatArray

# Dimension -> cells along the edge of a face: of the cube (6·32² = 6144 cells in all) or the square
# (4·900 = 3600). With more dimensions a net is too large or too coarse.
CELLS_PER_EDGE = {1: 1, 2: 900, 3: 32}
# Rounding of an inner product of unit vectors.
ROUNDING = 1e-12


class DirectionNet:
    r"""Directions u_1, …, u_N such that every direction lies within an angle ρ of one of them.

    If u is within ρ of u_k, then every x within π/2 - ρ of u_k has xᵀu ≥ 0. So for **every** u

    .. math:: \lambda_{\min}\bigl(E[xx^\top 1\{x^\top u \ge 0\}]\bigr) \ge \min_k
              \lambda_{\min}\bigl(E[xx^\top 1\{x^\top u_k \ge \|x\| \sin\rho\}]\bigr) .

    Rows are not stored: each row's xxᵀ is added to the cell of the net in which its direction lies.
    A cell counts as kept only if all its directions are, so that ρ is twice the cells' radius.

    The cells are those of an equiangular grid on the cube's faces seen from the centre. A cell's
    directions lie within the angle between its centre and its farthest corner, since a cap that
    contains the corners contains what they span.

    Parameters
    ----------
    transform : array (r, r)
        The net is laid in the coordinates x·transform, r = 1, 2 or 3. Half-spaces are the same in
        all coordinates; the net suits the rows best where they have unit second moments.
    per_edge : int
        Cells along the edge of a face; ``CELLS_PER_EDGE`` has what the bounds use.
    """

    def __init__(self, transform: FloatArray, *, per_edge: int) -> None:
        self._transform = transform
        self._r = len(transform)
        self._per_edge = per_edge
        self.centres, self.radius = _lay_cells(self._r, self._per_edge)

    def __len__(self) -> int:
        return len(self.centres)

    def add_rows(self, rows: FloatArray, into: FloatArray) -> None:
        """Add the rows' xxᵀ (upper triangle) to their cells' sums ``into`` (cells, r(r+1)/2)."""
        points = rows @ self._transform
        cells = _find_cells(points, self._per_edge)
        for place, (i, j) in enumerate(self._pairs()):
            into[:, place] += np.bincount(cells, rows[:, i] * rows[:, j], minlength=len(self))

    def zero_sums(self) -> FloatArray:
        """Sums of no rows (cells, r(r+1)/2)."""
        return np.zeros((len(self), self._r * (self._r + 1) // 2))

    def lower_bounds(
        self, sums: Sequence[FloatArray], n_rows: Sequence[int]
    ) -> list[tuple[float, FloatArray]]:
        """For each of several sums over ``n_rows`` rows: the least λ_min/n and where it is.

        Only what every u of a cell keeps is counted. The direction (r,), the cell's centre, is in
        the rows' coordinates.
        """
        reach = np.sin(2.0 * self.radius) + ROUNDING
        values = np.empty((len(sums), len(self)))
        for start in range(0, len(self), 1024):
            part = slice(start, start + 1024)
            weights = (self.centres[part] @ self.centres.T >= reach).astype(np.float64)
            for place, each in enumerate(sums):
                values[place, part] = smallest_eigenvalues(self._matrices(weights @ each))
        result = []
        for each, n, found in zip(sums, n_rows, values, strict=True):
            # Rounding errors of the sums are subtracted, so that the result is a lower bound.
            safe = max(float(found.min()) - 1e-13 * float(np.abs(each).sum()), 0.0)
            direction: FloatArray = self._transform @ self.centres[int(found.argmin())]
            result.append((safe / max(n, 1), direction / float(np.linalg.norm(direction))))
        return result

    def _matrices(self, upper: FloatArray) -> FloatArray:
        result = np.empty((len(upper), self._r, self._r))
        for place, (i, j) in enumerate(self._pairs()):
            result[:, i, j] = result[:, j, i] = upper[:, place]
        return result

    def _pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self._r) for j in range(i, self._r)]


def _find_cells(points: FloatArray, per_edge: int) -> NDArray[np.int64]:
    """The number of the cell in which each point's direction lies; any cell for the origin."""
    n, r = points.shape
    axis = np.abs(points).argmax(axis=1)
    top = points[np.arange(n), axis]
    safe = np.where(top == 0.0, 1.0, np.abs(top))
    cell: NDArray[np.int64] = 2 * axis + (top < 0.0)
    for step in range(1, r):
        other = points[np.arange(n), (axis + step) % r] / safe
        angle = np.arctan(other) * (4.0 / np.pi)  # from -1 to 1 across the face
        place = np.floor((angle + 1.0) * (0.5 * per_edge)).astype(np.int64)
        cell = cell * per_edge + np.clip(place, 0, per_edge - 1)
    return cell


def _lay_cells(r: int, per_edge: int) -> tuple[FloatArray, float]:
    """The centres (cells, r) in the order of `_find_cells`, and the largest angle to a corner."""
    grids = np.indices((r, 2, *[per_edge] * (r - 1))).reshape(r + 1, -1)
    axis, negative, places = grids[0], grids[1], grids[2:]
    centres = _directions(axis, negative, places + 0.5, per_edge)
    nearest = 1.0
    for corner in itertools.product((0.0, 1.0), repeat=r - 1):
        shift = np.array(corner)[:, np.newaxis]
        corners = _directions(axis, negative, places + shift, per_edge)
        nearest = min(nearest, float(np.einsum("ij,ij->i", centres, corners).min()))
    # A row on a cell's edge may be put into either neighbour by rounding.
    return centres, float(np.arccos(nearest)) + 1e-9


def _directions(
    axis: NDArray[np.int64], negative: NDArray[np.int64], places: NDArray[Any], per_edge: int
) -> FloatArray:
    r = len(places) + 1
    points = np.empty((len(axis), r))
    each = np.arange(len(axis))
    points[each, axis] = 1.0 - 2.0 * negative
    for step in range(1, r):
        angle = places[step - 1] * (2.0 / per_edge) - 1.0
        points[each, (axis + step) % r] = np.tan(angle * (0.25 * np.pi))
    result: FloatArray = points / np.linalg.norm(points, axis=1, keepdims=True)
    return result
