"""What a problem is: something that draws all contexts, rewards and regrets of one run."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from greedyfirst.validation import FloatArray


class Draw(NamedTuple):
    """One run laid out before any policy acts, so that all policies can meet the same one.

    All arrays are float64 and C-contiguous; row t - 1 belongs to step t.

    Attributes
    ----------
    contexts : array (horizon, n_features)
        The context of each step.
    rewards : array (horizon, n_arms)
        What each arm would pay, noise included; a policy sees the entry of the arm it pulls.
    regrets : array (horizon, n_arms)
        The best arm's expected reward minus this arm's: at least 0, exactly 0 for the best arm.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBox
    >>> problem = LinearProblem(
    ...     contexts=UniformBox(n_features=2), arms=[[1, 0], [0, 1]], noise=GaussianNoise(sigma=0.1)
    ... )
    >>> draw = problem.draw(np.random.default_rng(0), horizon=50)
    >>> draw.contexts.shape, draw.rewards.shape, draw.regrets.shape
    ((50, 2), (50, 2), (50, 2))
    """

    contexts: FloatArray
    rewards: FloatArray
    regrets: FloatArray


@runtime_checkable
class Problem(Protocol):
    """A law of runs with K arms and contexts in R^d.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import TableProblem
    >>> problem = TableProblem(contexts=[[1.0], [2.0]], rewards=[[1.0, 0.0], [0.0, 1.0]])
    >>> problem.n_arms, problem.n_features
    (2, 1)
    >>> problem.draw(np.random.default_rng(0), horizon=2).regrets.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        ...

    @property
    def n_features(self) -> int:
        """The dimension d of a context."""
        ...

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        """Draw a new instance and ``horizon`` steps of it."""
        ...


def measure_regrets(expected: FloatArray) -> FloatArray:
    """Subtract each entry from the largest of its row.

    Parameters
    ----------
    expected : array (n, n_arms)
        The expected reward of each arm in each context.

    Returns
    -------
    array (n, n_arms)
        max_j expected[t, j] - expected[t, k]: at least 0, exactly 0 where k is the best arm.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import measure_regrets
    >>> measure_regrets(np.array([[3.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    # Column by column: NumPy's maximum along a short last axis is some ten times slower.
    best = expected[:, 0].copy()
    for k in range(1, expected.shape[1]):
        np.maximum(best, expected[:, k], out=best)
    regrets: FloatArray = best[:, np.newaxis] - expected
    return np.ascontiguousarray(regrets)
