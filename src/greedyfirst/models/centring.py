r"""The constant among the features, and where each feature begins.

Where a linear function of the contexts is 1, :math:`x^\top w = 1` in every row (an intercept, or
dummies), the zero of the other features means nothing. A **row** is a context less the features'
origins,

.. math:: \tilde x = x - o\,(x^\top w), \quad o^\top w = 0,

so that a calendar year, or seconds since 1970, cost no digits: x and :math:`\tilde x` have the same
linear functions. A feature that has had one value in every row so far says nothing yet: it is 0 in
:math:`\tilde x` until it varies, whatever its value is. One column of such is the constant itself.
"""

from __future__ import annotations

from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Record, flag, floats, integer
from greedyfirst.numerics.vectors import copy, inner
from greedyfirst.validation import FloatArray

# Origins are 0 for features whose means are within so many of their standard deviations of 0.
FAR = 4.0
# Where dummies are the constant, x'w is 1 but for this.
ROUNDING = 1e-9


class Centring(Record):
    """What is known of the features' values."""

    #: w; 0 where no function of the contexts is known to be constant.
    constant: FloatArray = floats("d")
    #: o.
    origin: FloatArray = floats("d")
    #: 1 for features that have varied and for the column that is the constant, else 0.
    active: FloatArray = floats("d")
    #: The first row.
    first: FloatArray = floats("d")
    #: The column that is the constant; -1 for none.
    column: int = integer()
    #: Features that have had one value so far, the constant among them.
    fixed: int = integer()
    #: Whether rows are other numbers than contexts.
    moved: bool = flag()
    # Scratch: a row, a context that stands for another and whether it does, by how much origins
    # moved, and the constant before.
    row: FloatArray = floats("d")
    context: FloatArray = floats("d")
    stands_in: bool = flag()
    shift: FloatArray = floats("d")
    before: FloatArray = floats("d")


@kernel
def begin(centring: Centring, x: FloatArray) -> None:
    """Take in the first context: no feature has varied."""
    copy(x, centring.first)
    copy(x, centring.origin)
    centring.fixed = x.shape[0]
    centring.column = -1
    choose_column(centring)
    settle_moved(centring)


@kernel
def choose_column(centring: Centring) -> None:
    """Let a column that has had one value be the constant: one of ones if there is any."""
    chosen = -1
    for j in range(centring.first.shape[0]):
        fixed = centring.active[j] == 0.0 and centring.first[j] != 0.0
        better = chosen < 0 or (centring.first[j] == 1.0 and centring.first[chosen] != 1.0)
        if fixed and better:
            chosen = j
    for j in range(centring.first.shape[0]):
        centring.constant[j] = 0.0
        if chosen < 0:
            centring.origin[j] = 0.0
    centring.column = chosen
    if chosen >= 0:
        centring.active[chosen] = 1.0
        centring.origin[chosen] = 0.0
        centring.constant[chosen] = 1.0 / centring.first[chosen]


@kernel
def settle_moved(centring: Centring) -> None:
    """Note whether rows are other numbers than contexts."""
    centring.moved = False
    for j in range(centring.first.shape[0]):
        if centring.active[j] == 0.0 or centring.origin[j] != 0.0:
            centring.moved = True


@inline_kernel
def is_fixed(centring: Centring, j: int) -> bool:
    """Whether feature j has had one value so far."""
    return bool(centring.active[j] == 0.0 or j == centring.column)


@inline_kernel
def is_new(centring: Centring, x: FloatArray) -> bool:
    """Whether a feature varies that has not, or the constant is none any more."""
    column = centring.column
    if column >= 0 and centring.fixed == 1:
        return bool(x[column] != centring.first[column])
    if centring.fixed == 0 and not centring.moved:
        return False
    return shows_more(centring, x)


@kernel
def shows_more(centring: Centring, x: FloatArray) -> bool:
    """The same, for more than one fixed feature, or for dummies."""
    for j in range(x.shape[0]):
        if is_fixed(centring, j) and x[j] != centring.first[j]:
            return True
    dummies = centring.column < 0 and has_origin(centring)
    return bool(dummies and abs(inner(centring.constant, x) - 1.0) > ROUNDING)


@kernel
def has_origin(centring: Centring) -> bool:
    """Whether some feature's origin is not 0."""
    return bool(inner(centring.origin, centring.origin) > 0.0)


@kernel
def take_news(centring: Centring, x: FloatArray) -> None:
    """Note which features vary now. By how much origins moved is in ``shift``, w in ``before``."""
    column = centring.column
    copy(centring.constant, centring.before)
    copy(centring.origin, centring.shift)
    lost = column < 0 and has_origin(centring)
    for j in range(x.shape[0]):
        if is_fixed(centring, j) and x[j] != centring.first[j]:
            centring.active[j] = 1.0
            centring.fixed -= 1
            lost = lost or j == column
    if lost:
        if column >= 0:
            centring.origin[column] = centring.first[column]
        choose_column(centring)
    for j in range(x.shape[0]):
        centring.shift[j] -= centring.origin[j]
    settle_moved(centring)


@kernel
def level(centring: Centring, x: FloatArray) -> float:
    """x'w; 1 also where the column that is the constant varies and another one still is one."""
    column, first = centring.column, centring.first
    if column < 0:
        return inner(centring.constant, x)
    if x[column] == first[column]:
        return 1.0
    for j in range(x.shape[0]):
        if centring.active[j] == 0.0 and first[j] != 0.0 and x[j] == first[j]:
            return 1.0
    return float(x[column] / first[column])


@kernel
def place(centring: Centring, x: FloatArray, out: FloatArray) -> None:
    """The row of a context."""
    at = level(centring, x)
    for j in range(x.shape[0]):
        out[j] = centring.active[j] * (x[j] - centring.origin[j] * at)
    if centring.column >= 0:
        out[centring.column] = centring.first[centring.column] * at


@inline_kernel
def row_of(centring: Centring, x: FloatArray, out: FloatArray) -> FloatArray:
    """The row of a context: itself, or in ``out``."""
    if not centring.moved:
        return x
    place(centring, x, out)
    return out


@inline_kernel
def prepare(centring: Centring, x: FloatArray) -> None:
    """Make the row of a context where it is another, and the context where one stands in for it.

    One does where the column that is the constant varies for the first time.
    """
    if centring.moved:
        place(centring, x, centring.row)
    column = centring.column
    centring.stands_in = column >= 0 and x[column] != centring.first[column]
    if centring.stands_in:
        copy(x, centring.context)
        centring.context[column] = centring.first[column] * level(centring, x)


@kernel
def plan_origins(centring: Centring, means: FloatArray, variances: FloatArray) -> bool:
    """Move origins to means that are far from them; 0 where that is near. Whether any moved.

    ``means`` are those of the rows, ``variances`` 0 where there are none. By how much is in
    ``shift``, w in ``before``. Where there is no constant nothing moves.
    """
    moves = False
    copy(centring.constant, centring.before)
    if not inner(centring.constant, centring.constant) > 0.0:
        settle_moved(centring)
        return False
    for j in range(means.shape[0]):
        centring.shift[j] = 0.0
        if centring.active[j] == 0.0 or centring.constant[j] != 0.0:
            continue
        origin, limit = centring.origin[j], FAR * FAR * variances[j]
        mean = origin + means[j]
        wanted = origin
        if mean * mean <= limit:
            wanted = 0.0
        elif origin == 0.0 or means[j] * means[j] > limit:
            wanted = mean
        centring.shift[j] = origin - wanted
        centring.origin[j] = wanted
        moves = moves or wanted != origin
    settle_moved(centring)
    return moves
