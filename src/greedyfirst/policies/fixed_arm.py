"""Fixed arm: always the same one, as in current practice ("always the medium dose")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from greedyfirst.compilation import template_kernel
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV, LeastSquares
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import SCORE
from greedyfirst.validation import FloatArray, whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class FixedArm(Policy):
    """Always ``arm``; when it is not eligible, any other with the same probability."""

    arm: int = 0

    def __post_init__(self) -> None:
        whole_number("arm", self.arm, at_least=0)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        if self.arm >= n_arms:
            raise wrong("arm", self.arm, f"one of the arms 0 to {n_arms - 1}")
        return self.Record(int(self.arm))


class FixedArmState(NamedTuple):
    """Least squares per arm."""

    model: LeastSquares
    outlook: FloatArray  # (3, n_arms), see selection


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> FixedArmState:
    """The state before the first decision."""
    return FixedArmState(least_squares.init(memory, n_arms, n_features), memory.take(3, n_arms))


@template_kernel
def weigh(
    policy: Any, state: FixedArmState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """The arm, if it may be chosen; else any, by scores 0 for all."""
    for arm in range(eligible.shape[0]):
        state.outlook[SCORE, arm] = 0.0
    return policy.arm if eligible[policy.arm] != 0.0 else -1


@template_kernel
def update(
    policy: Any, state: FixedArmState, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """One row of least squares."""
    least_squares.observe(state.model, PINV, arm, context, reward)
