"""The best policy there is for linear rewards: one that knows the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import NONE
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.uniform import LearningState, Uniform
from greedyfirst.validation import FloatArray, array, wrong


@dataclass(frozen=True, kw_only=True)
class Oracle(Policy):
    r"""Plays :math:`\arg\max_i X_t^\top\beta_i` with given parameters: what learning cannot beat.

    On a table of classified rows the parameters are those of least squares on all of them.

    Parameters
    ----------
    parameters : array (n_arms, n_features)
        β. ``None`` are the true ones, which only a simulation knows.

    Examples
    --------
    >>> from greedyfirst import Agent, Oracle
    >>> agent = Agent(Oracle(parameters=[[1.0, 0.0], [0.0, 1.0]]), n_arms=2, n_features=2, seed=1)
    >>> agent.choose([0.2, 0.9])
    1
    """

    parameters: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.parameters is not None:
            rows = array("parameters", self.parameters, (None, None)).tolist()
            object.__setattr__(self, "parameters", tuple(tuple(row) for row in rows))

    @classmethod
    def examples(cls) -> Sequence[Oracle]:
        """Parameters that differ, and ties."""
        differing = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, -1]]
        return [cls(parameters=differing), cls(parameters=[[0.0] * 4] * 3)]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The parameters as a matrix."""
        if self.parameters is None:
            raise wrong("parameters", None, "an array: only a simulation knows the true ones")
        return {"parameters": array("parameters", self.parameters, (n_arms, n_features))}

    def needs_truth(self) -> bool:
        """Whether the parameters are to be the true ones."""
        return self.parameters is None

    def informed(self, parameters: FloatArray) -> Oracle:
        """With the true parameters."""
        return Oracle(parameters=np.array(parameters)) if self.needs_truth() else self

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> LearningState:
        """Estimates that are kept, as every policy's are, and never looked at."""
        return Uniform.init(policy, n_arms, n_features, memory)

    @staticmethod
    @kernel
    def score(
        policy: Any, state: LearningState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Scores by the parameters."""
        for arm in range(eligible.shape[0]):
            state.scores.value[arm] = inner(policy.parameters[arm], context)
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: LearningState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of least squares."""
        least_squares.observe(state.model, NONE, arm, context, reward)
