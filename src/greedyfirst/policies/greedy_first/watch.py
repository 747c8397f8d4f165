"""The watch over the arms' samples: when each is tested, and what has come of it.

An arm trips the test when its statistic falls below its threshold. The last value computed is a
lower bound of the statistic from then on, and a cheaper bound is tried first: values are computed
only when the threshold has passed both. The switch time is that of testing every arm in every
round. When the span of all contexts grows, a statistic that can fall loses its bounds.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import (
    Memory,
    Record,
    flag,
    flags,
    floats,
    integer,
    integers,
    number,
    part,
)
from greedyfirst.compiling.routines import routine
from greedyfirst.models import span
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.policies.greedy_first import statistic
from greedyfirst.policies.greedy_first.answers.answer import answer_alarm
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import BoolArray, FloatArray, IntArray

SPANS = ("full", "pooled")
FULL, POOLED = range(2)

# A test one part in 10⁹ too early only costs a comparison; one too late would move the switch.
EARLY = 1.0 - 1e-9


class Watch(Record):
    """What the test knows. Rounds are counted in rewards."""

    #: Whether ``basis`` is kept.
    follows_span: ClassVar[bool] = True
    #: What is measured of an arm's samples, in words.
    measure: ClassVar[str] = "smallest eigenvalue"

    #: What the policy says of the test, and the samples that are tested.
    options: Any = part(shared=True)
    samples: Any = part(shared=True)
    #: Rewards so far, and the round up to which no arm can trip the test.
    clock: int = integer()
    next_test: float = number()
    #: λ₀ in force, 0 until it is estimated.
    lambda0: float = number()
    #: Whether the fallback decides, since which round (0: it does not), and a decision's number
    #: less the fallback's own number of it.
    explores: bool = flag()
    switched_at: int = integer()
    offset: int = integer()
    #: Alarms and answers to them; the arm that tripped the test last, -1 if none.
    alarms: int = integer()
    culprit: int = integer()
    eigenvalue_computations: int = integer()
    #: Decisions made so far, where an agent tells: rewards may be late.
    decided: int = integer()
    #: Per arm: the last value computed, a lower bound from then on.
    floor: FloatArray = floats("n_arms")
    #: Per arm: the round at which it was added, and at which it tripped the test (0: it has not).
    since: IntArray = integers("n_arms")
    tripped_at: IntArray = integers("n_arms")
    #: Per arm: whether it is not tested any more, and not chosen any more.
    exempt: BoolArray = flags("n_arms")
    dropped: BoolArray = flags("n_arms")
    #: The direction of each arm's last value.
    weakest: FloatArray = floats("n_arms", "d")
    #: The span of all contexts: its rank, orthogonal matrix and the features' units.
    rank: int = integer()
    basis: FloatArray = floats("d", "d")
    units: FloatArray = floats("d")
    # Scratch.
    outside: FloatArray = floats("d")
    reflector: FloatArray = floats("d")
    matrix: FloatArray = floats("d", "d")
    work: FloatArray = floats("d", "d")


def init(memory: Memory, n_arms: int, d: int, options: Any, samples: LeastSquares) -> Watch:
    """The watch over these samples before the first round."""
    watch = Watch(memory, options=options, samples=samples, n_arms=n_arms, d=d)
    begin(watch)
    return watch


def begin(watch: Watch) -> None:
    """Before the first round: λ₀ if it is given, no culprit, no context."""
    options = watch.options
    watch.lambda0 = options.lambda0
    watch.next_test = options.test_after if options.lambda0 > 0.0 else options.t0 - 1
    watch.culprit = -1
    watch.basis[:] = np.eye(len(watch.basis))


@inline_kernel
def left(watch: Watch, eligible: FloatArray, allowed: FloatArray) -> FloatArray:
    """The eligible arms that have not been dropped, in ``allowed`` if any has."""
    if watch.alarms == 0:
        return eligible
    for arm in range(allowed.shape[0]):
        allowed[arm] = 0.0 if watch.dropped[arm] else eligible[arm]
    return allowed


@inline_kernel
def rule_out(watch: Watch, allowed: FloatArray, scores: Scores) -> None:
    """Give arms that have been dropped no chance."""
    if watch.alarms > 0:
        for arm in range(allowed.shape[0]):
            if allowed[arm] == 0.0:
                scores.value[arm] = -math.inf


@inline_kernel
def span_rank(watch: Watch, d: int) -> int:
    """The rank that an arm's Gram matrix must have."""
    return watch.rank if watch.options.span == POOLED else d


@inline_kernel
def see(watch: Watch, context: FloatArray) -> None:
    """Take a context into the span of all contexts, if the test is run inside that."""
    if watch.rank < context.shape[0] and watch.options.span == POOLED:
        widen(watch, context)


@routine(Watch)
def widen(watch: Watch, context: FloatArray) -> None:
    """Widen the span; bounds are void if that adds a direction."""
    basis, units, rank = watch.basis, watch.units, watch.rank
    if span.widen(basis, units, rank, context, watch.outside, watch.reflector) == 0.0:
        return
    watch.rank += 1
    if watch.lambda0 > 0.0 and watch.options.statistic.can_fall:
        watch.next_test = 0.0
        for arm in range(watch.floor.shape[0]):
            watch.floor[arm] = 0.0


@routine(Watch)
def test(watch: Watch) -> None:
    """Run the test where a bound no longer decides it; ``explores`` if that is the answer."""
    options = watch.options
    if watch.lambda0 == 0.0:
        estimate_lambda0(watch)
    if watch.explores:
        return
    for arm in range(watch.floor.shape[0]):
        age = watch.clock - watch.since[arm]
        line = statistic.threshold(options.statistic, watch.lambda0, float(age))
        if watch.exempt[arm] or age <= options.test_after or watch.floor[arm] >= line:
            continue
        watch.floor[arm] = statistic.lower_bound(options.statistic, watch, arm)
        if watch.floor[arm] < line:
            watch.floor[arm] = statistic.value(options.statistic, watch, arm)
        if watch.floor[arm] < line:
            raise_alarm(watch, arm)
            if watch.explores:
                return
    plan_next_test(watch)


@kernel
def estimate_lambda0(watch: Watch) -> None:
    """λ₀ from the lowest of the watched arms' values (Algorithm 5); an alarm if that is 0.

    When the answer to a zero is not to explore, the arm is left out and the others are asked.
    """
    options, t = watch.options, watch.clock
    n_arms = watch.floor.shape[0]
    for arm in range(n_arms):
        if not watch.exempt[arm] and t - watch.since[arm] >= options.t0:
            watch.floor[arm] = statistic.value(options.statistic, watch, arm)
    for _ in range(n_arms):
        lowest = n_arms  # none
        for arm in range(n_arms):
            old = t - watch.since[arm] >= options.t0
            if (old and not watch.exempt[arm]) and (
                lowest == n_arms or watch.floor[arm] < watch.floor[lowest]
            ):
                lowest = arm
        if lowest == n_arms:
            return
        least = float(watch.floor[lowest])
        estimate = statistic.lambda0_from(options.statistic, least, float(t))
        if estimate > 0.0 and estimate >= options.lambda0_minimum:
            watch.lambda0 = estimate
            return
        raise_alarm(watch, lowest)
        if watch.explores:
            return


@kernel
def raise_alarm(watch: Watch, arm: int) -> None:
    """Note that the arm tripped the test, and answer as ``on_alarm`` says."""
    watch.alarms += 1
    watch.culprit = arm
    watch.tripped_at[arm] = watch.clock
    answer_alarm(watch.options.on_alarm, watch, arm)


@kernel
def plan_next_test(watch: Watch) -> None:
    """The round up to which every watched arm's bound decides the test."""
    options = watch.options
    first = math.inf
    for arm in range(watch.floor.shape[0]):
        if not watch.exempt[arm]:
            age = float(options.test_after)
            if watch.lambda0 > 0.0:
                kept = watch.floor[arm]
                allowed = statistic.rounds_allowed(options.statistic, watch.lambda0, kept)
                age = max(age, allowed * EARLY)
            first = min(first, watch.since[arm] + age)
    watch.next_test = first


def leave_out(watch: Watch, arm: int, *, dropped: bool) -> None:
    """Test this arm no more, and choose it no more if it is dropped."""
    watch.exempt[arm] = True
    if dropped:
        watch.dropped[arm] = True
    watch.alarms += 1


def test_soon(watch: Watch) -> None:
    """Test after the next reward, or as soon as tests begin."""
    watch.next_test = min(watch.next_test, max(watch.clock, watch.options.t0 - 1))
