"""OLS Bandit of Figure 4 in plain NumPy: its estimates change with its scheduled samples only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greedyfirst.problems import Draw
from numpy_play import highest

FloatArray = NDArray[np.float64]
OUTSIDE = 1e-11  # a row this far outside the span of the others, in its own length, widens it


class MinimumNorm:
    """Least squares of minimum norm: G, m and a basis of what the rows do not span."""

    def __init__(self, d: int) -> None:
        self.gram, self.moment, self.beyond = np.zeros((d, d)), np.zeros(d), np.eye(d)

    def learn(self, rows: FloatArray, y: FloatArray) -> None:
        self.gram += rows.T.dot(rows)
        self.moment += y.dot(rows)
        if len(self.beyond):
            outside = rows.dot(self.beyond.T)
            outside = outside[np.abs(outside).max(axis=1) > OUTSIDE]
            if len(outside):
                fewer = len(outside) < len(self.beyond)
                _, lengths, directions = np.linalg.svd(outside, full_matrices=fewer)
                self.beyond = directions[np.count_nonzero(lengths > OUTSIDE) :].dot(self.beyond)

    def estimate(self) -> FloatArray:
        """m lies in the span, so G may be anything regular outside it."""
        return np.linalg.solve(self.gram + self.beyond.T.dot(self.beyond), self.moment)

    def copy(self) -> MinimumNorm:
        other = MinimumNorm(0)
        other.gram, other.moment, other.beyond = self.gram.copy(), self.moment.copy(), self.beyond
        return other


class OLSBandit:
    """`greedyfirst.OLSBandit` with q = 1, minimum norm, refreshed by its scheduled samples.

    Rounds in between only note which rows an arm has to take in.
    """

    def __init__(self, run: Draw, pulls: int, h: float) -> None:
        self.contexts, self.rewards, self.half = run.contexts, run.rewards, h / 2.0
        (_, d), self.n_arms = run.contexts.shape, run.rewards.shape[1]
        self.estimates = np.zeros((2 * self.n_arms, d))  # by all samples, then by forced ones
        self.first = self.n_arms * pulls
        self.models: dict[int, tuple[MinimumNorm, MinimumNorm]] = {}  # likewise
        self.waiting: list[list[int]] = [[] for _ in range(self.n_arms)]
        self.offset, self.before = 0, 0  # of own steps in the run; own steps before the next block
        while self.before < self.first:
            self.before = 2 * self.before + self.n_arms

    def choose(self, step: int, x: FloatArray, ties: list[float]) -> int:
        if step > self.before:
            return step - self.before - 1
        n_arms = self.n_arms
        if step <= self.first:
            return (step - 1) % n_arms
        scores = self.estimates.dot(x).tolist()
        by_forced = scores[n_arms:]
        del scores[n_arms:]
        bar = max(by_forced) - self.half
        if min(by_forced) < bar:
            scores = [a if f >= bar else -np.inf for a, f in zip(scores, by_forced, strict=True)]
        return highest(scores, ties)

    def learn(self, step: int, x: FloatArray, arm: int, y: float) -> None:
        self.waiting[arm].append(self.offset + step - 1)
        if step > self.before:
            self._refresh(arm)
            if step == self.before + self.n_arms:
                self.before += step

    def _refresh(self, arm: int) -> None:
        waiting, n_arms = self.waiting[arm], self.n_arms
        if arm not in self.models:  # both estimators have the initial samples in common
            pulls, model = self.first // n_arms, MinimumNorm(self.contexts.shape[1])
            self._take(model, arm, waiting[:pulls])
            del waiting[:pulls]
            self.models[arm] = model, model.copy()
        model, forced = self.models[arm]
        self._take(model, arm, waiting)
        self._take(forced, arm, waiting[-1:])
        waiting.clear()
        self.estimates[arm], self.estimates[n_arms + arm] = model.estimate(), forced.estimate()

    def _take(self, model: MinimumNorm, arm: int, steps: list[int]) -> None:
        model.learn(self.contexts.take(steps, axis=0), self.rewards[steps, arm])
