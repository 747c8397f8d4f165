"""Generalised linear rewards: clicks, conversions, counts (§3.4 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.links.link import find_link, means
from greedyfirst.problems.arm_parameters import ArmParameters
from greedyfirst.problems.parametric_problem import Contexts, ParametricProblem
from greedyfirst.problems.problem import Draw, measure_regrets
from greedyfirst.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False, init=False)
class GeneralizedLinearProblem(ParametricProblem):
    r"""Arm k pays a random :math:`Y_t` with :math:`E[Y_t] = \mu(X_t^\top \beta_k)`.

    Regret is in expected rewards.

    Parameters
    ----------
    contexts, arms
        As in :class:`~greedyfirst.problems.LinearProblem`.
    link : str
        ``"logistic"`` and ``"probit"`` pay 0 or 1, ``"poisson"`` counts; or a link of your own.

    Notes
    -----
    The rewards of a step are all arms' quantiles of one random number, for the same reason as a
    linear problem's noise is shared. One generator is used in this order: arm parameters, contexts,
    rewards.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import GeneralizedLinearProblem, UniformBox
    >>> clicks = GeneralizedLinearProblem(contexts=UniformBox(n_features=1), arms=[[1.0], [-1.0]])
    >>> clicks.expected_rewards(parameters=[[1.0], [-1.0]], contexts=[[0.0]]).tolist()
    [[0.5, 0.5]]
    >>> sorted(set(clicks.draw(np.random.default_rng(0), horizon=50).rewards.ravel().tolist()))
    [0.0, 1.0]
    """

    link: str

    def __init__(
        self, *, contexts: Contexts, arms: ArmParameters | ArrayLike, link: str = "logistic"
    ) -> None:
        super().__init__(contexts=contexts, arms=arms)
        object.__setattr__(self, "link", find_link("link", link).name)

    def expected_rewards(self, *, parameters: ArrayLike, contexts: ArrayLike) -> FloatArray:
        """Each arm's expected reward μ(x'β_k) (n, n_arms)."""
        predictors = self.linear_predictors(parameters=parameters, contexts=contexts)
        return means(find_link("link", self.link), predictors)

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        """Draw parameters, then contexts, then rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness.
        horizon : int
            The number of steps T, at least 1.

        Returns
        -------
        Draw
            contexts (horizon, n_features), rewards (horizon, n_arms), regrets (horizon, n_arms).
        """
        parameters, contexts = self._start(rng, horizon)
        expected = self.expected_rewards(parameters=parameters, contexts=contexts)
        rewards = find_link("link", self.link).draw(rng, expected)
        return Draw(contexts=contexts, rewards=rewards, regrets=measure_regrets(expected))
