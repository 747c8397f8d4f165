"""Linear models that take in a block of rows by their sums, as if the rows came one by one.

A model can do so where no row of the block changes more than its sums: no new direction, and no
prior that is learned again on the way. Estimates are then computed afresh from the sums. They
differ from those of rank-one updates by rounding alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.models import first_ridge, gaussian_posterior, learned_prior
from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.gaussian_posterior import GaussianPosterior
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import LeastSquares, catch_up, observe, settle
from greedyfirst.models.reward_spread import RewardSpread
from greedyfirst.models.row_sums import RowSums
from greedyfirst.validation import BoolArray, FloatArray, IntArray

# Sums of contexts lose digits where origins are further away than this many squared standard
# deviations; a feature that has one value adds up to that but for rounding.
FAR, NOTHING = 1e6, 1e-9


def can_add(model: Any, sums: RowSums, phase: int = 0) -> bool:
    """Whether the model can take in these rows by their sums; ``phase`` is that of its spans."""
    if isinstance(model, LeastSquares):
        singular = np.flatnonzero((model.rank < model.gram.shape[1]) & (sums.pulls > 0))
        return all(sums.is_inside(arm, phase) for arm in singular.tolist())
    if isinstance(model, FirstRidge):
        return _first_prior_stays(model, sums)
    if isinstance(model, LearnedRidge):
        return _prior_stays(model, sums) and _features_stay(model, sums)
    return isinstance(model, GaussianPosterior)


def _prior_stays(model: LearnedRidge, sums: RowSums) -> bool:
    """Whether the prior is not learned again within these rows for want of rows or noise."""
    if model.noise_variance == 0.0 or model.rewards + sums.rows >= model.learn_at:
        return False
    squares = float(sums.squares_about(model.reference).sum())
    return squares <= learned_prior.GROWTH * model.spread


def _features_stay(model: LearnedRidge, sums: RowSums) -> bool:
    """Whether no feature varies that has not, and origins cost the sums no digits."""
    if model.given:
        return True
    about = model.centring
    dummies = about.column < 0 and bool(about.origin.any())
    far = (about.active * about.origin**2 > FAR * np.diag(model.shape)).any()
    if dummies or far:
        return False
    if model.fits:
        w, n = model.direction, sums.rows
        left = n - 2.0 * float(w @ sums.total.sum(axis=0)) + float(w @ sums.gram.sum(axis=0) @ w)
        if left > NOTHING * n:
            return False
    fixed = about.active == 0.0
    if about.column >= 0:
        fixed[about.column] = True
    value = about.first[fixed]
    at_most = (sums.largest.max(axis=0)[fixed] <= np.abs(value)).all()
    missing = np.abs(sums.total.sum(axis=0)[fixed] - sums.rows * value)
    return bool(at_most and (missing <= NOTHING * np.abs(value)).all())


def _first_prior_stays(model: FirstRidge, sums: RowSums) -> bool:
    """Whether the prior is not learned again within these rows, by rule 1."""
    if model.noise_variance == 0.0 or model.rewards + sums.rows >= model.learn_at:
        return False
    blank = np.diagonal(model.pooled) == 0.0
    return model.given or not (sums.largest.max(axis=0)[blank] > 0.0).any()


def complements(model: Any) -> list[FloatArray]:
    """Directions (·, d) that no row has had, by arm; none of all arms together (the last)."""
    n_arms, d = model.estimate.shape
    found = [np.zeros((0, d))] * (n_arms + 1)
    if isinstance(model, LeastSquares):
        ranks = zip(model.basis, model.rank, strict=True)
        found[:-1] = [basis[: d - rank].copy() for basis, rank in ranks]
    return found


def add(model: Any, sums: RowSums, warmup: int = 0) -> None:
    """Take in rows by their sums; ``warmup`` is for least squares."""
    seen = sums.pulls > 0
    if isinstance(model, LeastSquares):
        _add_to_least_squares(model, sums, seen, warmup)
    elif isinstance(model, LearnedRidge):
        _add_to_ridge(model, sums, seen, model.there)
    elif isinstance(model, FirstRidge):
        _add_to_ridge(model, sums, seen, np.eye(len(model.reference)))
    else:
        moment = sums.moment_about(np.zeros(sums.gram.shape[1]))
        model.pulls += sums.pulls
        for total in (model.gram, model.precision):
            total += sums.gram
        model.shift += moment
        run(_refresh_posterior, model, seen)


def _add_to_least_squares(model: LeastSquares, sums: RowSums, seen: BoolArray, warmup: int) -> None:
    run(_settle, model, seen)
    model.pulls += sums.pulls
    model.settled_gram += sums.gram
    model.moment += sums.moment_about(np.zeros(sums.gram.shape[1]))
    singular = seen & (model.rank < sums.gram.shape[1])
    model.units[singular] = np.maximum(model.units, sums.largest)[singular]
    run(_catch_up, model, warmup, seen & ~model.paused)


def _add_to_ridge(
    model: LearnedRidge | FirstRidge, sums: RowSums, seen: BoolArray, there: FloatArray
) -> None:
    """``there`` makes the model's rows of contexts."""
    run(_settle, model, seen)
    model.pulls += sums.pulls
    model.rewards += sums.rows
    model.settled_gram += there @ sums.gram @ there.T
    model.total += sums.total @ there.T
    model.moment += sums.moment_about(model.reference) @ there.T
    model.squares += sums.squares_about(model.reference)
    first = isinstance(model, FirstRidge)
    run(_refresh_first_ridge if first else _refresh_ridge, model, seen)


def add_one_by_one(
    model: LeastSquares, warmup: int, contexts: FloatArray, arms: IntArray, rewards: FloatArray
) -> None:
    """Take in one row of ``contexts`` (n, d) after the other."""
    run(_observe, model, warmup, contexts, arms, rewards)


def add_rewards(spread: RewardSpread, sums: RowSums) -> None:
    """Take in the rewards' mean and squares (Chan, Golub and LeVeque)."""
    before, after = spread.count, spread.count + sums.rows
    deviation = sums.reward_mean - spread.mean
    spread.count = after
    spread.mean += deviation * sums.rows / after
    spread.squares += sums.reward_squares + deviation * deviation * before * sums.rows / after


@entry
def _observe(
    model: Any, warmup: int, contexts: FloatArray, arms: IntArray, rewards: FloatArray
) -> None:
    for row in range(contexts.shape[0]):
        observe(model, warmup, arms[row], contexts[row], rewards[row])


@entry
def _settle(model: Any, seen: BoolArray) -> None:
    for arm in range(seen.shape[0]):
        if seen[arm]:
            settle(model, arm)


@entry
def _catch_up(model: Any, warmup: int, seen: BoolArray) -> None:
    for arm in range(seen.shape[0]):
        if seen[arm]:
            catch_up(model, warmup, arm)


@entry
def _refresh_ridge(model: Any, seen: BoolArray) -> None:
    for arm in range(seen.shape[0]):
        if seen[arm]:
            learned_prior.refresh(model, arm)


@entry
def _refresh_first_ridge(model: Any, seen: BoolArray) -> None:
    for arm in range(seen.shape[0]):
        if seen[arm]:
            first_ridge.refresh(model, arm)


@entry
def _refresh_posterior(model: Any, seen: BoolArray) -> None:
    for arm in range(seen.shape[0]):
        if seen[arm]:
            gaussian_posterior.refresh(model, arm)
