r"""Greedy-First, arm by arm: an arm gets the benefit of the doubt where it has been left.

Let :math:`s_i(x)` be the share that arm i holds of all that is known about people like x, and K the
arms that are not dropped (:mod:`greedyfirst.models.shares`). The arm's score is

.. math:: x^\top\hat\beta_i + w_i\,\hat\sigma_i\sqrt{x^\top P_ix}, \quad
          w_i^2 \text{ the benefit of the doubt of an arm that lacks }
          u = \log^+\frac{\theta}{s_i(x)}, \quad \theta = \frac{0.6}{K}

(:mod:`greedyfirst.models.doubt`; with :math:`\hat\sigma_i` the scale of the arm's own noise).
Where an arm holds the share θ it is greedy: its score is its estimate. Where it has been left, by
bad luck or because it is new, its score rises like :math:`\sqrt{\log t}`, until it is the highest
for the people whom the arm lacks, so that no arm that may be best is given up for good. An arm that
is surely worse is tried ever more rarely. There is no draw and no schedule.

An arm **starves** while there is a direction in which it holds less than θ. Where none does a
decision costs what greedy costs: one Cholesky factorisation per arm certifies it, whenever the
prior is learned. With two arms that is so for good if the contexts are diverse enough that each
arm's own half has the share θ in every direction, which is the paper's covariate diversity. Without
contexts :math:`s_i` is the arm's part of all rewards, and the rule is MOSS (Audibert and Bubeck
2009; at any time, Degenne and Perchet 2016) with 0.6/K in the place of 1/K. The theory page on this
rule says what is proved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from greedyfirst.compiling.families import Family
from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import (
    Memory,
    Record,
    flag,
    flags,
    floats,
    integers,
    number,
    part,
)
from greedyfirst.compiling.routines import routine
from greedyfirst.models import posterior, shares
from greedyfirst.models.doubt import squared_width
from greedyfirst.models.linear_part import linear_part
from greedyfirst.models.shares import Shares
from greedyfirst.numerics.eigenvalues import smallest_eigenpair
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.greedy_first import watch
from greedyfirst.policies.greedy_first.watch import Watch, raise_alarm
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import BoolArray, FloatArray, IntArray

#: θ·K: an arm that holds this part of an equal share, in every direction, is greedy.
SHARE = 0.6


class Measured(NamedTuple):
    """The share that an arm needs in every direction, and what each arm has in its weakest one."""

    needed: float
    shares: FloatArray  # (n_arms,)
    directions: FloatArray  # (n_arms, d), of length 1, weights of features in their own units


class ArmWatch(Watch):
    """What is known of each arm's samples, where arms are explored one by one."""

    #: Whether the arm starves, and whether it may then be explored.
    starving: BoolArray = flags("n_arms")
    explored: BoolArray = flags("n_arms")
    #: The round at which it was fed last (0: it has not been).
    fed_at: IntArray = integers("n_arms")
    #: Whose scores the last decision raised, and by how much.
    raised: BoolArray = flags("n_arms", scratch=True)
    raised_by: FloatArray = floats("n_arms", scratch=True)

    @property
    def last_look(self) -> int:
        """The round at which arms were looked at last; 0 before the first look."""
        raise NotImplementedError

    @property
    def next_look(self) -> int:
        """The round at which they are looked at again, if the prior is not learned before."""
        raise NotImplementedError

    def measured(self, model: Any, dropped: BoolArray) -> Measured:
        """What each arm has in its weakest direction."""
        raise NotImplementedError


class ShareWatch(ArmWatch):
    """The shares that arms hold of all that is known."""

    follows_span = False
    measure = "share of what is known"

    #: The model of which shares are taken, and what all arms know together.
    model: Any = part(shared=True)
    shares: Shares = part()
    #: θ, and whether any arm may be raised.
    share: float = number()
    raises: bool = flag()

    @property
    def next_look(self) -> int:
        """The round at which arms are looked at again, if the prior is not learned before."""
        return self.shares.look_at

    @property
    def last_look(self) -> int:
        """The round at which arms were looked at last."""
        return self.shares.looked_at

    def measured(self, model: Any, dropped: BoolArray) -> Measured:
        """The smallest shares of all that is known."""
        *arms, prior = model.precisions
        pooled = prior + sum(
            each - prior for each, left_out in zip(arms, dropped, strict=True) if not left_out
        )
        units = np.sqrt(np.diag(pooled))
        scale = np.outer(units, units)
        found = [eigh(own / scale, pooled / scale, subset_by_index=(0, 0)) for own in arms]
        directions = np.array([vectors[:, 0] for _, vectors in found])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        shares = np.array([values[0] for values, _ in found]).clip(0.0, 1.0)
        return Measured(SHARE / max(int((~dropped).sum()), 1), shares, directions)


class ArmByArmState(Record):
    """The greedy policy's state, and the watch over the arms."""

    greedy: Any = part()
    watch: Any = part()
    #: The greedy state's own.
    scores: Scores = part(shared=True)
    #: Eligible arms that have not been dropped.
    allowed: FloatArray = floats("n_arms", scratch=True)

    @property
    def model(self) -> Any:
        """The estimates that decisions are made with."""
        return self.greedy.model


class ArmByArm(Family):
    """The kernels of a Greedy-First without a fallback."""

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> ArmByArmState:
        """The state before the first decision: every arm starves."""
        greedy = kernels.init(policy.greedy, n_arms, n_features, memory)
        watched = ShareWatch(
            memory,
            options=policy.test,
            samples=linear_part(greedy.model),
            model=greedy.model,
            shares=Shares(memory, d=n_features),
            n_arms=n_arms,
            d=n_features,
        )
        watch.begin(watched)
        watched.starving[:] = True
        watched.explored[:] = policy.explores_arms
        return ArmByArmState(
            memory, greedy=greedy, watch=watched, scores=greedy.scores, n_arms=n_arms
        )

    @staticmethod
    @inline_kernel
    def score(
        policy: Any, state: ArmByArmState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Estimates, raised for the arms that lack people like this; without the dropped arms."""
        watched, scores = state.watch, state.scores
        allowed = watch.left(watched, eligible, state.allowed)
        due = kernels.score(policy.greedy, state.greedy, step, context, allowed)
        if due >= 0:
            return due
        if watched.raises:
            raise_scores(watched, scores, context)
        watch.rule_out(watched, allowed, scores)
        return -1

    @staticmethod
    @inline_kernel
    def update(
        policy: Any, state: ArmByArmState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """Learn; look at all arms again whenever the prior is learned."""
        watched = state.watch
        kernels.update(policy.greedy, state.greedy, step, context, arm, reward)
        watched.clock += 1
        if shares.is_stale(watched.shares, watched.model, watched.clock):
            look(watched)


@kernel
def raise_scores(watched: ShareWatch, scores: Scores, context: FloatArray) -> None:
    """Give the arms that may be explored the benefit of the doubt."""
    model = watched.model
    by_all = posterior.form(model, watched.shares.inverse, context)
    share = 1.0 if watched.explores else watched.share
    for arm in range(scores.value.shape[0]):
        raised = False
        if watched.explores or (watched.starving[arm] and watched.explored[arm]):
            variance = posterior.variance(model, arm, context)
            if share * variance > by_all > 0.0:
                lack = share * variance / by_all
                squared = squared_width(model, arm, lack, watched.shares.looked_at) * variance
                watched.raised_by[arm] = posterior.arm_scale(model, arm) * math.sqrt(squared)
                scores.value[arm] += watched.raised_by[arm]
                raised = True
        watched.raised[arm] = raised


@routine(ShareWatch)
def look(watched: ShareWatch) -> None:
    """Find out which arms starve; an alarm for each that does so newly, once tests have begun."""
    shares.look(watched.shares, watched.model, watched.dropped, watched.clock)
    watched.share = SHARE / watched.shares.arms
    for arm in range(watched.starving.shape[0]):
        starved = watched.starving[arm]
        starves = not shares.holds_share(watched.shares, watched.model, arm, watched.share)
        watched.starving[arm] = starves
        if starved and not starves:
            watched.fed_at[arm] = watched.clock
            watched.tripped_at[arm] = 0
        tested = watched.clock - watched.since[arm] > watched.options.test_after
        if starves and tested and not watched.exempt[arm] and watched.tripped_at[arm] == 0:
            find_weakest(watched, arm)
            raise_alarm(watched, arm)
    settle_raises(watched)
    if watched.explores and watched.switched_at == 0:
        watched.switched_at = watched.clock


@kernel
def find_weakest(watched: ShareWatch, arm: int) -> None:
    """The direction in which the arm holds least, in units of what all arms know."""
    known = watched.shares
    shares.take_excess(known, watched.model, arm, watched.share)
    smallest_eigenpair(known.matrix, known.factor, watched.weakest[arm])


def may_raise(watched: ArmWatch) -> None:
    """Let arms be raised from now on that may be explored now."""
    if isinstance(watched, ShareWatch):
        watched.raises = True


def look_soon(watched: ArmWatch) -> None:
    """Look at all arms after the next reward: a person has changed what is done about them."""
    if isinstance(watched, ShareWatch):
        watched.raises = True
        watched.shares.look_at = watched.clock


@kernel
def settle_raises(watched: ShareWatch) -> None:
    """Note whether any arm may be raised."""
    watched.raises = watched.explores
    for arm in range(watched.starving.shape[0]):
        watched.raised[arm] = False
        if watched.starving[arm] and watched.explored[arm] and not watched.dropped[arm]:
            watched.raises = True
