"""What an agent has learned: estimates, how sure they are, and what would be chosen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.agent.contexts import is_table
from greedyfirst.agent.intervals import Intervals
from greedyfirst.agent.intervals import intervals as agent_intervals
from greedyfirst.agent.loops import ONLY_SCORE
from greedyfirst.agent.running_policy import RunningPolicy
from greedyfirst.links.link import link_of, means
from greedyfirst.policies.greedy_first import DiversityReport, report
from greedyfirst.policies.selection import selection_probabilities
from greedyfirst.validation import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas


class Estimates(RunningPolicy):
    """The part of an agent that tells what was learned, and changes nothing.

    ``context`` is one context, or several (n, n_features): then results have n rows.
    """

    def _rows(self, argument: str, contexts: Any) -> FloatArray:
        """Several contexts as numbers (n, n_features)."""
        rows = self._reader.table(argument, contexts)
        self.feature_names = self._reader.names
        return rows

    def _one_or_many(self, context: Any) -> tuple[FloatArray, bool]:
        """Contexts (n, n_features), and whether more than one could have been meant."""
        if is_table(context):
            return self._rows("context", context), True
        row = self._reader.row("context", context)
        self.feature_names = self._reader.names
        return row[np.newaxis], False

    def _explain_rows(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected rewards (n, n_arms), and contributions (n, n_arms, n_features)."""
        model = self._model("to explain a decision")
        parts = rows[:, np.newaxis, :] * np.asarray(model.estimate)
        # Feature by feature, as the compiled loop for one context adds them up.
        predictors = np.zeros(parts.shape[:2])
        for feature in range(self.n_features):
            predictors += parts[:, :, feature]
        link = getattr(model, "link", None)
        if link is not None:
            predictors = means(link_of(link), predictors.ravel()).reshape(predictors.shape)
        return predictors, parts

    def standard_errors(self, context: Any) -> FloatArray | None:
        """The standard error of each arm's expected reward, by the model's covariance (n_arms,).

        How unsure an estimate is for this context, by the model; not a confidence interval, since
        the policy itself chose which arm was tried where. NaN for an arm whose model does not say;
        None where no model does: least squares, and ridge regression before it knows the noise.
        """
        rows, many = self._one_or_many(context)
        model = self._model("to explain a decision")
        link = getattr(model, "link", None)
        spread = getattr(model, "covariance" if link is None else "inverse", None)
        if spread is None:
            return None
        squares = np.einsum("ni,kij,nj->nk", rows, np.asarray(spread), rows)
        errors = np.sqrt(np.maximum(squares, 0.0))
        if link is None:
            # Ridge regression that learns its prior keeps covariances over the noise's variance.
            variance = getattr(model, "noise_variance", 1.0)
            if not variance > 0.0:
                return None
            errors = errors * math.sqrt(variance)
        else:
            slope = np.vectorize(link_of(link).slope, otypes=[np.float64])
            slopes = slope(rows @ np.asarray(model.estimate).T)
            errors = np.where(self.pulls > 0, errors * slopes, np.nan)
        found: FloatArray = errors if many else errors[0]
        return found

    def probabilities(self, context: Any) -> FloatArray:
        """The exact probability with which the next decision here would take each arm (n_arms,).

        For n contexts (n, n_arms): each as if it were the next.
        """
        rows, many = self._one_or_many(context)
        found = np.empty((len(rows), self.n_arms))
        for place, row in enumerate(rows):
            due = self._decide(self._given_work, self.decisions + 1, row, ONLY_SCORE, self.seed)
            if due >= 0:
                found[place] = np.arange(self.n_arms) == due
            else:
                found[place] = selection_probabilities(self.state.scores, self._eligible)
        return found if many else found[0]

    def intervals(
        self, contexts: Any, *, sigma: float | None = None, level: float = 0.95
    ) -> Intervals:
        """Intervals of each arm's expected reward in these contexts (n, n_features).

        They hold for all arms, contexts and times together, on data that the agent itself has
        chosen: :mod:`greedyfirst.agent.intervals`.

        Parameters
        ----------
        contexts
            One row each.
        sigma
            The scale of the noise, sub-Gaussian: its standard deviation if it is normal, half the
            range of bounded rewards. If it is left out the noise of each arm is estimated, and the
            level approximate; until it shows, the arm has no interval, and ``caution`` of the
            result says why.
        level
            With which probability all of them hold.
        """
        return agent_intervals(self, self._rows("contexts", contexts), sigma=sigma, level=level)

    def coefficients(
        self, *, intervals: bool = False, sigma: float | None = None, level: float = 0.95
    ) -> pandas.DataFrame:
        """Each arm's coefficients: a frame with the columns arm, feature and estimate.

        Parameters
        ----------
        intervals
            Add the columns low and high: intervals as :meth:`intervals` has them, which hold for
            all arms, features and times together. They are those of least squares; the estimate is
            the one that decisions use, drawn towards its prior where the policy has one.
        sigma, level
            As in :meth:`intervals`.

        Examples
        --------
        >>> from greedyfirst import Agent, Greedy
        >>> agent = Agent(Greedy(warmup="pinv"), arms=["a", "b"], features=["age"], seed=0)
        >>> agent.update_many([[1.0], [2.0], [1.0]], ["a", "a", "b"], [3.0, 6.0, 1.0])
        >>> agent.coefficients()
          arm feature  estimate
        0   a     age       3.0
        1   b     age       1.0
        """
        import pandas  # half a second to import

        estimate = np.asarray(self._model("for coefficients").estimate)
        columns = {
            "arm": np.repeat(self.arm_names, self.n_features),
            "feature": np.tile(self.feature_names, self.n_arms),
            "estimate": estimate.ravel(),
        }
        if intervals:
            units = np.eye(self.n_features)
            found = agent_intervals(self, units, sigma=sigma, level=level)
            columns |= {"low": found.low.T.ravel(), "high": found.high.T.ravel()}
        return pandas.DataFrame(columns)

    @property
    def alarms(self) -> int:
        """Alarms of Greedy-First so far, and answers to them."""
        return 0 if self._watch is None else self._watch.alarms

    @property
    def alarmed_at(self) -> IntArray:
        """The number of rewards at which each arm raised the alarm that stands, else 0 (n_arms,).

        Where arms are explored one by one, the alarm of an arm that has been fed stands no more.
        """
        watched = self._watch
        return np.zeros(self.n_arms, np.int64) if watched is None else watched.tripped_at.copy()

    def diversity(self) -> DiversityReport:
        """Each arm's pulls, smallest eigenvalue, threshold and weakest direction."""
        return report.report(self)
