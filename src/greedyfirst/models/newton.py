"""Newton's method with step control, on an arm's likelihood or on a penalised one."""

from __future__ import annotations

from greedyfirst.compiling.kernels import kernel
from greedyfirst.models.likelihood import (
    GeneralizedLinear,
    evaluate,
    objective,
    take_estimate,
)
from greedyfirst.numerics.matrices import invert, multiply, quadratic
from greedyfirst.numerics.vectors import add_multiple, copy, inner
from greedyfirst.validation import FloatArray

ITERATIONS = 100
HALVINGS = 60
# Squared Newton decrement, which is a squared distance in standard errors, at which a last step
# ends the search; in units of the estimate's own size where rounding is larger than that.
TOLERANCE = 1e-10
ROUNDING = 1e-12
# Below this squared decrement a step that overshoots a little is taken without a look at ℓ.
NEAR = 1e-2


@kernel
def advance(
    model: GeneralizedLinear,
    arm: int,
    point: FloatArray,
    decrement: float,
    weight: float,
) -> bool:
    """Go along ``step``, or half of it, …, to where ℓ is higher; derivatives there. False: nowhere.

    The slope along the step is ``decrement`` at its start. ℓ is concave: it has risen if the slope
    is not negative at the end, and where it is, ℓ itself decides.
    """
    step, trial = model.step, model.trial
    share = 1.0
    for _ in range(HALVINGS):
        copy(point, trial)
        add_multiple(trial, share, step)
        evaluate(model, arm, trial, weight)
        slope = inner(model.gradient, step)
        risen = slope >= 0.0 or (decrement <= NEAR and slope >= -0.5 * decrement)
        if not risen and slope > -1e300:
            before = objective(model, arm, point, weight)
            risen = objective(model, arm, trial, weight) > before
        if risen:
            copy(trial, point)
            return True
        share *= 0.5
    return False


@kernel
def maximise(model: GeneralizedLinear, arm: int, point: FloatArray, weight: float) -> bool:
    """Newton's method from ``point``, in place; False where it finds no maximum."""
    matrix, inverse = model.hessian, model.solved
    step = model.step
    evaluate(model, arm, point, weight)
    for _ in range(ITERATIONS):
        if not invert(matrix, inverse, model.trial):
            return False
        decrement = multiply(inverse, model.gradient, step)
        if not decrement >= 0.0:
            return False
        if decrement <= TOLERANCE * (1.0 + ROUNDING * quadratic(matrix, point)):
            add_multiple(point, 1.0, step)
            return True
        if not (decrement < 1e300 and advance(model, arm, point, decrement, weight)):
            return False
    return False


@kernel
def zero(point: FloatArray) -> None:
    """point = 0."""
    for i in range(point.shape[0]):
        point[i] = 0.0


@kernel
def seek(model: GeneralizedLinear, arm: int, weight: float) -> bool:
    """The maximum into ``point``, from there, else from the last estimate, else from 0."""
    point = model.point
    if maximise(model, arm, point, weight):
        return True
    take_estimate(model, arm, point)
    if maximise(model, arm, point, weight):
        return True
    zero(point)
    return maximise(model, arm, point, weight)
