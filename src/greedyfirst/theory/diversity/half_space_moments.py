"""E[xxᵀ 1{xᵀu ≥ 0}] of rows, and its smallest eigenvalue."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greedyfirst.validation import FloatArray

# A row is kept when xᵀu ≥ -BOUNDARY·‖x‖‖u‖, so that rounding never drops a row on the boundary:
# too many rows make λ_min larger, and an upper bound stays one.
BOUNDARY = 1e-12
# A matrix scaled to unit diagonal is singular when its smallest eigenvalue is below this.
SINGULAR = 1e-13


def in_half_space(rows: FloatArray, direction: FloatArray) -> NDArray[np.bool_]:
    """Which rows (n, d) lie in {x : xᵀu ≥ 0}, those on its boundary up to rounding included."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    inside: NDArray[np.bool_] = rows @ direction >= -BOUNDARY * np.linalg.norm(direction) * norms
    return inside


def half_space_moment(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """Σ xxᵀ 1{xᵀu ≥ 0} (d, d), a sum, not a mean."""
    chosen = rows[in_half_space(rows, direction)]
    result: FloatArray = chosen.T @ chosen
    return result


def smallest_eigenpair(matrix: FloatArray) -> tuple[float, FloatArray]:
    """λ_min ≥ 0 and a unit eigenvector of a positive semi-definite matrix (d, d).

    The matrix is first scaled to unit diagonal and inverted. Features may so have very different
    units; without the scaling, rounding errors of λ_max's size would hide λ_min.
    """
    scales = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    d = len(scales)
    if (scales == 0.0).any():
        vector = np.zeros(d)
        vector[int(scales.argmin())] = 1.0
        return 0.0, vector
    scaled = matrix / scales / scales[:, np.newaxis]
    values, vectors = np.linalg.eigh(scaled)
    if values[0] <= SINGULAR * d:
        vector = vectors[:, 0] / scales
        return 0.0, vector / np.linalg.norm(vector)
    half = vectors / np.sqrt(values) / scales[:, np.newaxis]
    tops, directions = np.linalg.eigh(half @ half.T)
    return 1.0 / float(tops[-1]), np.ascontiguousarray(directions[:, -1])


def smallest_eigenvalues(matrices: FloatArray) -> FloatArray:
    """λ_min of a stack of matrices (…, d, d), not below 0; plain, without scaling."""
    result: FloatArray = np.maximum(np.linalg.eigvalsh(matrices)[..., 0], 0.0)
    return result
