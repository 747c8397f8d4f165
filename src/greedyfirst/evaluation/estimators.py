r"""Estimators of a policy's value from decisions that another one made.

A log has contexts :math:`x_i`, arms :math:`a_i` taken with probability :math:`p_i`, and rewards
:math:`r_i`. A target takes arm a with probability :math:`\pi(a|x)`; its weight in row i is
:math:`w_i = \pi(a_i|x_i)/p_i`. With a reward model :math:`\hat q`, and
:math:`\hat q(x, \pi) = \sum_a\pi(a|x)\hat q(x, a)`:

=================== ===========================================================================
direct method       mean of :math:`\hat q(x_i, \pi)`; right if the reward model is, and no policy
                    learned while the log was made: who leaves an arm after bad luck keeps
                    :math:`\hat q` low
inverse propensity  mean of :math:`w_ir_i`; right if propensities are, and all arms have support
self-normalised     :math:`\sum w_ir_i/\sum w_i`; the same, steadier, with a small bias
doubly robust       mean of :math:`\hat q(x_i, \pi) + w_i(r_i - \hat q(x_i, a_i))`; right if
                    either of the first two is
=================== ===========================================================================

Each returns the estimate and every row's influence on it: their standard deviation over
:math:`\sqrt n` is the standard error. That of the direct method also holds what the reward model's
penalty may have done to it (:class:`Penalty`). Doubly robust estimates take
:math:`\hat q` from other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.evaluation.reward_model import RewardModel
from greedyfirst.validation import FloatArray

DIRECT, INVERSE = "direct method", "inverse propensity"
SELF_NORMALISED, DOUBLY_ROBUST = "self-normalised", "doubly robust"
ESTIMATORS = (DIRECT, INVERSE, SELF_NORMALISED, DOUBLY_ROBUST)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with its standard error; the interval is at the level asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.evaluation import Estimate
    >>> estimate = Estimate.of(np.array([0.0, 1.0] * 50), level=0.95)
    >>> estimate.value, round(estimate.standard_error, 4)
    (0.5, 0.0503)
    """

    value: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def of(cls, influence: FloatArray, level: float, *, more_variance: float = 0.0) -> Estimate:
        """The mean of the rows' influences, and a normal interval around it."""
        n = len(influence)
        value = float(influence.mean())
        if n < 2:
            return cls(value=value, standard_error=math.nan, low=math.nan, high=math.nan)
        error = math.sqrt(float(influence.var(ddof=1)) / n + more_variance)
        return cls.around(value, error, level)

    @classmethod
    def around(cls, value: float, error: float, level: float) -> Estimate:
        """A normal interval around the value, for its standard error."""
        half = float(ndtri(0.5 + level / 2)) * error
        return cls(value=value, standard_error=error, low=value - half, high=value + half)


class Penalty(NamedTuple):
    """What the reward model's penalty does to the direct method."""

    #: The prior variance of the error that it makes.
    variance: float
    #: How much higher the estimate would be if each arm had a level without a penalty.
    shift: float

    def part(self, share: float) -> Penalty:
        """Of a part of the rows, in the mean over all: parts have models of their own."""
        return Penalty(share**2 * self.variance, share * self.shift)

    def plus(self, other: Penalty) -> Penalty:
        """Of two parts together."""
        return Penalty(self.variance + other.variance, self.shift + other.shift)

    @property
    def squared_error(self) -> float:
        """What is added to the variance of the direct method."""
        return self.variance + self.shift**2


def direct_method(
    log: LoggedData, target: FloatArray, model: RewardModel
) -> tuple[FloatArray, Penalty]:
    """Influences of the direct method, and what the model's penalty does to it.

    ``model`` was fitted to ``log``. Beside the mean over contexts, each row also moves the model.
    """
    predicted = (target * model.predict(log.contexts)).sum(axis=1)
    asked: FloatArray = target.T @ log.contexts / len(log)
    moved = model.influence(log, asked)
    penalty = Penalty(
        model.shrinkage_variance(log, asked), model.level_shift(log, asked, target.mean(axis=0))
    )
    return predicted + moved - moved.mean(), penalty


def inverse_propensity(weights: FloatArray, rewards: FloatArray) -> FloatArray:
    """Influences of inverse propensity scoring."""
    return weights * rewards


def self_normalised(weights: FloatArray, rewards: FloatArray) -> FloatArray:
    """Influences of the self-normalised estimate, by the delta method."""
    value = float((weights * rewards).sum() / weights.sum())
    around: FloatArray = weights * (rewards - value) / weights.mean()
    return value + around


def doubly_robust(
    log: LoggedData, target: FloatArray, weights: FloatArray, model: RewardModel
) -> FloatArray:
    """Influences of the doubly robust estimate; ``model`` was fitted to other rows."""
    predicted = model.predict(log.contexts)
    own = predicted[np.arange(len(log)), log.arms]
    scores: FloatArray = (target * predicted).sum(axis=1) + weights * (log.rewards - own)
    return scores
