"""A problem that is the user's own table of contexts and rewards."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from greedyfirst.problems.frozen_array import frozen_array
from greedyfirst.problems.problem import Draw, measure_regrets
from greedyfirst.validation import FloatArray, flag, whole_number, wrong

# Eigenvalues of the Gram matrix with a unit diagonal below this share of the largest are rounding.
RANK_CUT = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class TableProblem:
    """Rows of known contexts and rewards of every arm, as in the real data of Figure 4.

    Parameters
    ----------
    contexts : array (n, n_features)
        One context per row.
    rewards : array (n, n_arms)
        What each arm would pay in that row.
    expected : array (n, n_arms) or None
        Expected rewards, from which regrets are taken; None takes them from ``rewards``, so that
        with rewards of 1 for the right arm and 0 otherwise a regret is a wrong decision.
    shuffle : bool
        True: each draw takes a fresh random permutation of the rows, as Figure 4 does. False:
        the rows in their order, and the generator is not used.
    resample : bool
        True: each step takes any row, with replacement, so that a run may be longer than the table
        and rows come again. Not together with ``shuffle``.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import TableProblem
    >>> problem = TableProblem(contexts=[[1.0], [2.0], [3.0]], rewards=[[1, 0], [1, 0], [0, 1]])
    >>> problem.n_rows
    3
    >>> problem.draw(np.random.default_rng(0), horizon=3).contexts.tolist()
    [[1.0], [2.0], [3.0]]
    """

    contexts: ArrayLike
    rewards: ArrayLike
    expected: ArrayLike | None = None
    shuffle: bool = False
    resample: bool = False
    _table: Draw = field(init=False, repr=False)

    def __post_init__(self) -> None:
        contexts = frozen_array("contexts", self.contexts, (None, None))
        rewards = frozen_array("rewards", self.rewards, (None, None))
        if len(rewards) != len(contexts):
            expected_rows = f"of {len(contexts)} rows, one for each row of contexts"
            raise wrong("rewards", rewards.shape, expected_rows)
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "rewards", rewards)
        judged = rewards
        if self.expected is not None:
            judged = frozen_array("expected", self.expected, rewards.shape)
            object.__setattr__(self, "expected", judged)
        object.__setattr__(self, "shuffle", flag("shuffle", self.shuffle))
        if flag("resample", self.resample) and self.shuffle:
            raise wrong("resample", self.resample, "False where rows are shuffled: each comes once")
        object.__setattr__(self, "_table", Draw(contexts, rewards, measure_regrets(judged)))

    @property
    def n_arms(self) -> int:
        """The number of columns of ``rewards``."""
        return int(self._table.rewards.shape[1])

    @property
    def n_features(self) -> int:
        """The number of columns of ``contexts``."""
        return int(self._table.contexts.shape[1])

    @property
    def n_rows(self) -> int:
        """The number of rows, which is the longest horizon unless they are resampled."""
        return len(self._table.contexts)

    def draw_parameters(self, rng: np.random.Generator) -> FloatArray:
        """Least squares of each arm's rewards on all rows (n_arms, n_features).

        Where columns are collinear, one of the solutions: all predict the same.
        """
        contexts, rewards = self._table.contexts, self._table.rewards
        scale = np.sqrt(np.einsum("ni,ni->i", contexts, contexts))
        scale[scale == 0.0] = 1.0
        gram = (contexts.T @ contexts) / np.outer(scale, scale)
        moments = (contexts.T @ rewards) / scale[:, np.newaxis]
        inverse = np.linalg.pinv(gram, rcond=RANK_CUT, hermitian=True)
        return np.ascontiguousarray((inverse @ moments).T / scale)

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        """Take ``horizon`` rows: the first ones, those of a permutation, or any by ``rng``.

        Parameters
        ----------
        rng : numpy.random.Generator
            Used only to shuffle or to resample.
        horizon : int
            The number of steps T, from 1 to n; any with ``resample``.

        Returns
        -------
        Draw
            contexts (horizon, n_features), rewards (horizon, n_arms), regrets (horizon, n_arms).
        """
        whole_number("horizon", horizon, at_least=1)
        if horizon > self.n_rows and not self.resample:
            raise wrong("horizon", horizon, f"at most {self.n_rows}, the number of rows")
        order = self.order(rng, horizon)
        return Draw(*(column.take(order, axis=0) for column in self._table))

    def row_regrets(self) -> FloatArray:
        """The regret of each arm in each row, rows in the table's order (n, n_arms)."""
        return self._table.regrets

    def order(self, rng: np.random.Generator, horizon: int) -> NDArray[np.int64]:
        """The rows' numbers in the order in which a draw by ``rng`` takes them (horizon,)."""
        if self.resample:
            return rng.integers(self.n_rows, size=horizon)
        return (rng.permutation(self.n_rows) if self.shuffle else np.arange(self.n_rows))[:horizon]
