"""What problems with a parameter per arm share: contexts, parameters and linear predictors."""

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
from greedyfirst.validation import FloatArray, array, whole_number, wrong

Contexts = ContextDistribution | ArrayLike | Callable[[np.random.Generator, int], ArrayLike]


@dataclass(frozen=True, kw_only=True, eq=False, init=False)
class ParametricProblem:
    """Contexts and a parameter vector for each arm."""

    contexts: ContextDistribution
    arms: ArmParameters

    def __init__(self, *, contexts: Contexts, arms: ArmParameters | ArrayLike) -> None:
        arms = _read_arms(arms)
        contexts = _read_contexts(contexts, arms.n_features)
        if contexts.n_features != arms.n_features:
            expected = f"{arms.n_features}, the n_features of arms"
            raise wrong("contexts.n_features", contexts.n_features, expected)
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "arms", arms)

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        return self.arms.n_arms

    @property
    def n_features(self) -> int:
        """The dimension d of a context."""
        return self.arms.n_features

    def draw_parameters(self, rng: np.random.Generator) -> FloatArray:
        """The arms' parameters (n_arms, n_features) of the instance that `draw` would draw."""
        return self.arms.sample(rng)

    def linear_predictors(self, *, parameters: ArrayLike, contexts: ArrayLike) -> FloatArray:
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

    def _start(self, rng: np.random.Generator, horizon: int) -> tuple[FloatArray, FloatArray]:
        """Parameters, then contexts, of a new instance."""
        whole_number("horizon", horizon, at_least=1)
        parameters = self.draw_parameters(rng)
        sampled = self.contexts.sample(rng, horizon)
        shape = (horizon, self.n_features)
        return parameters, array("contexts.sample(rng, horizon)", sampled, shape)


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
