r"""Greedy-First, arm by arm: only the arms that starve explore.

An arm **starves** while there is a direction of the contexts in which it has less than
``SHARE``/K of all samples:

.. math:: G_i \not\succeq \tfrac{\theta}{K}\sum_j G_j \quad\text{on the contexts' span,}\quad
          \theta = `` ``SHARE`` `` .

That is the paper's test :math:`\lambda_{\min}(G_i) \ge \lambda_0t/4` with a λ₀ that need not be
guessed: it is tied to what the contexts themselves offer, in every direction and whatever the
features' units. All arms are looked at again whenever the prior of their estimates is learned again
(:mod:`greedyfirst.models.learned_ridge`), so an arm that has been fed is greedy again.

A fed arm's score is its estimate. A starving arm's is a draw from its posterior, as in Thompson
sampling: it explores as much as its own uncertainty asks, and an arm that is surely worse is left
alone. While there are few rounds to the K·d coefficients, draws are narrower: most of that
uncertainty is not worth its cost yet. The width grows from ``FIRST_WIDTH`` to 1 standard deviation.
"""

from __future__ import annotations

import math
from typing import Any

from greedyfirst.compiling.families import Family
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import (
    Memory,
    Record,
    flags,
    floats,
    integers,
    number,
    part,
)
from greedyfirst.compiling.routines import routine
from greedyfirst.models import span
from greedyfirst.models.learned_ridge import LearnedRidge
from greedyfirst.numerics.matrices import add_outer, cholesky, quadratic
from greedyfirst.numerics.vectors import inner
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.greedy import GreedyState
from greedyfirst.policies.greedy_first import watch
from greedyfirst.policies.greedy_first.watch import Watch, raise_alarm
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import BoolArray, FloatArray, IntArray

#: The share of all samples, over the number of arms, that an arm must have in every direction.
SHARE = 0.05
#: Standard deviations of its posterior that a starving arm's score is spread by: at first, and how
#: many a doubling of the rounds adds, up to 1.
FIRST_WIDTH, WIDENING = 0.4, 0.25


class ArmWatch(Watch):
    """What is known of each arm's samples."""

    #: Whether the arm starves, and whether it may then be explored.
    starving: BoolArray = flags("n_arms")
    explored: BoolArray = flags("n_arms")
    #: The round at which it was fed last (0: it has not been).
    fed_at: IntArray = integers("n_arms")
    #: Standard deviations of its posterior that an explored arm's score is spread by.
    width: float = number()


class ArmByArmState(Record):
    """The greedy policy's state, and the watch over the arms."""

    greedy: GreedyState = part()
    watch: ArmWatch = part()
    #: The greedy state's own.
    scores: Scores = part(shared=True)
    # Scratch: eligible arms that have not been dropped.
    allowed: FloatArray = floats("n_arms")

    @property
    def model(self) -> LearnedRidge:
        """The estimates that decisions are made with."""
        model: LearnedRidge = self.greedy.model
        return model


class ArmByArm(Family):
    """The kernels of a Greedy-First without a fallback."""

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> ArmByArmState:
        """The state before the first decision: every arm starves."""
        greedy = kernels.init(policy.greedy, n_arms, n_features, memory)
        sizes = {"n_arms": n_arms, "d": n_features}
        watched = ArmWatch(memory, options=policy.test, samples=greedy.model, **sizes)
        watch.begin(watched)
        watched.starving[:] = True
        watched.width = FIRST_WIDTH
        watched.explored[:] = policy.explores_arms
        return ArmByArmState(
            memory, greedy=greedy, watch=watched, scores=greedy.scores, n_arms=n_arms
        )

    @staticmethod
    @inline_kernel
    def score(
        policy: Any, state: ArmByArmState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Estimates, spread for the arms that are explored; without those that were dropped."""
        watched, scores, model = state.watch, state.scores, state.greedy.model
        allowed = watch.left(watched, eligible, state.allowed)
        due = kernels.score(policy.greedy, state.greedy, step, context, allowed)
        for arm in range(allowed.shape[0]):
            scores.spread[arm] = 0.0
            if watched.explores or (watched.starving[arm] and watched.explored[arm]):
                variance = model.noise_variance * quadratic(model.covariance[arm], context)
                scores.spread[arm] = watched.width * math.sqrt(max(variance, 0.0))
        watch.rule_out(watched, allowed, scores)
        return due

    @staticmethod
    @inline_kernel
    def update(
        policy: Any, state: ArmByArmState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """Learn; look at all arms again if their prior has just been learned again."""
        watched, model = state.watch, state.greedy.model
        kernels.update(policy.greedy, state.greedy, step, context, arm, reward)
        watched.clock += 1
        if watched.rank < context.shape[0]:
            widen(watched, context)
        if model.learned_at == model.rewards:
            look(watched)


@routine(ArmWatch)
def widen(watched: ArmWatch, context: FloatArray) -> None:
    """Take a context into the span of all contexts."""
    basis, units, rank = watched.basis, watched.units, watched.rank
    if span.widen(basis, units, rank, context, watched.outside, watched.reflector) > 0.0:
        watched.rank += 1


@routine(ArmWatch)
def look(watched: ArmWatch) -> None:
    """Find out which arms starve; an alarm for each that does so newly, once tests have begun."""
    n_arms, d = watched.weakest.shape
    doublings = math.log(1.0 + watched.clock / (n_arms * d)) / math.log(2.0)
    watched.width = min(max(WIDENING * doublings, FIRST_WIDTH), 1.0)
    left = 0
    for arm in range(watched.dropped.shape[0]):
        if not watched.dropped[arm]:
            left += 1
    for arm in range(watched.starving.shape[0]):
        starved = watched.starving[arm]
        starves = not has_share(watched, arm, SHARE / left)
        watched.starving[arm] = starves
        if starved and not starves:
            watched.fed_at[arm] = watched.clock
            watched.tripped_at[arm] = 0
        tested = watched.clock - watched.since[arm] > watched.options.test_after
        if starves and tested and not watched.exempt[arm] and watched.tripped_at[arm] == 0:
            raise_alarm(watched, arm)
    if watched.explores and watched.switched_at == 0:
        watched.switched_at = watched.clock


@kernel
def has_share(watched: ArmWatch, arm: int, share: float) -> bool:
    """Whether the arm has this share of all samples in every direction of the contexts' span."""
    model, matrix, missing = watched.samples, watched.matrix, watched.outside
    d = matrix.shape[0]
    if model.pulls[arm] < watched.rank:
        return False
    # In the features' own units, with whatever the contexts lack added.
    for i in range(d):
        for j in range(i + 1):
            excess = model.settled_gram[arm, i, j] - share * model.pooled[i, j]
            matrix[i, j] = matrix[j, i] = excess / (model.units[i] * model.units[j])
    for k in range(d - watched.rank):
        for i in range(d):
            missing[i] = watched.basis[k, i] * model.units[i]
        add_outer(matrix, missing, model.rewards / inner(missing, missing))
    return cholesky(matrix, watched.work)
