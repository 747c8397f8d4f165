r"""What each arm would pay if everyone got it, from decisions whose probabilities changed.

Decision t took arm :math:`a_t` and paid :math:`r_t`; arm w had the probability :math:`e_t(w)`. The
score

.. math:: \Gamma_t(w) = \hat q_t(x_t, w) + \frac{1\{a_t = w\}}{e_t(w)}(r_t - \hat q_t(x_t, w))

has the mean reward of w as its mean, given all before, whatever model :math:`\hat q_t` of the
rewards was fitted to earlier decisions. Where a policy learns, though, the scores of arms that it
has left scatter ever more, by about :math:`E[1/e_t(w)]`, and their plain mean is not normal.
Weighted by

.. math:: h_t = \left(\text{mean of } 1/e_s(w) \text{ over the decisions } s
          \text{ just before t}\right)^{-1/2}

each term scatters alike, and :math:`\hat Q = \sum h_t\Gamma_t/\sum h_t` is about normal, with the
variance :math:`\sum h_t^2(\Gamma_t - \hat Q)^2/(\sum h_t)^2`. These are the weights that stabilise
the variance of Hadad, Hirshberg, Zhan, Wager and Athey (*PNAS* 2021); with contexts, those of Zhan,
Hadad, Hirshberg and Athey (*KDD* 2021) that depend on the past alone. Weights that depend on the
context would ask about other people than everyone.

A stretch of decisions in which some people had no chance to get the arm has the weight 0: what such
people would have earned with it is not in the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.evaluation.estimators import Estimate
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.evaluation.reward_model import RewardModel
from greedyfirst.evaluation.support import TOO_FEW_ROWS
from greedyfirst.validation import FloatArray, number

#: Decisions that only the first model learns from, and those that a weight looks back on.
FIRST, WINDOW = 20, 100
#: A smaller probability counts as none: so few get the arm that the rest of the log cannot say how
#: much a single reward of theirs would move the estimate.
LEAST_CHANCE = 0.01
#: The model is fitted again when there are so many times as many decisions.
GROWTH = 1.3


@dataclass(frozen=True, kw_only=True)
class ArmValue:
    """What an arm would pay if everyone got it; ``estimate`` is None if the log cannot tell.

    Examples
    --------
    >>> from greedyfirst.evaluation import ArmValue
    >>> ArmValue(estimate=None, decisions=40, taken=1).refusal
    'it was taken in too few decisions: 1'
    """

    estimate: Estimate | None
    #: Decisions with a weight, and how many of them took the arm.
    decisions: int
    taken: int

    @property
    def refusal(self) -> str | None:
        """Why there is no estimate."""
        if self.estimate is not None:
            return None
        if self.decisions == 0:
            return f"it had no chance (below 1 %) with some of any {WINDOW} people in a row"
        return f"it was taken in too few decisions: {self.taken}"


def arm_values(log: LoggedData, *, level: float = 0.95) -> dict[str, ArmValue]:
    """Each arm's mean reward for everyone, by the arm's name.

    Parameters
    ----------
    log
        Decisions in the order in which they were made, with the propensity of every arm.
    level
        Of the intervals, which are normal: for many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.evaluation import LoggedData, arm_values
    >>> arms = np.arange(1000) // 2 % 2
    >>> log = LoggedData(contexts=np.ones((1000, 1)), arms=arms, rewards=1.0 * arms,
    ...                  propensities=np.full(1000, 0.5), arm_names=["old", "new"])
    >>> round(arm_values(log)["new"].estimate.value, 3)
    1.0
    """
    number("level", level, above=0, below=1)
    chances = log.chances()
    if chances is None:
        raise ValueError(
            "log must have all_propensities, the probability of every arm in each decision"
        )
    scores, weights = arm_scores(log, chances), arm_weights(chances)
    return {
        name: _value(log.arms == arm, chances[:, arm], scores[:, arm], weights[:, arm], level)
        for arm, name in enumerate(log.arm_names)
    }


def arm_scores(log: LoggedData, chances: FloatArray) -> FloatArray:
    """Γ of every decision and arm (n, n_arms); 0 where only the first model learns."""
    scores = np.zeros((len(log), log.n_arms))
    start = FIRST
    while start < len(log):
        rows = np.arange(start, min(max(start + 1, int(GROWTH * start)), len(log)))
        here = log.part(rows)
        predicted = RewardModel.fit(log.part(np.arange(start))).predict(here.contexts)
        each = np.arange(len(rows))
        errors = here.rewards - predicted[each, here.arms]
        predicted[each, here.arms] += errors / chances[rows, here.arms]
        scores[rows] = predicted
        start = int(rows[-1]) + 1
    return scores


def arm_weights(chances: FloatArray) -> FloatArray:
    """h of every decision and arm (n, n_arms); 0 where the arm had no chance, now or before."""
    none = chances < LEAST_CHANCE
    inverse = np.where(none, np.inf, 1.0 / np.where(none, 1.0, chances))
    weights = np.zeros(chances.shape)
    for row in range(FIRST, len(chances)):
        weights[row] = inverse[max(row - WINDOW, 0) : row].mean(axis=0)
    weights[FIRST:] = 1.0 / np.sqrt(weights[FIRST:])
    weights[none] = 0.0
    return weights


def _value(
    taken: FloatArray, chances: FloatArray, scores: FloatArray, weights: FloatArray, level: float
) -> ArmValue:
    """The estimate of one arm, from its columns; all arrays are (n,)."""
    used = np.flatnonzero(weights > 0)
    scores, weights, taken, chances = (each[used] for each in (scores, weights, taken, chances))
    own = np.where(taken, weights / chances, 0.0)
    effective = own.sum() ** 2 / (own**2).sum() if taken.any() else 0.0
    estimate = None
    if effective >= TOO_FEW_ROWS:
        total = float(weights.sum())
        value = float((weights * scores).sum()) / total
        error = math.sqrt(float((weights**2 * (scores - value) ** 2).sum())) / total
        estimate = Estimate.around(value, error, level)
    return ArmValue(estimate=estimate, decisions=len(used), taken=int(taken.sum()))
