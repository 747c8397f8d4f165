"""The policies of Figure 4 as loops in plain NumPy: the same decisions, as fast as NumPy gets.

A rank-one change of a d × d inverse costs NumPy two passes over temporaries. Changes are therefore
kept as rows and subtracted ``PENDING`` at a time, which is twice as fast at d = 93.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numpy_ols_bandit import OUTSIDE, OLSBandit
from numpy_play import highest

FloatArray = NDArray[np.float64]
PENDING = 32
REFRESH_GROWTH, REFRESH_ROWS = 100.0, 2000  # without them decisions differ after some thousand rows
POWER_RESIDUAL = 1e-6
NEAR, LAST_CHANGE = 0.05, 1e-9  # as the library's ridge has them


class Arm:
    """Least squares of one arm: ridge regression while its Gram matrix is singular."""

    def __init__(self, estimate: FloatArray) -> None:
        d = len(estimate)
        self.estimate = estimate
        self.count, self.rank, self.moment, self.gram = 0, 0, np.zeros(d), np.zeros((d, d))
        self.basis, self.top, self.outer = np.zeros((d, d)), np.zeros(d), np.empty((d, d))
        self.inverse, self.rows = np.empty((d, d)), np.zeros((PENDING, d))
        self.waiting: list[FloatArray] = []
        self.place, self.growth, self.fresh, self.penalty = 0, 1.0, 0, 0.0

    def learn(self, x: FloatArray, y: float) -> None:
        self.count += 1
        self.moment += y * x if y != 1.0 else x
        if self.rank < len(x):
            self._learn_while_singular(x)
            return
        self.waiting.append(x)
        error = y - self.estimate.dot(x)
        v = self.inverse.dot(x)
        v -= self.rows.dot(x).dot(self.rows)
        s = 1.0 + v.dot(x)
        self.estimate += (error / s) * v
        self._shrink(v, s)
        self.growth *= s
        if self.growth > REFRESH_GROWTH or self.count - self.fresh >= REFRESH_ROWS:
            self._refresh()

    def _learn_while_singular(self, x: FloatArray) -> None:
        np.multiply(x[:, None], x, out=self.outer)
        self.gram += self.outer
        basis = self.basis[: self.rank]
        outside = x - basis.dot(x).dot(basis)
        if outside.dot(outside) > OUTSIDE**2 * x.dot(x):
            outside -= basis.dot(outside).dot(basis)
            self.basis[self.rank] = outside / np.sqrt(outside.dot(outside))
            self.rank += 1
        if self.rank == len(x):
            self._refresh()
        else:
            self._ridge(x, self._largest_eigenvalue() / self.count**2)

    def _ridge(self, x: FloatArray, penalty: float) -> None:
        """(G + penalty·I)⁻¹m by corrections with the inverse for a penalty nearby."""
        if abs(penalty - self.penalty) <= NEAR * self.penalty:
            v = self.inverse.dot(x)
            v -= self.rows.dot(x).dot(self.rows)
            self._shrink(v, 1.0 + v.dot(x))
        else:
            self.penalty = penalty / (1.0 + NEAR)
            matrix = self.gram.copy()
            matrix.ravel()[:: len(x) + 1] += self.penalty
            self.inverse = np.linalg.inv(matrix)
            self.rows[:] = 0.0
            self.place = 0
        off, inverse, rows, moment = penalty - self.penalty, self.inverse, self.rows, self.moment
        estimate = self.estimate
        while True:
            shifted = moment - off * estimate
            better = inverse.dot(shifted)
            better -= rows.dot(shifted).dot(rows)
            change = better - estimate
            estimate = better
            if change.dot(change) <= LAST_CHANGE**2 * better.dot(better):
                break
        self.estimate[:] = estimate

    def _shrink(self, v: FloatArray, s: float) -> None:
        """Subtract vv'/s from the inverse."""
        np.multiply(v, s**-0.5, out=self.rows[self.place])
        self.place += 1
        if self.place == PENDING:
            self.inverse -= self.rows.T.dot(self.rows)
            self.rows[:] = 0.0
            self.place = 0

    def _largest_eigenvalue(self) -> float:
        top = self.top if self.count > 1 else np.sqrt(self.gram.diagonal())
        while True:
            top = top / np.sqrt(top.dot(top))
            product = self.gram.dot(top)
            value = product.dot(top)
            off = product - value * top
            if off.dot(off) <= (POWER_RESIDUAL * value) ** 2:
                self.top = top
                return float(value)
            top = product

    def _refresh(self) -> None:
        self.settle()
        self.inverse = np.linalg.inv(self.gram)
        self.rows[:] = 0.0
        self.place, self.growth, self.fresh = 0, 1.0, self.count
        self.estimate[:] = self.inverse.dot(self.moment)
        self.estimate += self.inverse.dot(self.moment - self.gram.dot(self.estimate))

    def settle(self) -> None:
        """Bring the Gram matrix up to date."""
        if self.waiting:
            rows = np.array(self.waiting)
            self.gram += rows.T.dot(rows)
            self.waiting.clear()

    def smallest_eigenvalue(self) -> float:
        self.settle()
        if self.rank < len(self.moment):
            return 0.0
        return max(float(np.linalg.eigvalsh(self.gram)[0]), 0.0)


class Greedy:
    """`greedyfirst.Greedy` with ridge while singular."""

    def __init__(self, n_arms: int, d: int, pulls: int) -> None:
        self.estimates = np.zeros((n_arms, d))
        self.arms = [Arm(row) for row in self.estimates]
        self.first = n_arms * pulls

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int:
        if step <= self.first:
            return (step - 1) % len(self.arms)
        return highest(self.estimates.dot(x).tolist(), ties)

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None:
        self.arms[arm].learn(x, y)


class GreedyFirst:
    """`greedyfirst.GreedyFirst`, λ₀ estimated, λ_min of whole Gram matrices.

    A switch hands over the initial samples, which the fallback therefore sees at once.
    """

    def __init__(self, greedy: Greedy, fallback: OLSBandit, t0: int, least: float) -> None:
        self.greedy, self.fallback, self.least = greedy, fallback, least
        self.lambda0, self.next_test, self.switched = 0.0, t0, False
        self.floors = [0.0] * len(greedy.arms)

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int:
        if self.switched:
            return self.fallback.choose(step - self.fallback.offset, x, ties)
        return self.greedy.choose(step, x, ties)

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None:
        if self.switched:
            self.fallback.learn(step - self.fallback.offset, x, arm, y)
            return
        self.greedy.learn(step, x, arm, y)
        if step <= self.greedy.first:
            self.fallback.learn(step, x, arm, y)
        if step >= self.next_test:
            self._test(step)

    def _test(self, step: int) -> None:
        arms = self.greedy.arms
        if not self.lambda0:
            self.floors = [each.smallest_eigenvalue() for each in arms]
            self.lambda0 = min(self.floors) / (2.0 * step)
            self.switched = self.lambda0 <= 0.0 or self.lambda0 < self.least
        else:
            bar = self.lambda0 * step / 4.0
            for place, each in enumerate(arms):
                if self.floors[place] < bar:  # λ_min never falls
                    self.floors[place] = each.smallest_eigenvalue()
            self.switched = min(self.floors) < bar
        if self.switched:
            self.fallback.offset = step - self.greedy.first
        else:
            self.next_test = max(step + 1, int(4.0 * min(self.floors) / self.lambda0))


class Posteriors:
    """Gaussian posteriors of all arms, prior N(0, I)."""

    def __init__(self, n_arms: int, d: int) -> None:
        self.means = np.zeros((n_arms, d))
        self.covariances = np.tile(np.eye(d), (n_arms, 1, 1))
        self.rows, self.places = np.zeros((n_arms, PENDING, d)), [0] * n_arms
        self.count, self.squares = 0, 0.0

    def spreads(self, x: FloatArray) -> FloatArray:
        """√(x'Σx) of each arm; products are kept for the update."""
        n_arms, d = self.means.shape
        self.products = self.covariances.reshape(n_arms * d, d).dot(x).reshape(n_arms, d)
        self.pending = self.rows.reshape(n_arms * PENDING, d).dot(x).reshape(n_arms, PENDING)
        # Of vecdot, unlike dot, arms that are alike get variances that are equal: there are ties.
        variances = np.vecdot(self.products, x) - np.vecdot(self.pending, self.pending)
        return np.sqrt(np.maximum(variances, 0.0))

    def sigma(self) -> float:
        n_arms, d = self.means.shape
        return 1.0 if self.count <= n_arms * d else (self.squares / (self.count - d)) ** 0.5

    def learn_row(self, x: FloatArray, arm: int, y: float, noise_variance: float) -> None:
        rows, place, mean = self.rows[arm], self.places[arm], self.means[arm]
        v = self.products[arm] - self.pending[arm].dot(rows)
        s = noise_variance + v.dot(x)
        mean += ((y - mean.dot(x)) / s) * v
        np.multiply(v, s**-0.5, out=rows[place])
        if place + 1 == PENDING:
            self.covariances[arm] -= rows.T.dot(rows)
            rows[:] = 0.0
        self.places[arm] = (place + 1) % PENDING
        self.count += 1
        self.squares += (y - mean.dot(x)) ** 2


class OFUL(Posteriors):
    """`greedyfirst.OFUL` with λ = 1 and σ estimated, for contexts of length at most 1."""

    def __init__(self, n_arms: int, d: int, delta: float) -> None:
        super().__init__(n_arms, d)
        self.least, self.longest = -2.0 * np.log(delta), 1.0

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int:
        size = self.means.size
        width = size * np.log(1.0 + self.count / size) + self.least
        bound = self.sigma() * width**0.5 + self.longest
        return highest((self.means.dot(x) + bound * self.spreads(x)).tolist(), ties)

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None:
        self.learn_row(x, arm, y, 1.0)
        flat = self.means.ravel()
        self.longest = max(self.longest, flat.dot(flat) ** 0.5)


class ThompsonSampling(Posteriors):
    """`greedyfirst.ThompsonSampling` with prior N(0, I) and σ estimated."""

    def __init__(self, n_arms: int, d: int, draws: FloatArray) -> None:
        super().__init__(n_arms, d)
        self.draws = draws

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int:
        return highest((self.means.dot(x) + self.draws[step - 1] * self.spreads(x)).tolist(), ties)

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None:
        self.learn_row(x, arm, y, self.sigma() ** 2)
