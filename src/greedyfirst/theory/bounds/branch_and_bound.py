r"""The infimum of L(γ, δ, p) by branch and bound, with a proved bound on the error.

Three facts make the search exact up to a tolerance, without any derivative:

1. *In p* the bound is convex for fixed γ and δ: the step from p to p+1 adds a term e^{-κ/n}, which
   grows with n, and takes away e^{-D₁q} and e^{-D₂q}, which fall. The best p is the first at
   which the step is not negative, found by bisection.
2. *In γ* one tail falls (D₁ increases) and the other grows (D₂ decreases). *In δ* the first term
   1 - θ^K grows and all others fall. So over a box [γ₀, γ₁] × [δ₀, δ₁] each term is at least its
   value at one known end. The sum of those values, minimised over p as in 1, is a lower bound for
   the box.
3. *δ* only needs to be searched at a finite list (see `EigenvalueSample.survivors`).

Boxes whose lower bound is not below the best value found minus the tolerance are dropped; the
others are halved. So the infimum is at most the tolerance below the best value found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from greedyfirst.theory.bounds.failure_bound import (
    SuccessInputs,
    diversity_rate,
    early_sum,
    estimate_rate,
    geometric_tail,
)
from greedyfirst.validation import FloatArray

# Tails below e^{-80} are smaller than any tolerance: larger p are not searched.
NEGLIGIBLE_EXPONENT = 80.0
# γ stays this far from 0 and 1 at the points where the bound itself is evaluated.
EDGE = 1e-9
# κ beyond this makes e^{-κ/n} vanish for every n in reach; rates below the other are 0.
LARGEST_KAPPA, SMALLEST_RATE = 1e100, 1e-100
GRID = 32
# After this many halvings, or with more boxes, the search stops and reports the gap that is left.
MOST_ROUNDS = 60
MOST_BOXES = 200_000


@dataclass(frozen=True)
class Minimum:
    """The least value found, its place, and by how much the infimum can lie below it (``gap``)."""

    value: float
    gap: float
    gamma: float = math.nan
    delta: float = math.nan
    survivor: float = math.nan
    #: p, or 0 where L is nowhere found below 1.
    rounds: int = 0


#: The result where no (γ, δ, p) is allowed: failure is bounded by 1 only.
VACUOUS = Minimum(1.0, 0.0)


class BranchAndBound:
    """The search for the infimum of L, for one theorem and form.

    Parameters
    ----------
    inputs
        The constants.
    thresholds, survivors : array (n,)
        δ ascending, and θ at each, not increasing.
    weights
        w of the last three terms.
    largest_gamma
        1, or 1 - λ₀/(4λ₁) for Greedy-First.
    last_round
        The largest p, or None.
    """

    def __init__(
        self,
        inputs: SuccessInputs,
        thresholds: FloatArray,
        survivors: FloatArray,
        *,
        weights: tuple[float, float, float],
        largest_gamma: float,
        last_round: int | None,
    ) -> None:
        self.inputs, self.weights = inputs, weights
        self.largest_gamma, self.last_round = largest_gamma, last_round
        self.thresholds, self.survivors = thresholds, survivors
        K, d = inputs.n_arms, inputs.n_features
        self.context_term = 1 - survivors**K
        self.estimate_term = 2 * K * d * survivors * np.exp(-inputs.signal * thresholds)
        self.kappa = np.minimum(inputs.signal * (thresholds / inputs.x_max) ** 2, LARGEST_KAPPA)

    def least_over_rounds(
        self, kappa: FloatArray, rate1: FloatArray, rate2: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The last three terms at their best p, and that p."""
        inputs, (w0, w1, w2) = self.inputs, self.weights
        K, m, d = inputs.n_arms, inputs.initial_pulls, inputs.n_features
        suboptimal_pulls, others = m * inputs.n_suboptimal, (K - 1) * m
        low, high = self._bracket(kappa, rate1, rate2)
        while np.any(low < high):
            p = np.floor((low + high) / 2)
            step = w0 * 2 * np.exp(-kappa / (p - others))
            q = p - suboptimal_pulls
            step -= w1 * np.exp(-rate1 * q) + w2 * 2 * np.exp(-rate2 * q)
            enough = step >= 0
            high = np.where(enough, p, high)
            low = np.where(enough, low, np.minimum(p + 1, high))
        early = early_sum(kappa, m + 1, low - 1 - others)
        tails = w1 * geometric_tail(rate1, low - suboptimal_pulls)
        tails += w2 * 2 * geometric_tail(rate2, low - suboptimal_pulls)
        return d * (w0 * 2 * early + tails), low

    def _bracket(
        self, kappa: FloatArray, rate1: FloatArray, rate2: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Numbers of rounds between which the best p lies.

        The negative part of a step is at least its term with the smaller rate D, and at most
        (w₁ + 2w₂)e^{-Dq}. With either in its place the step is 0 where κ/n = Dq + c: a quadratic
        in n.
        """
        inputs, (w0, w1, w2) = self.inputs, self.weights
        m, suboptimal_pulls = inputs.initial_pulls, inputs.initial_pulls * inputs.n_suboptimal
        others = (inputs.n_arms - 1) * m
        rate = np.maximum(np.minimum(rate1, rate2), SMALLEST_RATE)
        slower = np.where(rate1 <= rate2, w1, 2 * w2)
        first = others + m + 1.0
        last = first + np.minimum(np.ceil(NEGLIGIBLE_EXPONENT / rate), 2.0**50)
        if self.last_round is not None:
            last = np.minimum(last, float(self.last_round))

        def balance(offset: FloatArray) -> FloatArray:
            linear = rate * (others - suboptimal_pulls) + offset
            root = np.sqrt(linear**2 + 4 * rate * kappa)
            # For either sign, the root formula without cancellation.
            down = 2 * kappa / (np.abs(linear) + root)
            up = (np.abs(linear) + root) / (2 * rate)
            return np.asarray(others + np.where(linear > 0, down, up))

        low = np.floor(balance(np.log(2 * w0 / slower))) - 1
        high = np.ceil(balance(np.full_like(rate, np.log(2 * w0 / (w1 + 2 * w2))))) + 1
        return np.clip(low, first, last), np.clip(high, first, last)

    def evaluate(
        self, index: NDArray[np.int64], gamma: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """L at points, each with its best p, and that p."""
        rate1, rate2 = diversity_rate(self.inputs, gamma), estimate_rate(self.inputs, gamma)
        rest, p = self.least_over_rounds(self.kappa[index], rate1, rate2)
        return self.context_term[index] + self.estimate_term[index] + rest, p

    def lower_bound(self, boxes: FloatArray) -> FloatArray:
        """A lower bound of L on each box (first index, last index, γ₀, γ₁)."""
        i0, i1 = boxes[:, 0].astype(np.int64), boxes[:, 1].astype(np.int64)
        rate1 = diversity_rate(self.inputs, boxes[:, 3])
        rate2 = estimate_rate(self.inputs, boxes[:, 2])
        rest, _ = self.least_over_rounds(self.kappa[i1], rate1, rate2)
        return self.context_term[i0] + self.estimate_term[i1] + rest

    def run(self, tolerance: float) -> Minimum:
        """The least of 1 and L, to within ``tolerance``."""
        if not len(self.thresholds):
            return VACUOUS
        best = self._search_grid()
        boxes = np.array([[0.0, len(self.thresholds) - 1.0, 0.0, self.largest_gamma]])
        lowest_dropped = np.inf
        for _ in range(MOST_ROUNDS):
            bounds = self.lower_bound(boxes)
            best = self._improve(best, boxes)
            goal = best[0] - tolerance
            kept = bounds < goal
            lowest_dropped = min([lowest_dropped, *bounds[~kept]])
            boxes, bounds = boxes[kept], bounds[kept]
            if not len(boxes) or len(boxes) > MOST_BOXES:
                break
            boxes = self._halve(boxes)
        if len(boxes):
            lowest_dropped = min(lowest_dropped, float(bounds.min()))
        return self._report(best, lowest_dropped)

    def _report(self, best: tuple[float, int, float], floor: float) -> Minimum:
        value, index, gamma = best
        gap = max(0.0, value - floor)
        if index < 0:
            return Minimum(value, gap)
        _, p = self.evaluate(np.array([index]), np.array([gamma]))
        return Minimum(
            value=value,
            gap=gap,
            gamma=gamma,
            delta=float(self.thresholds[index]),
            survivor=float(self.survivors[index]),
            rounds=int(p[0]),
        )

    def _points(self, boxes: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        index = ((boxes[:, 0] + boxes[:, 1]) // 2).astype(np.int64)
        middle = (boxes[:, 2] + boxes[:, 3]) / 2
        return index, np.clip(middle, EDGE, min(self.largest_gamma, 1 - EDGE))

    def _improve(
        self, best: tuple[float, int, float], boxes: FloatArray
    ) -> tuple[float, int, float]:
        index, gamma = self._points(boxes)
        return self._better(best, index, gamma)

    def _better(
        self, best: tuple[float, int, float], index: NDArray[np.int64], gamma: FloatArray
    ) -> tuple[float, int, float]:
        values, _ = self.evaluate(index, gamma)
        place = int(np.argmin(values))
        if values[place] >= best[0]:
            return best
        return float(values[place]), int(index[place]), float(gamma[place])

    def _search_grid(self) -> tuple[float, int, float]:
        """A good start, from grids that narrow around the best point; value 1, index -1 if none."""
        best = (1.0, -1, 0.0)
        n = len(self.thresholds)
        # The grids are finest where the optimum often is: the lowest δ (low noise), γ near 1.
        ranks = np.unique(np.geomspace(1, n, GRID).astype(np.int64)) - 1
        top = min(self.largest_gamma, 1 - EDGE)
        gammas = top - np.geomspace(1e-6, 1, GRID)[::-1] * top * (1 - EDGE)
        gammas = np.append(np.clip(gammas, EDGE, top), top)
        for _ in range(8):
            grid = np.meshgrid(ranks, gammas, indexing="ij")
            best = self._better(best, grid[0].ravel(), grid[1].ravel())
            if best[1] < 0:
                return best
            ranks = _narrow(ranks.astype(float), best[1]).round().astype(np.int64)
            gammas = _narrow(gammas, best[2])
            ranks = np.unique(ranks.clip(0, n - 1))
        return best

    def _halve(self, boxes: FloatArray) -> FloatArray:
        """Both halves of each box, split along the side that lowers its bound the most."""
        index, gamma = self._points(boxes)
        thin, flat = boxes.copy(), boxes.copy()
        thin[:, 0] = thin[:, 1] = index
        flat[:, 2] = flat[:, 3] = gamma
        by_index = (self.lower_bound(thin) >= self.lower_bound(flat)) & (boxes[:, 1] > boxes[:, 0])
        left, right = boxes.copy(), boxes.copy()
        left[by_index, 1] = index[by_index]
        right[by_index, 0] = index[by_index] + 1
        left[~by_index, 3] = right[~by_index, 2] = (boxes[:, 2] + boxes[:, 3])[~by_index] / 2
        return np.concatenate([left, right])


def _narrow(values: FloatArray, centre: float) -> FloatArray:
    """Nine values between the neighbours of the value nearest to ``centre``."""
    place = int(np.argmin(np.abs(values - centre)))
    low, high = values[max(place - 1, 0)], values[min(place + 1, len(values) - 1)]
    return np.linspace(low, high, 9)
