"""λ₀ of a sample in one and two dimensions, exactly."""

from __future__ import annotations

import numpy as np

from greedyfirst.theory.diversity.half_space_moments import half_space_moment, smallest_eigenpair
from greedyfirst.validation import FloatArray

# Directions closer than this (radians) count as one: they differ by rounding only.
SAME_ANGLE = 1e-12


def sweep_half_planes(rows: FloatArray) -> FloatArray:
    r"""The unit u (d,) with the least λ_min(Σ xxᵀ 1{xᵀu ≥ 0}), d = 1 or 2, over all u.

    A half-plane changes only when its edge passes a row, at two angles a row. Between them the
    kept rows are those whose own angle lies within a quarter turn of u, a run of the rows sorted
    by angle: running sums of xxᵀ give all 2n matrices, and a formula their λ_min. At such an angle
    itself no fewer rows are kept than beside it, so only the gaps between angles are searched.
    O(n log n) time, O(n) memory.
    """
    if rows.shape[1] == 1:
        squares = [float(half_space_moment(rows, np.array([s]))[0, 0]) for s in (1.0, -1.0)]
        return np.array([1.0 if squares[0] <= squares[1] else -1.0])
    points = rows[(rows != 0.0).any(axis=1)]
    if len(points) == 0:
        return np.array([1.0, 0.0])
    angles = np.arctan2(points[:, 1], points[:, 0])
    order = np.argsort(angles, kind="stable")
    angles, points = angles[order], points[order]
    middles = _gaps(angles)
    sums = _running_sums(points)
    first = np.searchsorted(angles, middles - 0.5 * np.pi)
    last = np.searchsorted(angles, middles + 0.5 * np.pi)
    a, b, c = (sums[last] - sums[first]).T
    # A run that passes the end of (-π, π] goes on at its beginning.
    below = np.searchsorted(angles, middles + 1.5 * np.pi)
    above = np.searchsorted(angles, middles - 1.5 * np.pi)
    wrapped = (sums[-1] - sums[below]) + sums[above]
    a, b, c = a + wrapped[:, 0], b + wrapped[:, 1], c + wrapped[:, 2]
    smallest = 0.5 * (a + c) - np.hypot(0.5 * (a - c), b)
    return _best(rows, middles, smallest)


def _best(rows: FloatArray, middles: FloatArray, smallest: FloatArray) -> FloatArray:
    """Of the 8 angles with the lowest values, the best by direct sums: running sums lose digits."""
    few = np.argsort(smallest, kind="stable")[:8]
    candidates = [np.array([np.cos(theta), np.sin(theta)]) for theta in middles[few]]
    values = [smallest_eigenpair(half_space_moment(rows, u))[0] for u in candidates]
    return candidates[int(np.argmin(values))]


def _gaps(angles: FloatArray) -> FloatArray:
    """The middles of the gaps between the angles at which a half-plane's edge meets a row."""
    turned = np.concatenate([angles - 0.5 * np.pi, angles + 0.5 * np.pi])
    edges = np.sort((turned + np.pi) % (2.0 * np.pi) - np.pi)
    widths = np.diff(edges, append=edges[:1] + 2.0 * np.pi)
    wide = widths > SAME_ANGLE
    middles: FloatArray = edges[wide] + 0.5 * widths[wide]
    # Back into [-π, π): the middle of the last gap may lie beyond.
    return (middles + np.pi) % (2.0 * np.pi) - np.pi


def _running_sums(points: FloatArray) -> FloatArray:
    """Sums of (x², xy, y²) over the first k points, k = 0…n (n + 1, 3)."""
    x, y = points.T
    sums = np.zeros((len(points) + 1, 3))
    np.cumsum(np.stack([x * x, x * y, y * y], axis=1), axis=0, out=sums[1:])
    return sums
