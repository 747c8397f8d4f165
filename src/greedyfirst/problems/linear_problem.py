"""Linear rewards: the problem of §2 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.arm_parameters import (
    ArmParameters,
    FixedParameters,
    check_arm_parameters,
)
from greedyfirst.problems.context_distributions.context_distribution import (
    ContextDistribution,
    check_distribution,
)
from greedyfirst.problems.context_distributions.supplied import FromArray, FromFunction
from greedyfirst.problems.frozen_array import frozen_array
from greedyfirst.problems.noise import Noise, check_noise
from greedyfirst.problems.problem import Draw, measure_regrets
from greedyfirst.validation import FloatArray, array, whole_number, wrong

Contexts = ContextDistribution | ArrayLike | Callable[[np.random.Generator, int], ArrayLike]


@dataclass(frozen=True, kw_only=True, eq=False, init=False)
class LinearProblem:
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
    """

    contexts: ContextDistribution
    arms: ArmParameters
    noise: Noise

    def __init__(
        self, *, contexts: Contexts, arms: ArmParameters | ArrayLike, noise: Noise
    ) -> None:
        arms = _read_arms(arms)
        contexts = _read_contexts(contexts, arms.n_features)
        if contexts.n_features != arms.n_features:
            expected = f"{arms.n_features}, the n_features of arms"
            raise wrong("contexts.n_features", contexts.n_features, expected)
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "noise", check_noise("noise", noise))

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        return self.arms.n_arms

    @property
    def n_features(self) -> int:
        """The dimension d of a context."""
        return self.arms.n_features

    def expected_rewards(self, *, parameters: ArrayLike, contexts: ArrayLike) -> FloatArray:
        """Compute x'β_k for every context and arm.

        Parameters
        ----------
        parameters : array (n_arms, n_features)
            The arms' parameters β.
        contexts : array (n, n_features)
            The contexts x.

        Returns
        -------
        array (n, n_arms)
        """
        beta = array("parameters", parameters, (self.n_arms, self.n_features))
        x = array("contexts", contexts, (None, self.n_features))
        # Not a BLAS product: its rounding can change with the number of rows and of threads, and
        # a step's rewards must not depend on the horizon or on what runs beside it.
        return np.ascontiguousarray(np.einsum("td,kd->tk", x, beta))

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
        whole_number("horizon", horizon, at_least=1)
        parameters = self.arms.sample(rng)
        sampled = self.contexts.sample(rng, horizon)
        contexts = array("contexts.sample(rng, horizon)", sampled, (horizon, self.n_features))
        noises = array("noise.sample(rng, horizon)", self.noise.sample(rng, horizon), (horizon,))
        expected = self.expected_rewards(parameters=parameters, contexts=contexts)
        regrets = measure_regrets(expected)
        expected += noises[:, np.newaxis]
        return Draw(contexts=contexts, rewards=expected, regrets=regrets)


def _read_arms(arms: ArmParameters | ArrayLike) -> ArmParameters:
    if isinstance(arms, ArmParameters):
        return check_arm_parameters("arms", arms)
    return FixedParameters(parameters=frozen_array("arms", arms, (None, None)))


def _read_contexts(contexts: Contexts, n_features: int) -> ContextDistribution:
    # A class is callable too, but passing one is a forgotten pair of parentheses.
    if isinstance(contexts, (ContextDistribution, type)):
        return check_distribution("contexts", contexts)
    if callable(contexts):
        return FromFunction(n_features=n_features, draw=contexts)
    return FromArray(rows=frozen_array("contexts", contexts, (None, None)), order="given")
