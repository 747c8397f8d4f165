"""Linear rewards: the problem of §2 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.arm_parameters import ArmParameters
from greedyfirst.problems.noise import Noise, check_noise
from greedyfirst.problems.parametric_problem import Contexts, ParametricProblem
from greedyfirst.problems.problem import Draw, measure_regrets
from greedyfirst.validation import FloatArray, array


@dataclass(frozen=True, kw_only=True, eq=False, init=False)
class LinearProblem(ParametricProblem):
    r"""Arm k pays :math:`Y_t = X_t^\top \beta_k + \varepsilon_t` (§2 of the paper).

    Parameters
    ----------
    contexts : context distribution, array (n, n_features) or callable
        The law of X_t. An array is taken row by row in its order (`FromArray` with
        ``order="given"``); a function ``draw(rng, size)`` is wrapped in `FromFunction`.
    arms : arm parameters or array (n_arms, n_features)
        The law of β_1, …, β_K, drawn anew for each run; an array is the same in each.
    noise : noise
        The law of ε_t.

    Notes
    -----
    The noise of a step is one number, shared by all arms. A policy sees one arm's reward per
    step, so each policy's run has the same law as with independent noises for the arms; and
    policies compared on one draw are coupled more tightly, since the noise stays the same where
    their choices differ.

    One generator is used in this order: arm parameters, contexts, noise. A draw costs
    O(horizon · n_arms · n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBox
    >>> problem = LinearProblem(
    ...     contexts=UniformBox(n_features=2), arms=[[1, 0], [0, 1]], noise=GaussianNoise(sigma=0.0)
    ... )
    >>> draw = problem.draw(np.random.default_rng(0), horizon=10)
    >>> bool((draw.rewards == draw.contexts).all())  # arm k pays feature k
    True
    """

    noise: Noise

    def __init__(
        self, *, contexts: Contexts, arms: ArmParameters | ArrayLike, noise: Noise
    ) -> None:
        super().__init__(contexts=contexts, arms=arms)
        object.__setattr__(self, "noise", check_noise("noise", noise))

    def expected_rewards(self, *, parameters: ArrayLike, contexts: ArrayLike) -> FloatArray:
        """Each arm's expected reward (n, n_arms), which is its linear predictor."""
        return self.linear_predictors(parameters=parameters, contexts=contexts)

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        """Draw parameters, then contexts, then noise.

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
        noises = array("noise.sample(rng, horizon)", self.noise.sample(rng, horizon), (horizon,))
        expected = self.expected_rewards(parameters=parameters, contexts=contexts)
        regrets = measure_regrets(expected)
        expected += noises[:, np.newaxis]
        return Draw(contexts=contexts, rewards=expected, regrets=regrets)
