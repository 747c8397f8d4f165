"""The best policy there is for linear rewards: one that knows the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.compilation import template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import NONE, LeastSquares
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import SCORE
from greedyfirst.validation import FloatArray, array, wrong
from greedyfirst.vector_loops import inner


@dataclass(frozen=True, kw_only=True)
class Oracle(Policy):
    r"""Plays :math:`\arg\max_i X_t^\top\beta_i` with given parameters: what learning cannot beat.

    On a table of classified rows the parameters are those of least squares on all of them.

    Parameters
    ----------
    parameters : array (n_arms, n_features)
        β. ``None`` are the true ones, which only a simulation knows.
    """

    parameters: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.parameters is not None:
            rows = array("parameters", self.parameters, (None, None)).tolist()
            object.__setattr__(self, "parameters", tuple(tuple(row) for row in rows))

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        if self.parameters is None:
            raise wrong("parameters", None, "an array: only a simulation knows the true ones")
        return self.Record(array("parameters", self.parameters, (n_arms, n_features)))

    def needs_truth(self) -> bool:
        """Whether the parameters are to be the true ones."""
        return self.parameters is None

    def informed(self, parameters: FloatArray) -> Oracle:
        """With the true parameters."""
        return Oracle(parameters=np.array(parameters)) if self.needs_truth() else self


class OracleState(NamedTuple):
    """Estimates that are kept, as every policy's are, and never looked at."""

    model: LeastSquares
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> OracleState:
    """The state before the first decision."""
    return OracleState(least_squares.init(memory, n_arms, n_features), memory.take(3, n_arms))


@template_kernel
def weigh(
    policy: Any, state: OracleState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """Scores by the parameters."""
    for arm in range(eligible.shape[0]):
        state.outlook[SCORE, arm] = inner(policy.parameters[arm], context)
    return -1


@template_kernel
def update(
    policy: Any, state: OracleState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of least squares."""
    least_squares.observe(state.model, NONE, arm, context, reward)
