"""What models of linear rewards have in common: least squares of the same rows, and counts."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from greedyfirst.compiling.families import by_record, kernel_for
from greedyfirst.compiling.kernels import INLINE_OPTIONS, inline_kernel
from greedyfirst.compiling.record_access import field_type
from greedyfirst.compiling.records import Memory, parts_of
from greedyfirst.models import first_ridge, learned_ridge, least_squares, posterior
from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import WARMUPS, LeastSquares
from greedyfirst.numerics.vectors import inner
from greedyfirst.validation import FloatArray, wrong

#: The warm-up that is none: not least squares, but a ridge whose prior is learned.
AUTO = "auto"
_LEARNED = -1
#: The rules by which a prior is learned and arms are explored, oldest first: records of agents and
#: logs keep theirs. One that names no rule has the first.
FIRST_RULE, RULE = 1, 2
RULES = (FIRST_RULE, RULE)


def checked_rule(rule: int) -> None:
    """Refuse a ``rule`` that is none."""
    if isinstance(rule, bool) or rule not in RULES:
        raise wrong("rule", rule, " or ".join(str(each) for each in reversed(RULES)))


def warmup_option(warmup: str) -> int:
    """A warm-up as kernels take it."""
    return _LEARNED if warmup == AUTO else WARMUPS.index(warmup)


def linear_model(
    memory: Memory, n_arms: int, d: int, warmup: int, rule: int, penalty: float = 0.0
) -> LearnedRidge | FirstRidge | LeastSquares:
    """Estimates before the first row; a ridge's ``penalty`` of 0 is learned, as ``rule`` says."""
    if warmup == _LEARNED:
        return learning_ridge(memory, n_arms, d, rule, penalty)
    return least_squares.init(memory, n_arms, d)


def learning_ridge(
    memory: Memory, n_arms: int, d: int, rule: int, penalty: float = 0.0
) -> LearnedRidge | FirstRidge:
    """The ridge regressions of a rule, whose prior is learned unless a ``penalty`` is given."""
    if rule == FIRST_RULE:
        return first_ridge.init(memory, n_arms, d, penalty)
    return learned_ridge.init(memory, n_arms, d, penalty)


def linear_part(model: Any) -> LeastSquares:
    """The model if it is least squares, else the least squares inside it."""
    linear: LeastSquares = getattr(model, "linear", model)
    return linear


@by_record
def observe(model: Any, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row of linear rewards; ``warmup`` is for least squares."""


@kernel_for(observe, LearnedRidge)
@inline_kernel
def _learn(model: LearnedRidge, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    learned_ridge.observe(model, arm, x, y)


@kernel_for(observe, FirstRidge)
@inline_kernel
def _learn_by_first_rule(model: FirstRidge, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    first_ridge.observe(model, arm, x, y)


@kernel_for(observe, LeastSquares)
@inline_kernel
def _fit(model: LeastSquares, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    least_squares.observe(model, warmup, arm, x, y)


@by_record
def catch_up(model: Any, warmup: int, arm: int) -> None:
    """Bring an estimate up to date that was paused."""


@kernel_for(catch_up, LearnedRidge)
@inline_kernel
def _is_up_to_date(model: LearnedRidge, warmup: int, arm: int) -> None:
    pass


@kernel_for(catch_up, FirstRidge)
@inline_kernel
def _first_rule_is_up_to_date(model: FirstRidge, warmup: int, arm: int) -> None:
    pass


@kernel_for(posterior.prepare, LeastSquares)
@inline_kernel
def _prepare(model: LeastSquares, x: FloatArray) -> None:
    pass


@kernel_for(posterior.rounding, LeastSquares)
@inline_kernel
def _rounding(model: LeastSquares) -> float:
    return 0.0


@kernel_for(posterior.mean, LeastSquares)
@inline_kernel
def _mean(model: LeastSquares, arm: int, x: FloatArray) -> float:
    return inner(model.estimate[arm], x)


@kernel_for(catch_up, LeastSquares)
@inline_kernel
def _catch_up(model: LeastSquares, warmup: int, arm: int) -> None:
    least_squares.catch_up(model, warmup, arm)


def admit(record: Any, arm: int) -> None:
    """Start an arm that joins later from what priors have become, in every model that has one."""
    if isinstance(record, LearnedRidge):
        learned_ridge.admit(record, arm)
    elif isinstance(record, FirstRidge):
        first_ridge.admit(record, arm)
    for each in parts_of(record):
        admit(each, arm)


def pause(model: Any) -> None:
    """Let estimates of least squares rest; rows go on being taken in. Other models go on."""
    if isinstance(model, LeastSquares):
        model.paused[:] = True


@overload(pause, strict=False, jit_options=INLINE_OPTIONS)
def _pause(model):  # type: ignore[no-untyped-def]
    if field_type(model, "paused") is None:
        return lambda model: None

    def compiled(model):  # type: ignore[no-untyped-def]
        for arm in range(model.paused.shape[0]):
            model.paused[arm] = True

    return compiled


def add_pulls(state: Any, arm: int, n: int) -> None:
    """Count n more rows of an arm, if the policy of this state keeps a model."""
    model = getattr(state, "model", None)
    if model is not None:
        model.pulls[arm] += n


@overload(add_pulls, strict=False, jit_options=INLINE_OPTIONS)
def _add_pulls(state, arm, n):  # type: ignore[no-untyped-def]
    model = field_type(state, "model")
    if model is None:
        return lambda state, arm, n: None
    if field_type(model, "linear") is not None:

        def in_linear_part(state, arm, n):  # type: ignore[no-untyped-def]
            state.model.linear.pulls[arm] += n

        return in_linear_part

    def compiled(state, arm, n):  # type: ignore[no-untyped-def]
        state.model.pulls[arm] += n

    return compiled
