"""A search for the half-space whose contexts have the smallest λ_min of second moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory.diversity.half_space_moments import smallest_eigenpair, smallest_eigenvalues
from greedyfirst.validation import FloatArray

# Angles tried on a great circle, a multiple of 4 so that a half-circle is a whole number of bins.
CIRCLE_BINS = 360
# Starts that are improved: SEARCH_WORK divided by the size of the rows, within these bounds.
LEAST_IMPROVED, MOST_IMPROVED, SEARCH_WORK = 6, 8, 500_000
# The most rounds of improvement for a start, and how many in a row may gain nothing.
ROUNDS, PATIENCE = 15, 2
# Up to this dimension λ_min itself is compared on a circle, not the weight in a fixed direction;
# but not if the second moments differ by more than the ratio: eigenvalues would be rounding error.
JOINT_DIMENSION, JOINT_RATIO = 6, 1e10
# Rows within this many standard deviations of the boundary shape the smoothed gradient.
SMOOTHING = 0.3
# A round that lowers λ_min by less than this share counts as no gain.
LEAST_GAIN = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class HalfSpace:
    """A half-space {x : xᵀu ≥ 0} and λ_min of the second moments of its rows."""

    #: λ_min(Σ xxᵀ 1{xᵀu ≥ 0})/n.
    value: float
    #: The direction u (d,).
    witness: FloatArray
    #: The unit eigenvector v (d,) of λ_min: the direction in which the half-space keeps least.
    weakest: FloatArray


class HalfSpaceSearch:
    r"""Minimises λ_min(Σ xxᵀ 1{xᵀu ≥ 0})/n over u, from many starts.

    The pair (u, v) is improved in turns: for fixed u, v is the eigenvector of λ_min; for fixed v,
    u should make the weight Σ (xᵀv)² 1{xᵀu ≥ 0} small, which is done on one great circle through u
    after the other. On a circle the weight at all of 360 angles costs one histogram, O(n); in few
    dimensions a histogram of xxᵀ gives λ_min itself at all of them, with v free.

    Each value found is one that a half-space attains, hence an upper bound on the minimum; the
    minimum itself is not claimed (to find it is NP-hard in general).

    Half-spaces do not change when rows are transformed linearly. Directions are therefore drawn
    and turned in coordinates in which the rows have unit second moments.

    Parameters
    ----------
    rows : array (n, d)
        The contexts to search, of rank d.
    rng : numpy.random.Generator
        For random starts and circles.
    """

    def __init__(self, rows: FloatArray, rng: np.random.Generator) -> None:
        self._rows = rows
        self._rng = rng
        self._to_white = whitening(rows.T @ rows / len(rows))
        self._white = rows @ self._to_white
        self._products = _products(rows)

    def evaluate(self, direction: FloatArray) -> HalfSpace:
        """The half-space of ``direction`` (d,), on the searched rows."""
        chosen = self._rows[self._rows @ direction >= 0.0]
        value, vector = smallest_eigenpair(chosen.T @ chosen / len(self._rows))
        return HalfSpace(value=value, witness=direction, weakest=vector)

    def scan(self, n_directions: int) -> list[HalfSpace]:
        """Random half-spaces, in the order drawn."""
        drawn = self._rng.standard_normal((n_directions, self._rows.shape[1])) @ self._to_white.T
        return [self.evaluate(u / np.linalg.norm(u)) for u in drawn]

    def run(self, scanned: list[HalfSpace]) -> list[HalfSpace]:
        """The best half-spaces reached from those given and from special directions, best first."""
        n_improved = SEARCH_WORK // max(self._rows.size, 1)
        n_improved = min(max(n_improved, LEAST_IMPROVED), MOST_IMPROVED)
        # Ranked by an eigenvalue without scaling, at a third of the cost; the best are evaluated.
        special = sorted(self._special_directions(), key=self._rank)[:n_improved]
        tried = [*scanned, *(self.evaluate(u) for u in special)]
        tried.sort(key=lambda found: found.value)
        improved = [self.improve(found) for found in tried[:n_improved]]
        # The best start is returned too: on all rows it may be better than what came of it.
        return sorted([*improved, tried[0]], key=lambda found: found.value)

    def _special_directions(self) -> list[FloatArray]:
        """± the axes, ± the eigenvectors of the second moments, and one against the mean."""
        axes = np.eye(self._rows.shape[1])
        vectors = np.linalg.eigh(self._rows.T @ self._rows)[1].T
        # The regression of the constant 1 on the rows: exact if a combination of columns is 1.
        steady = self._to_white @ self._white.mean(axis=0)
        length = float(np.linalg.norm(steady))
        against = [-steady / length] if length > 0.0 else []
        return [*axes, *-axes, *vectors, *-vectors, *against]

    def _rank(self, direction: FloatArray) -> float:
        chosen = self._rows[self._rows @ direction >= 0.0]
        return float(np.linalg.eigvalsh(chosen.T @ chosen)[0])

    def improve(self, found: HalfSpace) -> HalfSpace:
        """Turn the half-space until ``PATIENCE`` rounds in a row have gained nothing."""
        idle = 0
        for _ in range(ROUNDS):
            if found.value == 0.0 or idle == PATIENCE:
                return found
            turned = self._turn(found)
            idle = 0 if turned.value < (1.0 - LEAST_GAIN) * found.value else idle + 1
            if turned.value < found.value:
                found = turned
        return found

    def _turn(self, found: HalfSpace) -> HalfSpace:
        """One round: with v fixed, along the gradient, the weighted mean and two random circles."""
        weights = (self._rows @ found.weakest) ** 2
        # xᵀu = yᵀt with y the transformed row.
        solved = np.linalg.solve(self._to_white, found.witness)
        t: FloatArray = solved / np.linalg.norm(solved)
        for kind in ("gradient", "mean", "random", "random"):
            heights = self._white @ t
            if kind == "gradient":
                near = weights * np.exp(-0.5 * (heights / SMOOTHING) ** 2)
                toward = near @ self._white
            elif kind == "mean":
                toward = weights @ self._white
            else:
                toward = self._rng.standard_normal(len(t))
            across = toward - (toward @ t) * t
            length = float(np.linalg.norm(across))
            if length > 0.0:
                free = kind == "random" and self._products is not None
                t = self._best_on_circle(t, across / length, heights, None if free else weights)
        direction = self._to_white @ t
        return self.evaluate(direction / np.linalg.norm(direction))

    def _best_on_circle(
        self, t: FloatArray, across: FloatArray, heights: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        """The direction t·cos θ + across·sin θ that keeps least, θ on a grid.

        The sum of the weights (n,) of the kept rows is compared, or λ_min if there are none.
        """
        turns = np.arctan2(self._white @ across, heights) * (CIRCLE_BINS / (2.0 * np.pi))
        bins = np.floor(turns).astype(np.int64) % CIRCLE_BINS
        if weights is None:
            windows = self._smallest_in_windows(bins)
        else:
            windows = _window_sums(np.bincount(bins, weights=weights, minlength=CIRCLE_BINS))
        # At θ the kept rows are the half-circle of bins that begins a quarter turn before θ.
        place = int(windows.argmin())
        # Where turning gains nothing, stay: θ = 0 begins at bin -90°.
        if windows[place] >= windows[CIRCLE_BINS - CIRCLE_BINS // 4] * (1.0 - 1e-12):
            return t
        theta = (place + CIRCLE_BINS // 4) * (2.0 * np.pi / CIRCLE_BINS)
        turned: FloatArray = np.cos(theta) * t + np.sin(theta) * across
        return turned / float(np.linalg.norm(turned))

    def _smallest_in_windows(self, bins: NDArray[np.int64]) -> FloatArray:
        """λ_min of what each half-circle of bins keeps (360,)."""
        d = self._rows.shape[1]
        matrices = np.empty((CIRCLE_BINS, d, d))
        products = self._products if self._products is not None else np.empty((0, 0))
        for each, (i, j) in zip(products, _pairs(d), strict=True):
            sums = _window_sums(np.bincount(bins, weights=each, minlength=CIRCLE_BINS))
            matrices[:, i, j] = matrices[:, j, i] = sums
        return smallest_eigenvalues(matrices)


def _window_sums(histogram: NDArray[Any]) -> FloatArray:
    """Sums over the half-circles that begin at each bin."""
    sums = np.concatenate([[0.0], np.cumsum(np.tile(histogram, 2))])
    half = CIRCLE_BINS // 2
    result: FloatArray = sums[half : half + CIRCLE_BINS] - sums[:CIRCLE_BINS]
    return result


def _pairs(d: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(d) for j in range(i, d)]


def _products(rows: FloatArray) -> FloatArray | None:
    """x_i·x_j of all rows (d(d+1)/2, n) where λ_min is compared on circles, else None."""
    d = rows.shape[1]
    squares = np.einsum("ij,ij->j", rows, rows)
    if d > JOINT_DIMENSION or squares.max() > JOINT_RATIO * squares.min():
        return None
    return np.stack([rows[:, i] * rows[:, j] for i, j in _pairs(d)])


def whitening(moment: FloatArray) -> FloatArray:
    """A matrix T (d, d) with Tᵀ·moment·T = I, so that rows·T have unit second moments."""
    scales = np.sqrt(np.diagonal(moment))
    scales = np.where(scales > 0.0, scales, 1.0)
    values, vectors = np.linalg.eigh(moment / scales / scales[:, np.newaxis])
    # Directions that these rows do not span keep their scale.
    values = np.where(values > 1e-13 * len(values), values, 1.0)
    result: FloatArray = vectors / np.sqrt(values) / scales[:, np.newaxis]
    return result
