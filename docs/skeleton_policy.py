"""Skeleton: a policy to copy. It plays every arm in turns, then the one with the highest mean.

Copy this file, into ``greedyfirst/policies`` or beside a script of your own, and change what is
marked. Nothing else has to be edited: a policy joins by being defined. Then run
``greedyfirst.testing.check_policy(Skeleton)``, which finds most mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, floats, integers, part
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, IntArray, whole_number


class SkeletonState(Record):
    """1. What the policy remembers, by name; shapes are in terms of the sizes given in ``init``.

    What ``score`` changes is declared with ``scratch=True``, as all of ``scores`` is.
    """

    pulls: IntArray = integers("n_arms")
    totals: FloatArray = floats("n_arms")
    #: Every state has these; ``score`` fills them.
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class Skeleton(Policy):
    """2. What it does, its formula and its source; here: the highest mean reward, any context.

    Parameters
    ----------
    turns
        Pulls of each arm, in turns, before the first own choice.
    """

    turns: int = 1

    def __post_init__(self) -> None:
        """3. Refuse options that make no sense, by name."""
        whole_number("turns", self.turns, at_least=1)

    @classmethod
    def examples(cls) -> Sequence[Skeleton]:
        """4. Policies with every option varied: the common checks run all of them."""
        return [cls(), cls(turns=3)]

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> SkeletonState:
        """5. The state before the first decision; all numbers start at 0."""
        return SkeletonState(memory, n_arms=n_arms, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    @kernel
    def score(
        policy: Any, state: SkeletonState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """6. The arm that must be taken, or -1 and scores: the highest eligible one is taken.

        For a policy that knows the probabilities, ``init`` says ``scores.stated = True``, and the
        values are these.
        """
        n_arms = eligible.shape[0]
        if 1 <= step <= policy.turns * n_arms and eligible[(step - 1) % n_arms] != 0.0:
            return (step - 1) % n_arms
        for arm in range(n_arms):
            state.scores.value[arm] = state.totals[arm] / max(state.pulls[arm], 1)
        return -1

    @staticmethod
    @kernel
    def update(
        policy: Any, state: SkeletonState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """7. Learn from one reward."""
        state.pulls[arm] += 1
        state.totals[arm] += reward
