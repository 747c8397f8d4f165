r"""Maximum likelihood per arm under a link, from the first row on.

For each arm the estimate maximises :math:`\ell(\beta) = \sum \ell(x^\top\beta; y)` by Newton's
method from the last estimate, one row's step ahead, until another step would move it by less than
10⁻⁵ of a standard error (or its last digits); that last step is taken as well.

**Until the estimate exists** (rows may not span everything, or a direction may separate them, see
:mod:`greedyfirst.models.separation`), the estimate is 0 (``warmup="none"``) or maximises
:math:`\ell(\beta) - \sum_i s_i^2\beta_i^2/(2\cdot 2.5^2)` (``"ridge"``), s_i the root mean square
of feature i: a wide normal prior that does not depend on units. A direction that separates the rows
is looked for again only when a row comes that is on its wrong side.

**Rows** are kept in blocks, all of them or the newest (:mod:`greedyfirst.models.row_blocks`).
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
from greedyfirst.linalg import copy, copy_all, multiply
from greedyfirst.links.link import (
    LINKS,
    Link,
    curvature,
    means_routine,
    routine_for,
    score,
)
from greedyfirst.memory import Memory
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import NUMBERS, RANK, LeastSquares
from greedyfirst.models.likelihood import (
    BLOCK,
    DIRECTION,
    ESTIMATE,
    EXISTS,
    INVERSE,
    POINT,
    SEPARATED,
    SOLVED,
    STEP,
    Fit,
)
from greedyfirst.models.newton import PENALTY, seek, zero
from greedyfirst.models.row_blocks import blocks_for, store
from greedyfirst.models.separation import proves_existence, right_side
from greedyfirst.validation import FloatArray
from greedyfirst.vector_loops import add_multiple, inner

#: What the estimate is until the maximum likelihood estimate exists.
WARMUPS = ("none", "ridge")
NONE, RIDGE = range(2)

# The linear model beside it is there for its Gram matrices and, which this warm-up keeps, their
# pseudo-inverses: its own estimates are not used.
LINEAR_WARMUP = least_squares.PINV


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
    window, n_blocks = blocks_for(window_rows, memory.rows, n_arms)
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


@kernel
def fit_row(tag: Any, model: Fit, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """Keep a row and find the new estimate, once the linear model has taken it in."""
    store(tag, model, arm, x, y)
    if model.numbers[arm, EXISTS] != 0.0:
        follow(tag, model, arm, x, y)
    else:
        wait(tag, model, warmup, arm, x, y)


# ----------------------------------------------------------------------------------- the estimate


@kernel
def follow(tag: Any, model: Fit, arm: int, x: FloatArray, y: float) -> None:
    """The new maximum, from the last one and the step that the new row alone asks for."""
    point, gain = model.scratch[POINT], model.scratch[STEP]
    copy(model.vectors[arm, ESTIMATE], point)
    spread = multiply(model.matrices[arm, INVERSE], x, gain)
    z = inner(point, x)
    add_multiple(point, score(tag, z, y) / (1.0 + curvature(tag, z, y) * spread), gain)
    adopt(tag, model, arm)


@kernel
def adopt(tag: Any, model: Fit, arm: int) -> None:
    """Make the maximum the arm's estimate, if it is found, and keep the derivatives' inverse."""
    if not seek(tag, model, arm, 0.0):
        return
    model.numbers[arm, EXISTS] = 1.0
    copy(model.scratch[POINT], model.vectors[arm, ESTIMATE])
    for i in range(model.vectors.shape[2]):
        copy(model.scratch_matrices[SOLVED, i], model.matrices[arm, INVERSE, i])


@kernel
def wait(tag: Any, model: Fit, warmup: int, arm: int, x: FloatArray, y: float) -> None:
    """The ridge's estimate if wanted; and whether the new row makes the maximum exist."""
    point, d = model.scratch[POINT], x.shape[0]
    estimate, direction = model.vectors[arm, ESTIMATE], model.vectors[arm, DIRECTION]
    copy(estimate, point)
    if warmup == RIDGE and seek(tag, model, arm, PENALTY):
        copy(point, estimate)
    if model.linear_numbers[arm, RANK] < d:
        return
    separated = model.numbers[arm, SEPARATED] != 0.0
    if separated and right_side(tag, inner(direction, x), y, direction, x):
        return
    model.numbers[arm, SEPARATED] = 0.0
    copy(estimate, point)
    found = proves_existence(tag, model, arm, point)
    if not found and model.numbers[arm, SEPARATED] == 0.0:
        zero(point)
        found = proves_existence(tag, model, arm, point)
    if found:
        adopt(tag, model, arm)


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
        array_at(a, (n, NUMBERS)),
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
