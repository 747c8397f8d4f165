"""The value of a policy on decisions that another one made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.evaluation import estimators
from greedyfirst.evaluation.estimators import (
    DIRECT,
    DOUBLY_ROBUST,
    INVERSE,
    SELF_NORMALISED,
    Estimate,
    Penalty,
)
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.evaluation.reward_model import RewardModel
from greedyfirst.evaluation.support import Support
from greedyfirst.evaluation.targets import Target, learns, probabilities
from greedyfirst.validation import FloatArray, IntArray, number, whole_number

if TYPE_CHECKING:
    import pandas

NO_PROPENSITIES = (
    "The log has no propensities, so only the direct method is given. It is right only where its "
    "linear model of the rewards is, where the log tried each arm on all kinds of contexts, and "
    "where no policy learned while the log was made."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """What a log says about the value of a target: its mean reward per decision.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.evaluation import LoggedData, evaluate
    >>> arms = np.arange(1000) % 2
    >>> log = LoggedData(contexts=np.ones((1000, 1)), arms=arms, rewards=1.0 * arms,
    ...                  propensities=np.full(1000, 0.5), arm_names=["old", "new"])
    >>> evaluation = evaluate(log, np.tile([0.0, 1.0], (1000, 1)))
    >>> round(evaluation.logged.value, 3), evaluation.best
    (0.5, 'doubly robust')
    """

    #: By the estimator's name; those that the log does not support are not there.
    estimates: dict[str, Estimate]
    #: What the log's own decisions earned.
    logged: Estimate
    #: Target less log, by the estimator's name.
    gains: dict[str, Estimate]
    #: None without propensities.
    support: Support | None
    #: What the reward model's penalty does to the direct method.
    penalty: Penalty
    level: float

    def __repr__(self) -> str:
        found = self.estimates[self.best]
        ends = f"{found.low:.4g} to {found.high:.4g}"
        return f"Evaluation({self.best} {found.value:.4g}, {ends}; logged {self.logged.value:.4g})"

    @property
    def best(self) -> str:
        """The estimator to look at first: doubly robust where there is one."""
        return DOUBLY_ROBUST if DOUBLY_ROBUST in self.estimates else DIRECT

    def sentences(self) -> list[str]:
        """What to know, in plain words; the first is the answer."""
        gain = self.gains[self.best]
        said = self.support.sentences() if self.support is not None else [NO_PROPENSITIES]
        sure = "" if self.best == DOUBLY_ROBUST else " if the model of the rewards is right"
        if self.support is not None and self.best == DOUBLY_ROBUST and self.support.too_few:
            rare = " rewards that stand out" if self.support.rare_rewards else " rows"
            answer = f"The log has too few{rare} to tell"
        elif gain.low > 0:
            answer = f"It would have earned more than what was done{sure}"
        elif gain.high < 0:
            answer = f"It would have earned less than what was done{sure}"
        else:
            answer = "The log cannot tell it from what was done"
        interval = f"{gain.low:+.4g} to {gain.high:+.4g}"
        answer = f"{answer}: {gain.value:+.4g} a decision ({interval}, {self.best})."
        return [answer, *said, *self._pulled()]

    def _pulled(self) -> list[str]:
        """Whether the direct method's model hides the arms' own levels."""
        direct, shift = self.estimates[DIRECT], self.penalty.shift
        if shift**2 <= direct.standard_error**2 / 2:
            return []
        return [
            "The model of the direct method has many columns for its rows, and pulls the arms "
            f"together: with a level of its own for each it would give {direct.value + shift:.4g} "
            f"instead of {direct.value:.4g}. Drop columns that say nothing."
        ]

    def to_frame(self) -> pandas.DataFrame:
        """A row per estimator: value, standard_error, low, high, gain and its interval."""
        import pandas as pd

        rows = [
            {
                "estimator": name,
                "value": made.value,
                "standard_error": made.standard_error,
                "low": made.low,
                "high": made.high,
                "gain": self.gains[name].value,
                "gain_low": self.gains[name].low,
                "gain_high": self.gains[name].high,
            }
            for name, made in self.estimates.items()
        ]
        return pd.DataFrame(rows)


def evaluate(
    log: LoggedData, target: Target, *, folds: int = 5, level: float = 0.95, seed: int = 0
) -> Evaluation:
    """Estimate what ``target`` would have earned where ``log`` was made.

    Parameters
    ----------
    log
        Decisions, their rewards and, where known, their propensities.
    target
        A policy of the library: it learns from all folds but one, and is evaluated on that one, in
        turn. Or something that does not change with the log: an agent as it is, the probabilities
        of each row's arms (n, n_arms), or a function from contexts to such.
    folds
        Random parts of the log: the reward model of doubly robust estimates, and a policy, never
        see the rows that they are judged on.
    level
        Of the intervals, which are normal: for many rows.
    seed
        Of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.evaluation import LoggedData, evaluate
    >>> arms = np.arange(1000) % 2
    >>> log = LoggedData(contexts=np.ones((1000, 1)), arms=arms, rewards=1.0 * arms,
    ...                  propensities=np.full(1000, 0.5), arm_names=["old", "new"])
    >>> always_new = np.tile([0.0, 1.0], (1000, 1))
    >>> round(evaluate(log, always_new).estimates["doubly robust"].value, 3)
    1.0
    """
    whole_number("folds", folds, at_least=2)
    number("level", level, above=0, below=1)
    whole_number("seed", seed, at_least=0)
    if len(log) < 2 * folds:
        raise ValueError(
            f"the log must have at least {2 * folds} rows for {folds} folds, got {len(log)}"
        )
    n = len(log)
    planned = np.zeros((n, log.n_arms)) if learns(target) else probabilities(target, log, None)
    direct, robust, penalty = np.zeros(n), np.zeros(n), Penalty(0.0, 0.0)
    whole = None if learns(target) else RewardModel.fit(log)
    for rows, rest in _folds(n, folds, seed):
        here, others = log.part(rows), log.part(rest)
        if whole is None:
            planned[rows] = probabilities(target, here, others)
            # The model must not have seen what the policy learned from: the best of many
            # estimates is too high on average.
            influences, own = estimators.direct_method(here, planned[rows], RewardModel.fit(here))
            direct[rows] = influences
            penalty = penalty.plus(own.part(len(rows) / n))
        if log.propensities is not None:
            weights = _weights(here, planned[rows])
            robust[rows] = estimators.doubly_robust(
                here, planned[rows], weights, RewardModel.fit(others)
            )
    if whole is not None:
        direct, penalty = estimators.direct_method(log, planned, whole)
    influences_of = {DIRECT: direct}
    support = None
    if log.propensities is not None:
        weights = _weights(log, planned)
        support = Support.of(log, planned, weights)
        if not (support.missing or support.contradictory):
            influences_of |= {
                INVERSE: estimators.inverse_propensity(weights, log.rewards),
                SELF_NORMALISED: estimators.self_normalised(weights, log.rewards),
                DOUBLY_ROBUST: robust,
            }
    return _evaluation(log, influences_of, penalty, support, level)


def _evaluation(
    log: LoggedData,
    influences_of: dict[str, FloatArray],
    penalty: Penalty,
    support: Support | None,
    level: float,
) -> Evaluation:
    """Intervals of the estimates, and of their differences from what was earned."""
    variance_of = dict.fromkeys(influences_of, 0.0) | {DIRECT: penalty.squared_error}
    estimates, gains = {}, {}
    for name, influences in influences_of.items():
        variance = variance_of[name]
        estimates[name] = Estimate.of(influences, level, more_variance=variance)
        gains[name] = Estimate.of(influences - log.rewards, level, more_variance=variance)
    return Evaluation(
        estimates=estimates,
        logged=Estimate.of(log.rewards, level),
        gains=gains,
        support=support,
        penalty=penalty,
        level=level,
    )


def _weights(log: LoggedData, planned: FloatArray) -> FloatArray:
    assert log.propensities is not None
    weights: FloatArray = planned[np.arange(len(log)), log.arms] / log.propensities
    return weights


def _folds(n: int, folds: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Random parts of about equal size, each with all other rows, in their order."""
    order = np.random.default_rng(seed).permutation(n)
    for part in np.array_split(order, folds):
        rows = np.sort(part)
        yield rows, np.setdiff1d(np.arange(n), rows)
