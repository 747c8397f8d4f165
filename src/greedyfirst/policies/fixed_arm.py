"""Fixed arm: always the same one, as in current practice ("always the medium dose")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.uniform import LearningState, Uniform
from greedyfirst.validation import FloatArray, whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class FixedArm(Uniform):
    """Always ``arm``; when it is not eligible, any other with the same probability.

    Rewards are learned from all the same, so that estimates can be read off.

    Examples
    --------
    >>> from greedyfirst import Agent, FixedArm
    >>> agent = Agent(FixedArm(arm=1), n_arms=3, n_features=1, seed=1)
    >>> agent.choose([1.0])
    1
    """

    arm: int = 0

    def __post_init__(self) -> None:
        whole_number("arm", self.arm, at_least=0)

    @classmethod
    def examples(cls) -> Sequence[FixedArm]:
        """Every option varied."""
        return [cls(), cls(arm=2)]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The arm, if there is one of that number."""
        if self.arm >= n_arms:
            raise wrong("arm", self.arm, f"one of the arms 0 to {n_arms - 1}")
        return super().option_values(n_arms, n_features)

    @staticmethod
    @kernel
    def score(
        policy: Any, state: LearningState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """The arm, if it may be chosen; else any, by scores 0 for all."""
        for arm in range(eligible.shape[0]):
            state.scores.value[arm] = 0.0
        return policy.arm if eligible[policy.arm] != 0.0 else -1
