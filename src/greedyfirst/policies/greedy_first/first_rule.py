r"""Greedy-First, arm by arm: only the arms that starve explore.

An arm **starves** while there is a direction of the contexts in which it has less than
``SHARE``/K of all samples:

.. math:: G_i \not\succeq \tfrac{\theta}{K}\sum_j G_j \quad\text{on the contexts' span,}\quad
          \theta = `` ``SHARE`` `` .

That is the paper's test :math:`\lambda_{\min}(G_i) \ge \lambda_0t/4` with a λ₀ that need not be
guessed: it is tied to what the contexts themselves offer, in every direction and whatever the
features' units. All arms are looked at again whenever the rewards have grown by ``GROWTH``, or the
contexts show a new direction, so an arm that has been fed is greedy again.

A fed arm's score is its estimate. A starving arm gets the benefit of the doubt: its estimate is
raised by some of its own standard deviations (:mod:`greedyfirst.models.posterior`), as in LinUCB.
So it is chosen where it may be best, as often as its own uncertainty asks, and an arm that is
surely worse is left alone. While there are few rounds to the K·d coefficients, most of that
uncertainty is not worth its cost yet: the width grows from ``FIRST_WIDTH`` to 1 deviation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh

from greedyfirst.compiling.families import Family
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, floats, integer, number
from greedyfirst.compiling.routines import routine
from greedyfirst.models import posterior, span
from greedyfirst.models.least_squares import settle
from greedyfirst.models.linear_part import linear_part
from greedyfirst.models.noise_scale import UNKNOWN
from greedyfirst.numerics.eigenvalues import smallest_eigenpair
from greedyfirst.numerics.matrices import add_outer, cholesky
from greedyfirst.numerics.vectors import add_multiple, inner
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.greedy_first import watch
from greedyfirst.policies.greedy_first.arm_by_arm import ArmByArmState, ArmWatch, Measured
from greedyfirst.policies.greedy_first.watch import raise_alarm
from greedyfirst.validation import BoolArray, FloatArray

#: The share of all samples, over the number of arms, that an arm must have in every direction.
SHARE = 0.05
#: All arms are looked at again when the rewards have grown by this share.
GROWTH = 0.3
#: Standard deviations that a starving arm's score is raised by: at first, and how many a doubling
#: of the rounds adds, up to 1.
FIRST_WIDTH, WIDENING = 0.5, 0.25


class FirstArmWatch(ArmWatch):
    """The arms' shares of all samples."""

    #: Standard deviations that an explored arm's score is raised by.
    width: float = number()
    #: The round at which all arms are looked at again.
    look_at: int = integer()
    #: The sum of all arms' Gram matrices when they were looked at, and the features' root mean
    #: squares, 1 for those that have only been 0.
    pooled: FloatArray = floats("d", "d")
    scales: FloatArray = floats("d")

    measure = "share of samples"

    @property
    def next_look(self) -> int:
        """The round at which all arms are looked at again."""
        return self.look_at

    @property
    def last_look(self) -> int:
        """The round at which they were looked at last: the next one follows from it."""
        low, high = 0, self.look_at
        while low < high:
            middle = (low + high) // 2
            if middle + 1 + int(GROWTH * middle) < self.look_at:
                low = middle + 1
            else:
                high = middle
        return low

    def measured(self, model: Any, dropped: BoolArray) -> Measured:
        """The smallest shares of all samples, in the features' own units."""
        grams = model.gram
        total, n_arms = grams.sum(axis=0), len(grams)
        units = np.sqrt(np.diag(total) / max(self.clock, 1))
        units[units == 0.0] = 1.0
        inside = self.basis[len(units) - self.rank :] / units
        axes = np.linalg.qr(inside.T)[0]  # of the contexts' span
        shares, directions = np.zeros(n_arms), np.zeros((n_arms, len(units)))
        directions[:, 0] = 1.0
        everything = axes.T @ (total / np.outer(units, units)) @ axes
        if everything.any():
            loose = everything + 1e-12 * np.trace(everything) * np.eye(len(everything))
            for arm, gram in enumerate(grams):
                own = axes.T @ (gram / np.outer(units, units)) @ axes
                values, vectors = eigh(own, loose)
                shares[arm], directions[arm] = values[0], axes @ vectors[:, 0]
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return Measured(SHARE / max(int((~dropped).sum()), 1), shares.clip(0.0, 1.0), directions)


class ArmByFirstRule(Family):
    """The kernels of a Greedy-First without a fallback, by rule 1."""

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> ArmByArmState:
        """The state before the first decision: every arm starves."""
        greedy = kernels.init(policy.greedy, n_arms, n_features, memory)
        sizes = {"n_arms": n_arms, "d": n_features}
        samples = linear_part(greedy.model)
        watched = FirstArmWatch(memory, options=policy.test, samples=samples, **sizes)
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
        """Estimates, raised for the arms that are explored; without those that were dropped."""
        watched, scores, model = state.watch, state.scores, state.greedy.model
        allowed = watch.left(watched, eligible, state.allowed)
        due = kernels.score(policy.greedy, state.greedy, step, context, allowed)
        if due >= 0:
            return due
        width = watched.width * posterior.noise_scale(model, UNKNOWN)
        for arm in range(allowed.shape[0]):
            raised = watched.explores or (watched.starving[arm] and watched.explored[arm])
            watched.raised[arm] = raised
            if raised:
                variance = posterior.variance(model, arm, context)
                watched.raised_by[arm] = width * math.sqrt(variance)
                scores.value[arm] += watched.raised_by[arm]
        watch.rule_out(watched, allowed, scores)
        return -1

    @staticmethod
    @inline_kernel
    def update(
        policy: Any, state: ArmByArmState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """Learn; look at all arms again now and then."""
        watched = state.watch
        kernels.update(policy.greedy, state.greedy, step, context, arm, reward)
        watched.clock += 1
        if watched.rank < context.shape[0]:
            widen(watched, context)
        if watched.clock >= watched.look_at:
            look(watched)


@routine(FirstArmWatch)
def widen(watched: FirstArmWatch, context: FloatArray) -> None:
    """Take a context into the span of all contexts."""
    basis, units, rank = watched.basis, watched.units, watched.rank
    if span.widen(basis, units, rank, context, watched.outside, watched.reflector) > 0.0:
        watched.rank += 1
        watched.look_at = watched.clock


@routine(FirstArmWatch)
def look(watched: FirstArmWatch) -> None:
    """Find out which arms starve; an alarm for each that does so newly, once tests have begun."""
    n_arms, d = watched.weakest.shape
    watched.look_at = watched.clock + 1 + int(GROWTH * watched.clock)
    doublings = math.log(1.0 + watched.clock / (n_arms * d)) / math.log(2.0)
    watched.width = min(max(WIDENING * doublings, FIRST_WIDTH), 1.0)
    pool(watched)
    left = 0
    for arm in range(n_arms):
        if not watched.dropped[arm]:
            left += 1
    share = SHARE / left
    for arm in range(n_arms):
        starved = watched.starving[arm]
        starves = not has_share(watched, arm, share)
        watched.starving[arm] = starves
        if starved and not starves:
            watched.fed_at[arm] = watched.clock
            watched.tripped_at[arm] = 0
        tested = watched.clock - watched.since[arm] > watched.options.test_after
        if starves and tested and not watched.exempt[arm] and watched.tripped_at[arm] == 0:
            take_excess(watched, arm, share)
            smallest_eigenpair(watched.matrix, watched.work, watched.weakest[arm])
            raise_alarm(watched, arm)
    if watched.explores and watched.switched_at == 0:
        watched.switched_at = watched.clock


@kernel
def pool(watched: FirstArmWatch) -> None:
    """Add up all arms' Gram matrices, and take the features' units from them."""
    samples, pooled = watched.samples, watched.pooled
    for arm in range(watched.starving.shape[0]):
        settle(samples, arm)
    for i in range(pooled.shape[0]):
        for j in range(pooled.shape[0]):
            pooled[i, j] = 0.0
        for arm in range(watched.starving.shape[0]):
            add_multiple(pooled[i], 1.0, samples.settled_gram[arm, i])
        square = pooled[i, i] / watched.clock
        watched.scales[i] = math.sqrt(square) if square > 0.0 else 1.0


@kernel
def has_share(watched: FirstArmWatch, arm: int, share: float) -> bool:
    """Whether the arm has this share of all samples in every direction of the contexts' span."""
    if watched.samples.pulls[arm] < watched.rank:
        return False
    take_excess(watched, arm, share)
    return cholesky(watched.matrix, watched.work)


@kernel
def take_excess(watched: FirstArmWatch, arm: int, share: float) -> None:
    """What the arm's Gram matrix has beyond this share of all, into ``watched.matrix``.

    In the features' own units; directions that no context has are filled.
    """
    gram, matrix, missing = watched.samples.settled_gram[arm], watched.matrix, watched.outside
    scales = watched.scales
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            excess = gram[i, j] - share * watched.pooled[i, j]
            matrix[i, j] = matrix[j, i] = excess / (scales[i] * scales[j])
    for k in range(d - watched.rank):
        for i in range(d):
            missing[i] = watched.basis[k, i] * scales[i]
        add_outer(matrix, missing, watched.clock / inner(missing, missing))
