"""Epsilon-greedy: greedy but for a share of decisions made at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from greedyfirst.memory import Memory
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.policies import greedy
from greedyfirst.policies.greedy import GreedyState, update, weigh
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import CHANCE
from greedyfirst.validation import choice, number, whole_number

__all__ = ["EpsilonGreedy", "init", "update", "weigh"]


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Policy):
    """With probability ``epsilon`` any arm, else as :class:`~greedyfirst.policies.greedy.Greedy`.

    The initial pulls come first and are not replaced by random ones.
    """

    epsilon: float = 0.1
    warmup: str = "none"
    initial_pulls: int = 0

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, at_least=0, at_most=1)
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        return self.Record(float(self.epsilon), WARMUPS.index(self.warmup), int(self.initial_pulls))


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyState:
    """The greedy state, with a chance that any arm is taken."""
    state = greedy.init(policy, n_arms, n_features, memory)
    state.outlook[CHANCE, 0] = policy.epsilon
    return state
