"""What all models have in common: least squares of the same rows, and counts."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from greedyfirst.compiling.kernels import INLINE_OPTIONS
from greedyfirst.compiling.record_access import field_type
from greedyfirst.models import learned_ridge, least_squares
from greedyfirst.models.learned_ridge import LearnedRidge
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.validation import FloatArray


def linear_part(model: Any) -> LeastSquares:
    """The model if it is least squares, else the least squares inside it."""
    linear: LeastSquares = getattr(model, "linear", model)
    return linear


def observe(model: Any, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row of linear rewards; ``warmup`` is for least squares."""
    if isinstance(model, LearnedRidge):
        learned_ridge.observe(model, arm, x, y)
    else:
        least_squares.observe(model, warmup, arm, x, y)


@overload(observe, strict=False, jit_options=INLINE_OPTIONS)
def _observe(model, warmup, arm, x, y):  # type: ignore[no-untyped-def]
    if field_type(model, "learn_at") is not None:
        return lambda model, warmup, arm, x, y: learned_ridge.observe(model, arm, x, y)
    return lambda model, warmup, arm, x, y: least_squares.observe(model, warmup, arm, x, y)


def admit(state: Any, arm: int) -> None:
    """Start an arm that joins later from what its prior has become, where a model has one."""
    model = getattr(state, "model", None)
    if isinstance(model, LearnedRidge):
        learned_ridge.admit(model, arm)


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
