"""Epsilon-greedy: greedy but for a share of decisions made at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from greedyfirst.compiling.records import Memory
from greedyfirst.policies.greedy import Greedy, GreedyState
from greedyfirst.validation import number


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Greedy):
    """With probability ``epsilon`` any arm, else as :class:`~greedyfirst.policies.greedy.Greedy`.

    The initial pulls come first and are not replaced by random ones.

    Examples
    --------
    With two arms, the arm that is not the best gets half of the random decisions:

    >>> from greedyfirst import Agent, EpsilonGreedy
    >>> agent = Agent(EpsilonGreedy(epsilon=0.1), n_arms=2, n_features=1, seed=1)
    >>> agent.update([1.0], 0, 1.0)
    >>> agent.update([1.0], 1, 0.0)
    >>> agent.probabilities([1.0]).round(6).tolist()
    [0.95, 0.05]
    """

    exploits: ClassVar[bool] = False
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        number("epsilon", self.epsilon, at_least=0, at_most=1)

    @classmethod
    def examples(cls) -> Sequence[EpsilonGreedy]:
        """Every option varied."""
        return [
            cls(warmup="ridge"),
            cls(epsilon=0.5, warmup="pinv", initial_pulls=1),
            cls(epsilon=0.0, warmup="none"),
            cls(regularization=0.5, rule=1),
        ]

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyState:
        """The greedy state, with a share of decisions at random."""
        state = Greedy.init(policy, n_arms, n_features, memory)
        state.scores.random_share = policy.epsilon
        return state
