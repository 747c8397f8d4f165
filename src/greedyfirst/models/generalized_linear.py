r"""Maximum likelihood per arm under a link, from the first row on.

For each arm the estimate maximises :math:`\ell(\beta) = \sum \ell(x^\top\beta; y)` by Newton's
method from the last estimate, one row's step ahead, until another step would move it by less than
10⁻⁵ of a standard error (or its last digits); that last step is taken as well, and its error is the
square of that. A step that overshoots is halved until the likelihood rises.

**Until the estimate exists** (rows may not span everything, or a direction u may separate them: all
rewards at the ends of the scale on their sides of :math:`x^\top u = 0`, the others on it), the
estimate is 0 (``warmup="none"``) or maximises :math:`\ell(\beta) - \sum_i s_i^2\beta_i^2/2\cdot
2.5^2` (``"ridge"``), s_i the root mean square of feature i: a wide normal prior that does not
depend on units. It exists exactly when no u separates the rows. With score c and M = Σ c²xx' at any
β (any weight for rows that are not at an end), g = Σ cx:

- :math:`g^\top M^{-1}g < 1` proves that none does, since such a u would have
  :math:`g^\top u = \sum |c\,x^\top u| \ge (u^\top Mu)^{1/2}`; and g tends to 0 if none does;
- a u that separates the rows is kept as proof of the contrary, and looked for again only when a
  row comes that is on its wrong side.

**Rows** are kept in blocks of ``BLOCK``, each feature's numbers side by side. With bounded memory
an arm keeps its newest blocks; older ones are *folded*: replaced by the second-order expansion of
their likelihood at the estimate of that moment.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from greedyfirst.compilation import (
    INLINE_OPTIONS,
    Routine,
    array_at,
    call,
    inline_kernel,
    kernel,
    pointer,
)
from greedyfirst.linalg import copy, copy_all, invert, multiply, quadratic
from greedyfirst.links.link import (
    LINKS,
    Link,
    curvature,
    extreme,
    log_likelihood,
    means_routine,
    routine_for,
    score,
)
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import COUNT, RANK, LeastSquares
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

#: What the estimate is until the maximum likelihood estimate exists.
WARMUPS = ("none", "ridge")
NONE, RIDGE = range(2)

# The linear model beside it is there for its Gram matrices: its own estimates are not used.
LINEAR_WARMUP = least_squares.NONE

BLOCK = 64
# Standard deviation of the ridge's prior for a feature of mean square 1.
PRIOR_SCALE = 2.5
ITERATIONS = 100
HALVINGS = 60
# Squared Newton decrement, which is a squared distance in standard errors, at which a last step
# ends the search; in units of the estimate's own size where rounding is larger than that.
TOLERANCE = 1e-10
ROUNDING = 1e-12
# Below this squared decrement a step that overshoots a little is taken without a look at ℓ.
NEAR = 1e-2
# g'M⁻¹g below this proves that the estimate exists; 1 but for rounding.
CERTAIN = 0.99
# A row is on the right side of u up to this share of the two lengths.
SIDE = 1e-9

# Per arm: 1 once the estimate exists; its first and its last block, how many it has, rows in the
# last; rows folded; 1 while a direction is known that separates its rows.
EXISTS, FIRST, LAST, BLOCKS, FILLED, FOLDED, SEPARATED = range(7)
# Per arm: the estimate that decisions use, the direction that separates its rows, Σx² by feature,
# and the gradient of the folded rows at β = 0.
ESTIMATE, DIRECTION, SQUARES, FOLDED_GRADIENT = range(4)
# Per arm: the inverse of minus ℓ's second derivatives, and those of the folded rows.
INVERSE, FOLDED_CURVATURE = range(2)
# Scratch vectors and matrices.
POINT, STEP, TRIAL, GRADIENT = range(4)
HESSIAN, SOLVED, SQUARED = range(3)
# Scratch rows of a block: linear predictors, scores, curvatures, products.
PREDICTOR, SCORES, CURVATURES, PRODUCT = range(4)


class GeneralizedLinear(NamedTuple):
    """Rows and estimates of all arms."""

    linear: LeastSquares  # of the same rows: their Gram matrices, counts and ranks
    numbers: FloatArray  # (n_arms, 7)
    vectors: FloatArray  # (n_arms, 4, d)
    matrices: FloatArray  # (n_arms, 2, d, d)
    rows: FloatArray  # (n_blocks, d + 2, BLOCK) features, rewards, and [0] the next block's number
    scratch: FloatArray  # (4, d)
    scratch_rows: FloatArray  # (4, BLOCK)
    scratch_matrices: FloatArray  # (3, d, d)
    link: int  # its place in LINKS
    window: int  # blocks that an arm may keep; 0 for all
    observe_routine: int  # addresses in this process, as the next
    means_routine: int

    @property
    def pulls(self) -> FloatArray:
        """Rows seen (n_arms,)."""
        return self.linear.pulls

    @property
    def estimate(self) -> FloatArray:
        """What decisions use (n_arms, d)."""
        return self.vectors[:, ESTIMATE]

    @property
    def gram(self) -> FloatArray:
        """Gram matrices (n_arms, d, d)."""
        return self.linear.gram

    @property
    def exists(self) -> np.ndarray:
        """Whether each arm's maximum likelihood estimate exists (n_arms,)."""
        return np.asarray(self.numbers[:, EXISTS] != 0.0)


def link_of(place: int) -> type[Link]:
    """The link at this place of the table."""
    return list(LINKS.values())[place]


def place_of(name: str) -> int:
    """Where the table has this link."""
    return list(LINKS).index(name)


def init(memory: Memory, n_arms: int, d: int, link: int, window_rows: int) -> GeneralizedLinear:
    """The state before the first row; ``window_rows`` per arm are kept, 0 for all."""
    window = -(-window_rows // BLOCK)
    n_blocks = n_arms * window if window else memory.rows // BLOCK + n_arms
    model = GeneralizedLinear(
        least_squares.init(memory, n_arms, d),
        memory.take(n_arms, 7),
        memory.take(n_arms, 4, d),
        memory.take(n_arms, 2, d, d),
        memory.take(n_blocks, d + 2, BLOCK),
        memory.take(4, d),
        memory.take(4, BLOCK),
        memory.take(3, d, d),
        link,
        window,
        observe_routine(link_of(link)).address,
        means_routine(link_of(link)).address,
    )
    return model


def observe(model: GeneralizedLinear, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Take in one row and find the new estimate: O(nd²) for n rows kept."""
    least_squares.observe(model.linear, LINEAR_WARMUP, arm, x, y)
    fit = Fit(
        model.linear.numbers,
        model.numbers,
        model.vectors,
        model.matrices,
        model.rows,
        model.scratch,
        model.scratch_rows,
        model.scratch_matrices,
        model.window,
    )
    fit_row(link_of(model.link).Tag(0), fit, warmup, arm, x, y)


def expect(model: GeneralizedLinear, predictors: FloatArray) -> None:
    """Replace linear predictors by expected rewards."""
    link = link_of(model.link)
    for i in range(predictors.shape[0]):
        predictors[i] = link.mean(predictors[i])


class Fit(NamedTuple):
    """What the kernels below need of a model."""

    linear_numbers: FloatArray
    numbers: FloatArray
    vectors: FloatArray
    matrices: FloatArray
    rows: FloatArray
    scratch: FloatArray
    scratch_rows: FloatArray
    scratch_matrices: FloatArray
    window: int


@kernel
def fit_row(tag: Any, model: Fit, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Keep a row and find the new estimate, once the linear model has taken it in."""
    store(tag, model, arm, x, y)
    if model.numbers[arm, EXISTS] != 0.0:
        follow(tag, model, arm, x, y)
    else:
        wait(tag, model, warmup, arm, x, y)


# ------------------------------------------------------------------------------------------ rows


@kernel
def store(tag: Any, model: Fit, arm: int, x: FloatArray, y: float) -> None:
    """Put a row behind the arm's others."""
    numbers, d = model.numbers[arm], x.shape[0]
    if numbers[BLOCKS] == 0.0 or numbers[FILLED] == BLOCK:
        extend(tag, model, arm)
    block, place = model.rows[int(numbers[LAST])], int(numbers[FILLED])
    for i in range(d):
        block[i, place] = x[i]
        model.vectors[arm, SQUARES, i] += x[i] * x[i]
    block[d, place] = y
    numbers[FILLED] += 1.0


@kernel
def extend(tag: Any, model: Fit, arm: int) -> None:
    """Give the arm an empty block: a new one, or its oldest after folding that."""
    numbers, d = model.numbers[arm], model.vectors.shape[2]
    used = 0.0
    for other in range(model.numbers.shape[0]):
        used += model.numbers[other, BLOCKS]
    kept = int(numbers[BLOCKS])
    fresh = int(used)
    if kept > 0 and (kept == model.window or fresh >= model.rows.shape[0]):
        fresh = int(numbers[FIRST])
        fold(tag, model, arm, fresh)
        numbers[FIRST] = model.rows[fresh, d + 1, 0] if kept > 1 else float(fresh)
    else:
        numbers[BLOCKS] += 1.0
    for i in range(d + 2):
        for j in range(BLOCK):
            model.rows[fresh, i, j] = 0.0
    if numbers[BLOCKS] == 1.0:
        numbers[FIRST] = fresh
    else:
        model.rows[int(numbers[LAST]), d + 1, 0] = fresh
    numbers[LAST] = fresh
    numbers[FILLED] = 0.0


@kernel
def fold(tag: Any, model: Fit, arm: int, place: int) -> None:
    """Replace a full block by its expansion at the estimate."""
    block, lanes = model.rows[place], model.scratch_rows
    differentiate(tag, block, model.vectors[arm, ESTIMATE], lanes)
    for j in range(BLOCK):
        lanes[SCORES, j] += lanes[CURVATURES, j] * lanes[PREDICTOR, j]
    gradient, matrix = (
        model.vectors[arm, FOLDED_GRADIENT],
        model.matrices[arm, FOLDED_CURVATURE],
    )
    accumulate(block, lanes, gradient, matrix)
    mirror(matrix)
    model.numbers[arm, FOLDED] += BLOCK


@inline_kernel
def predict_block(block: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Linear predictors of a block's rows."""
    for j in range(BLOCK):
        out[j] = 0.0
    for i in range(point.shape[0]):
        add_multiple(out, point[i], block[i])


@kernel
def differentiate(tag: Any, block: FloatArray, point: FloatArray, lanes: FloatArray) -> None:
    """Predictors, scores and curvatures of a block's rows."""
    z, rewards = lanes[PREDICTOR], block[point.shape[0]]
    predict_block(block, point, z)
    scores, curvatures = lanes[SCORES], lanes[CURVATURES]
    for j in range(BLOCK):
        predictor, reward = z[j], rewards[j]
        first, second = score(tag, predictor, reward), curvature(tag, predictor, reward)
        scores[j] = first
        curvatures[j] = second


@kernel
def accumulate(
    block: FloatArray, lanes: FloatArray, gradient: FloatArray, matrix: FloatArray
) -> None:
    """Add Σ score·x, and the lower half of Σ curvature·xx'; places without a row have x = 0."""
    d = gradient.shape[0]
    scores, curvatures, product = lanes[SCORES], lanes[CURVATURES], lanes[PRODUCT]
    for i in range(d):
        gradient[i] += inner(block[i], scores)
        for j in range(BLOCK):
            product[j] = block[i, j] * curvatures[j]
        for k in range(i + 1):
            matrix[i, k] += inner(product, block[k])


@kernel
def mirror(matrix: FloatArray) -> None:
    """Copy the lower half to the upper one."""
    for i in range(matrix.shape[0]):
        for k in range(i):
            matrix[k, i] = matrix[i, k]


# ----------------------------------------------------------------------------------- the maximum


@kernel
def prior(model: Fit, arm: int, i: int, weight: float) -> float:
    """The ridge's penalty on feature i."""
    mean_square = model.vectors[arm, SQUARES, i] / model.linear_numbers[arm, COUNT]
    return weight * (mean_square if mean_square > 0.0 else 1.0)


@kernel
def evaluate(tag: Any, model: Fit, arm: int, point: FloatArray, weight: float) -> None:
    """Gradient and minus the second derivatives of ℓ, less the ridge's penalty, at a point."""
    gradient, matrix = model.scratch[GRADIENT], model.scratch_matrices[HESSIAN]
    folded, d = model.matrices[arm, FOLDED_CURVATURE], point.shape[0]
    for i in range(d):
        penalty = prior(model, arm, i, weight) if weight > 0.0 else 0.0
        gradient[i] = (
            model.vectors[arm, FOLDED_GRADIENT, i] - inner(folded[i], point) - penalty * point[i]
        )
        copy(folded[i], matrix[i])
        matrix[i, i] += penalty
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        differentiate(tag, block, point, model.scratch_rows)
        accumulate(block, model.scratch_rows, gradient, matrix)
        place = int(block[d + 1, 0])
    mirror(matrix)


@kernel
def objective(tag: Any, model: Fit, arm: int, point: FloatArray, weight: float) -> float:
    """ℓ, less the ridge's penalty, at a point."""
    d = point.shape[0]
    folded = model.matrices[arm, FOLDED_CURVATURE]
    total = inner(model.vectors[arm, FOLDED_GRADIENT], point) - 0.5 * quadratic(folded, point)
    if weight > 0.0:
        for i in range(d):
            total -= 0.5 * prior(model, arm, i, weight) * point[i] * point[i]
    z = model.scratch_rows[PREDICTOR]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        predict_block(block, point, z)
        last = place == int(model.numbers[arm, LAST])
        for j in range(int(model.numbers[arm, FILLED]) if last else BLOCK):
            total += log_likelihood(tag, z[j], block[d, j])
        place = int(block[d + 1, 0])
    return total


@kernel
def advance(
    tag: Any,
    model: Fit,
    arm: int,
    point: FloatArray,
    decrement: float,
    weight: float,
) -> bool:
    """Go along STEP, or half of it, …, to where ℓ is higher; derivatives there. False: nowhere.

    The slope along the step is ``decrement`` at its start. ℓ is concave: it has risen if the slope
    is not negative at the end, and where it is, ℓ itself decides.
    """
    step, trial = model.scratch[STEP], model.scratch[TRIAL]
    share = 1.0
    for _ in range(HALVINGS):
        copy(point, trial)
        add_multiple(trial, share, step)
        evaluate(tag, model, arm, trial, weight)
        slope = inner(model.scratch[GRADIENT], step)
        risen = slope >= 0.0 or (decrement <= NEAR and slope >= -0.5 * decrement)
        if not risen and slope > -1e300:
            before = objective(tag, model, arm, point, weight)
            risen = objective(tag, model, arm, trial, weight) > before
        if risen:
            copy(trial, point)
            return True
        share *= 0.5
    return False


@kernel
def maximise(tag: Any, model: Fit, arm: int, point: FloatArray, weight: float) -> bool:
    """Newton's method from ``point``, in place; False where it finds no maximum."""
    matrix, inverse = model.scratch_matrices[HESSIAN], model.scratch_matrices[SOLVED]
    step = model.scratch[STEP]
    evaluate(tag, model, arm, point, weight)
    for _ in range(ITERATIONS):
        if not invert(matrix, inverse, model.scratch[TRIAL]):
            return False
        decrement = multiply(inverse, model.scratch[GRADIENT], step)
        if decrement <= TOLERANCE * (1.0 + ROUNDING * quadratic(matrix, point)):
            add_multiple(point, 1.0, step)
            return True
        if not (decrement < 1e300 and advance(tag, model, arm, point, decrement, weight)):
            return False
    return False


@kernel
def adopt(model: Fit, arm: int) -> None:
    """Make POINT the arm's estimate, and keep the derivatives' inverse found there."""
    copy(model.scratch[POINT], model.vectors[arm, ESTIMATE])
    for i in range(model.vectors.shape[2]):
        copy(model.scratch_matrices[SOLVED, i], model.matrices[arm, INVERSE, i])


@kernel
def follow(tag: Any, model: Fit, arm: int, x: FloatArray, y: float) -> None:
    """The new maximum, from the last one and the step that the new row alone asks for."""
    point, gain = model.scratch[POINT], model.scratch[STEP]
    copy(model.vectors[arm, ESTIMATE], point)
    spread = multiply(model.matrices[arm, INVERSE], x, gain)
    z = inner(point, x)
    share = score(tag, z, y) / (1.0 + curvature(tag, z, y) * spread)
    add_multiple(point, share, gain)
    if maximise(tag, model, arm, point, 0.0):
        adopt(model, arm)
        return
    copy(model.vectors[arm, ESTIMATE], point)
    if maximise(tag, model, arm, point, 0.0):
        adopt(model, arm)


# ------------------------------------------------------------------------------- until it exists


@kernel
def wait(tag: Any, model: Fit, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """The ridge's estimate if wanted; and whether the new row makes the maximum exist."""
    point, d = model.scratch[POINT], x.shape[0]
    if warmup == RIDGE:
        copy(model.vectors[arm, ESTIMATE], point)
        if maximise(tag, model, arm, point, 1.0 / (PRIOR_SCALE * PRIOR_SCALE)):
            copy(point, model.vectors[arm, ESTIMATE])
    if model.linear_numbers[arm, RANK] < d:
        return
    direction = model.vectors[arm, DIRECTION]
    if model.numbers[arm, SEPARATED] != 0.0 and right_side(
        tag, inner(direction, x), y, direction, x
    ):
        return
    model.numbers[arm, SEPARATED] = 0.0
    copy(model.vectors[arm, ESTIMATE], point)
    if proves_existence(tag, model, arm, point) and maximise(tag, model, arm, point, 0.0):
        model.numbers[arm, EXISTS] = 1.0
        adopt(model, arm)


@kernel
def right_side(tag: Any, z: float, y: float, direction: FloatArray, x: FloatArray) -> bool:
    """Whether a row is where a direction that separates the rows would have it."""
    slack = SIDE * (inner(direction, direction) * inner(x, x)) ** 0.5
    side = extreme(tag, y)
    return bool(side * z >= -slack if side != 0.0 else abs(z) <= slack)


@kernel
def proves_existence(tag: Any, model: Fit, arm: int, point: FloatArray) -> bool:
    """Go uphill until g'M⁻¹g < 1, or until a direction separates the rows, which is kept."""
    matrix, inverse = model.scratch_matrices[HESSIAN], model.scratch_matrices[SOLVED]
    gradient, step, trial = (
        model.scratch[GRADIENT],
        model.scratch[STEP],
        model.scratch[TRIAL],
    )
    evaluate(tag, model, arm, point, 0.0)
    for _ in range(ITERATIONS):
        square_scores(tag, model, arm, point)
        regular = invert(model.scratch_matrices[SQUARED], inverse, trial)
        if regular and quadratic(inverse, gradient) < CERTAIN:
            return True
        if separates(tag, model, arm, point):
            return False
        if not invert(matrix, inverse, trial):
            return False
        decrement = multiply(inverse, gradient, step)
        if separates(tag, model, arm, step):
            return False
        if not (decrement < 1e300 and advance(tag, model, arm, point, decrement, 0.0)):
            return False
    return False


@kernel
def square_scores(tag: Any, model: Fit, arm: int, point: FloatArray) -> None:
    """M: Σ score²·xx', with the curvature added where a reward is not at an end."""
    matrix, lanes, d = model.scratch_matrices[SQUARED], model.scratch_rows, point.shape[0]
    for i in range(d):
        copy(model.matrices[arm, FOLDED_CURVATURE, i], matrix[i])
    unused = model.scratch[TRIAL]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        differentiate(tag, block, point, lanes)
        for j in range(BLOCK):
            weight = lanes[SCORES, j] * lanes[SCORES, j]
            if extreme(tag, block[d, j]) == 0.0:
                weight += lanes[CURVATURES, j]
            lanes[CURVATURES, j] = weight
        accumulate(block, lanes, unused, matrix)
        place = int(block[d + 1, 0])
    mirror(matrix)


@kernel
def separates(tag: Any, model: Fit, arm: int, direction: FloatArray) -> bool:
    """Whether a direction separates the arm's rows; kept if so. Folded rows are never separated."""
    if model.numbers[arm, FOLDED] != 0.0 or not inner(direction, direction) > 0.0:
        return False
    d = direction.shape[0]
    x, z = model.vectors[arm, DIRECTION], model.scratch_rows[PREDICTOR]
    place = int(model.numbers[arm, FIRST])
    for _ in range(int(model.numbers[arm, BLOCKS])):
        block = model.rows[place]
        predict_block(block, direction, z)
        last = place == int(model.numbers[arm, LAST])
        for j in range(int(model.numbers[arm, FILLED]) if last else BLOCK):
            for i in range(d):
                x[i] = block[i, j]
            if not right_side(tag, z[j], block[d, j], direction, x):
                return False
        place = int(block[d + 1, 0])
    copy(direction, model.vectors[arm, DIRECTION])
    model.numbers[arm, SEPARATED] = 1.0
    return True


# ------------------------------------------------------------------------- from model to model


@inline_kernel
def take_over(source: GeneralizedLinear, target: GeneralizedLinear) -> None:
    """Make ``target``, of the same link, memory and size, know what ``source`` knows."""
    copy_all(source.linear.numbers, target.linear.numbers)
    copy_all(source.linear.vectors, target.linear.vectors)
    copy_all(source.linear.matrices, target.linear.matrices)
    copy_all(source.numbers, target.numbers)
    copy_all(source.vectors, target.vectors)
    copy_all(source.matrices, target.matrices)
    copy_all(source.rows, target.rows)


# ------------------------------------------------------------------------- called by address


_SIGNATURE = "void(" + "int64, " * 15 + "float64)"


def _observe(a, b, c, d, e, f, g, h, n, size, n_blocks, window, warmup, arm, x, y):  # type: ignore[no-untyped-def]
    model = Fit(
        array_at(a, (n, 5)),
        array_at(b, (n, 7)),
        array_at(c, (n, 4, size)),
        array_at(d, (n, 2, size, size)),
        array_at(e, (n_blocks, size + 2, BLOCK)),
        array_at(f, (4, size)),
        array_at(g, (4, BLOCK)),
        array_at(h, (3, size, size)),
        window,
    )
    fit_row(TAG(0), model, warmup, arm, array_at(x, (size,)), y)  # type: ignore[name-defined]  # noqa: F821


def observe_routine(link: type[Link]) -> Routine:
    """The routine that fits an arm under a link."""
    return routine_for(link, _SIGNATURE, _observe)


@overload(observe, strict=False, jit_options=INLINE_OPTIONS)
def _observe_compiled(model, warmup, arm, x, y):  # type: ignore[no-untyped-def]
    def compiled(model, warmup, arm, x, y):  # type: ignore[no-untyped-def]
        least_squares.observe(model.linear, LINEAR_WARMUP, arm, x, y)
        arrays = (
            pointer(model.linear.numbers),
            pointer(model.numbers),
            pointer(model.vectors),
            pointer(model.matrices),
            pointer(model.rows),
            pointer(model.scratch),
            pointer(model.scratch_rows),
            pointer(model.scratch_matrices),
        )
        sizes = (model.vectors.shape[0], model.vectors.shape[2], model.rows.shape[0], model.window)
        call(model.observe_routine, (*arrays, *sizes, warmup, arm, pointer(x), y))

    return compiled


@overload(expect, strict=False, jit_options=INLINE_OPTIONS)
def _expect(model, predictors):  # type: ignore[no-untyped-def]
    def compiled(model, predictors):  # type: ignore[no-untyped-def]
        call(model.means_routine, (pointer(predictors), predictors.shape[0]))

    return compiled
