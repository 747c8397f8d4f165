r"""The switch test of Greedy-First: exact, and almost free.

Arm i trips the test at round t when :math:`\lambda_{\min}(G_i) < \lambda_0t/4`. λ_min of a Gram
matrix never falls as rows are added, so the last value computed is a lower bound: it is computed
again only when the threshold has passed that bound, and when the cheap bound
:math:`\lambda_{\min}(G) \ge 1/\lVert G^{-1}\rVert_F` does not settle it. The switch time is that of
testing every arm in every round.

Inside the span of all contexts (``span="pooled"``) λ_min is that of
:math:`G_i + \tau Z^\top Z`, Z a basis of the span's complement and τ at least the trace of
:math:`G_i`. When that span grows λ_min can fall, and all bounds are reset.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from greedyfirst.compilation import (
    INLINE_OPTIONS,
    Routine,
    array_at,
    call,
    inline_kernel,
    pointer,
    rare_kernel,
)
from greedyfirst.eigenvalues import smallest_eigenpair
from greedyfirst.linalg import add_outer, copy
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares, span
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import inner

SPANS = ("full", "pooled")
FULL, POOLED = range(2)
ON_ALARM = ("explore", "drop", "hold")
EXPLORE, DROP, HOLD = range(3)
GREEDY, EXPLORES = 0.0, 1.0

# A test one part in 10⁹ too early only costs a comparison; one too late would move the switch.
EARLY = 1.0 - 1e-9
# Covers the rounding of G⁺ many times over.
BOUND_MARGIN = 1e-3


# Numbers of the watch: rewards so far (t); the t up to which no arm can trip the test; λ₀ in force
# (0 until it is estimated); GREEDY or EXPLORES; alarms and answers to them; t of the switch (0 if
# none); a decision's number less the fallback's own number of it; eigenvalues computed; the arm
# that tripped the test last (-1 if none); rank of the span of all contexts; decisions made so far,
# where an agent tells (rewards may be late).
(
    CLOCK,
    NEXT_TEST,
    LAMBDA0,
    MODE,
    ALARMS,
    SWITCHED_AT,
    OFFSET,
    EIGENVALUES,
    CULPRIT,
    RANK,
    DECIDED,
) = range(11)
# Per arm: the last λ_min computed, a lower bound from then on; t at which it was added; 1 if it is
# no longer tested; 1 if it is no longer chosen; t at which it tripped the test, 0 if it has not.
FLOOR, SINCE, UNWATCHED, DROPPED, TRIPPED = range(5)
# Vectors behind the arms' weakest directions: the units of the span of all contexts, and scratch.
UNITS, OUTSIDE, REFLECTOR = range(3)
# The orthogonal matrix of that span, and scratch.
BASIS, MATRIX, WORK = range(3)


class Options(NamedTuple):
    """What the test needs of the policy."""

    span: int
    on_alarm: int
    test_after: int
    t0: int
    lambda0_minimum: float


class DiversityWatch(NamedTuple):
    """What the test knows."""

    numbers: FloatArray  # (11,)
    arms: FloatArray  # (n_arms, 5)
    weakest: FloatArray  # (n_arms, d) the direction of each arm's last λ_min
    vectors: FloatArray  # (3, d)
    matrices: FloatArray  # (3, d, d)
    test_routine: int  # its address in this process


def init(memory: Memory, n_arms: int, d: int, policy: Any) -> DiversityWatch:
    """The watch before the first round."""
    watch = DiversityWatch(
        memory.take(11),
        memory.take(n_arms, 5),
        memory.take(n_arms, d),
        memory.take(3, d),
        memory.take(3, d, d),
        TEST.address,
    )
    watch.numbers[LAMBDA0] = policy.lambda0
    watch.numbers[NEXT_TEST] = policy.test_after if policy.lambda0 > 0.0 else policy.t0 - 1
    watch.numbers[CULPRIT] = -1.0
    watch.matrices[BASIS] = np.eye(d)
    return watch


@inline_kernel
def see(watch: DiversityWatch, context: FloatArray) -> None:
    """Take a context into the span of all contexts; bounds are void when it grows."""
    if watch.numbers[RANK] < context.shape[0]:
        widen(watch, context)


@rare_kernel
def widen(watch: DiversityWatch, context: FloatArray) -> None:
    """Widen the span, and reset the bounds if that adds a direction."""
    basis, vectors, rank = watch.matrices[BASIS], watch.vectors, int(watch.numbers[RANK])
    scratch = vectors[OUTSIDE], vectors[REFLECTOR]
    if span.widen(basis, vectors[UNITS], rank, context, *scratch) == 0.0:
        return
    watch.numbers[RANK] += 1.0
    if watch.numbers[LAMBDA0] > 0.0:
        watch.numbers[NEXT_TEST] = 0.0
        for arm in range(watch.arms.shape[0]):
            watch.arms[arm, FLOOR] = 0.0


@rare_kernel
def lower_bound(policy: Options, watch: DiversityWatch, model: LeastSquares, arm: int) -> float:
    """A bound λ_min ≥ 1/‖G⁺‖ by the Frobenius norm, O(d²); 0 where G⁺ is not known."""
    inverse = model.matrices[arm, least_squares.INVERSE]
    d = inverse.shape[0]
    rank, fresh = model.numbers[arm, least_squares.RANK], model.numbers[arm, least_squares.FRESH]
    if rank < span_rank(policy, watch, d) or (rank < d and fresh == 0.0):
        return 0.0
    squares = 0.0
    for i in range(d):
        squares += inner(inverse[i], inverse[i])
    return (1.0 - BOUND_MARGIN) / math.sqrt(squares) if squares > 0.0 else 0.0


@inline_kernel
def span_rank(policy: Options, watch: DiversityWatch, d: int) -> int:
    """The rank that an arm's Gram matrix must have."""
    return int(watch.numbers[RANK]) if policy.span == POOLED else d


@rare_kernel
def smallest_eigenvalue(
    policy: Options, watch: DiversityWatch, model: LeastSquares, arm: int
) -> float:
    """λ_min of the arm's Gram matrix, 0 while singular; its eigenvector into ``weakest``."""
    least_squares.settle(
        model.matrices[arm, least_squares.GRAM], model.vectors[arm], model.numbers[arm]
    )
    matrix, work = watch.matrices[MATRIX], watch.matrices[WORK]
    gram = model.matrices[arm, least_squares.GRAM]
    d = matrix.shape[0]
    trace = 0.0
    for i in range(d):
        trace += gram[i, i]
        copy(gram[i], matrix[i])
    rank = span_rank(policy, watch, d)
    for k in range(d - rank):
        add_outer(matrix, watch.matrices[BASIS, k], trace + 1.0)
    watch.numbers[EIGENVALUES] += 1.0
    smallest = smallest_eigenpair(matrix, work, watch.weakest[arm])
    if model.numbers[arm, least_squares.RANK] < rank:
        return 0.0
    return max(smallest, 0.0)


def test(policy: Any, watch: DiversityWatch, model: Any) -> None:
    """Run the test where a bound no longer decides it; MODE becomes EXPLORES on a switch.

    ``model`` is least squares, or has it as its ``linear``.
    """
    options = Options(
        policy.span, policy.on_alarm, policy.test_after, policy.t0, policy.lambda0_minimum
    )
    test_arms(options, watch, getattr(model, "linear", model))


@rare_kernel
def test_arms(policy: Options, watch: DiversityWatch, model: LeastSquares) -> None:
    """The work of :func:`test`."""
    if watch.numbers[LAMBDA0] == 0.0 and estimate_lambda0(policy, watch, model):
        return
    t = watch.numbers[CLOCK]
    for arm in range(watch.arms.shape[0]):
        age = t - watch.arms[arm, SINCE]
        threshold = watch.numbers[LAMBDA0] * age / 4.0
        if (
            watch.arms[arm, UNWATCHED] != 0.0
            or age <= policy.test_after
            or watch.arms[arm, FLOOR] >= threshold
        ):
            continue
        watch.arms[arm, FLOOR] = lower_bound(policy, watch, model, arm)
        if watch.arms[arm, FLOOR] < threshold:
            watch.arms[arm, FLOOR] = smallest_eigenvalue(policy, watch, model, arm)
        if watch.arms[arm, FLOOR] < threshold and raise_alarm(policy, watch, arm):
            return
    plan_next_test(policy, watch)


@rare_kernel
def estimate_lambda0(policy: Options, watch: DiversityWatch, model: LeastSquares) -> bool:
    """λ̂₀ = min λ_min/(2t) over the watched arms (Algorithm 5); True if it is zero and explores.

    When the answer to a zero is not to explore, the arm is left out and the others are asked.
    """
    t = watch.numbers[CLOCK]
    n_arms = watch.arms.shape[0]
    for arm in range(n_arms):
        if watch.arms[arm, UNWATCHED] == 0.0 and t - watch.arms[arm, SINCE] >= policy.t0:
            watch.arms[arm, FLOOR] = smallest_eigenvalue(policy, watch, model, arm)
    for _ in range(n_arms):
        lowest = n_arms  # none
        for arm in range(n_arms):
            old = t - watch.arms[arm, SINCE] >= policy.t0
            if (watch.arms[arm, UNWATCHED] == 0.0 and old) and (
                lowest == n_arms or watch.arms[arm, FLOOR] < watch.arms[lowest, FLOOR]
            ):
                lowest = arm
        if lowest == n_arms:
            return False
        estimate = watch.arms[lowest, FLOOR] / (2.0 * t)
        if estimate > 0.0 and estimate >= policy.lambda0_minimum:
            watch.numbers[LAMBDA0] = estimate
            return False
        if raise_alarm(policy, watch, lowest):
            return True
    return False


@rare_kernel
def raise_alarm(policy: Options, watch: DiversityWatch, arm: int) -> bool:
    """Note that the arm tripped the test, and answer as ``on_alarm`` says; True to explore."""
    watch.numbers[ALARMS] += 1.0
    watch.numbers[CULPRIT] = arm
    watch.arms[arm, TRIPPED] = watch.numbers[CLOCK]
    if policy.on_alarm == EXPLORE:
        watch.numbers[MODE] = EXPLORES
        return True
    watch.arms[arm, UNWATCHED] = 1.0
    if policy.on_alarm == DROP:
        left = 0
        for other in range(watch.arms.shape[0]):
            if watch.arms[other, DROPPED] == 0.0:
                left += 1
        if left > 1:
            watch.arms[arm, DROPPED] = 1.0
    return False


@rare_kernel
def plan_next_test(policy: Options, watch: DiversityWatch) -> None:
    """The t up to which every watched arm's bound decides the test."""
    first = math.inf
    for arm in range(watch.arms.shape[0]):
        if watch.arms[arm, UNWATCHED] == 0.0:
            age = float(policy.test_after)
            if watch.numbers[LAMBDA0] > 0.0:
                age = max(age, 4.0 * watch.arms[arm, FLOOR] / watch.numbers[LAMBDA0] * EARLY)
            first = min(first, watch.arms[arm, SINCE] + age)
    watch.numbers[NEXT_TEST] = first


@Routine("void(" + "int64, " * 9 + "float64, " + least_squares.MODEL_SIGNATURE[:-2] + ")")
def TEST(a, b, c, d, e, span, on_alarm, test_after, t0, lambda0_minimum, f, g, h, i, j, n, size, k):  # type: ignore[no-untyped-def]
    watch = DiversityWatch(
        array_at(a, (11,)),
        array_at(b, (n, 5)),
        array_at(c, (n, size)),
        array_at(d, (3, size)),
        array_at(e, (3, size, size)),
        0,
    )
    model = least_squares.model_at(f, g, h, i, j, n, size, k)
    test_arms(Options(span, on_alarm, test_after, t0, lambda0_minimum), watch, model)


@overload(test, strict=False, jit_options=INLINE_OPTIONS)
def _test(policy, watch, model):  # type: ignore[no-untyped-def]
    if "linear" in model.fields:
        return lambda policy, watch, model: test(policy, watch, model.linear)

    def compiled(policy, watch, model):  # type: ignore[no-untyped-def]
        arrays = (
            pointer(watch.numbers),
            pointer(watch.arms),
            pointer(watch.weakest),
            pointer(watch.vectors),
            pointer(watch.matrices),
        )
        options = (policy.span, policy.on_alarm, policy.test_after, policy.t0)
        model_is = (policy.lambda0_minimum, *least_squares.pointers(model))
        call(watch.test_routine, (*arrays, *options, *model_is))

    return compiled
