"""The ridge regressions of upper confidence bounds: a penalty that is given, or learned."""

from __future__ import annotations

import numpy as np

from greedyfirst.compiling.records import Memory
from greedyfirst.models import gaussian_posterior
from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.gaussian_posterior import GaussianPosterior
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.linear_part import AUTO, learning_ridge
from greedyfirst.validation import number, wrong

#: What kernels are told of a penalty that is learned.
LEARNED = 0.0


def checked_penalty(value: float | str) -> None:
    """Refuse a ``regularization`` that is none."""
    if not isinstance(value, str):
        number("regularization", value, above=0)
    elif value != AUTO:
        raise wrong("regularization", value, "a number above 0, or 'auto'")


def penalty_option(value: float | str) -> float:
    """``regularization`` as kernels take it."""
    return LEARNED if value == AUTO else float(value)


def plain_ridge(
    memory: Memory, n_arms: int, d: int, penalty: float, rule: int
) -> GaussianPosterior | LearnedRidge | FirstRidge:
    """Ridge regressions before the first row: with this penalty and unit noise, or learned."""
    if penalty == LEARNED:
        return learning_ridge(memory, n_arms, d, rule)
    return gaussian_posterior.init(memory, n_arms, np.zeros(d), np.eye(d) / penalty)
