r"""Sums of many rows at once: all that linear models learn from them, in whatever order they came.

Rows are added four at a time, in their order, so that the sums of a block of rows are the same
bits wherever they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry, kernel
from greedyfirst.models.span import TOLERANCE
from greedyfirst.numerics.vectors import add_multiple, add_multiples, inner
from greedyfirst.validation import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Expected:
    """What is known of the rows before they are read: it saves digits and second readings.

    Attributes
    ----------
    reference : (d,)
        b: rewards are summed less x'b, so that a large constant in all of them costs no digits.
    complements : n_arms + 1 arrays (·, d)
        For each arm, and for all arms together, the directions that no row has had yet; empty where
        every direction has been seen.
    phase : int
        Of the state that this is known from: spans of another phase say nothing.
    """

    reference: FloatArray
    complements: Sequence[FloatArray]
    phase: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSums:
    """Sums over a block of rows, by arm."""

    rows: int
    #: Rows (n_arms,), Σxx' (n_arms, d, d) and Σx (n_arms, d).
    pulls: IntArray
    gram: FloatArray
    total: FloatArray
    #: Σx(y - x'b) (n_arms, d) and Σ(y - x'b)² (n_arms,).
    moment: FloatArray
    squares: FloatArray
    #: The largest |x| by feature (n_arms, d).
    largest: FloatArray
    #: The mean of all rewards, and their squares about it.
    reward_mean: float
    reward_squares: float
    #: Whether every row of the arm, and of all arms (the last), was in the span that was expected.
    inside: Sequence[bool]
    expected: Expected
    #: Blocks of rows that these are the sums of.
    blocks: int = 1

    def merged(self, other: RowSums) -> RowSums:
        """The sums of these rows and of those that follow, with the same ``expected``."""
        rows, change = self.rows + other.rows, other.reward_mean - self.reward_mean
        share = other.rows / rows
        return RowSums(
            rows=rows,
            pulls=self.pulls + other.pulls,
            gram=self.gram + other.gram,
            total=self.total + other.total,
            moment=self.moment + other.moment,
            squares=self.squares + other.squares,
            largest=np.maximum(self.largest, other.largest),
            reward_mean=self.reward_mean + change * share,
            reward_squares=self.reward_squares
            + other.reward_squares
            + change**2 * self.rows * share,
            inside=[one and two for one, two in zip(self.inside, other.inside, strict=True)],
            expected=self.expected,
            blocks=self.blocks + other.blocks,
        )

    def moment_about(self, reference: FloatArray) -> FloatArray:
        """Σx(y - x'b) (n_arms, d) for another b."""
        moved: FloatArray = self.moment - self.gram @ (reference - self.expected.reference)
        return moved

    def squares_about(self, reference: FloatArray) -> FloatArray:
        """Σ(y - x'b)² (n_arms,) for another b."""
        change = reference - self.expected.reference
        moved = self.squares - 2.0 * self.moment @ change + self.gram @ change @ change
        return np.maximum(moved, 0.0)

    def is_inside(self, arm: int, phase: int) -> bool:
        """Whether the arm's rows show no direction that was not expected in this phase."""
        return self.inside[arm] and self.expected.phase == phase


def add_up(
    columns: FloatArray, arms: IntArray, rewards: FloatArray, n_arms: int, expected: Expected
) -> RowSums:
    """The sums of rows whose features are ``columns`` (d, n): O(nd²), without Python's lock."""
    d, n = columns.shape
    pulls = np.zeros(n_arms, np.int64)
    gram, waiting = np.zeros((n_arms, d, d)), np.zeros((n_arms, 4, d))
    total, moment, largest = (np.zeros((n_arms, d)) for _ in range(3))
    squares = np.zeros(n_arms)
    sums = pulls, gram, total, moment, squares, largest
    run(_add_up, columns, arms, rewards, expected.reference, *sums, waiting)
    mean = float(rewards.mean()) if n else 0.0
    return RowSums(
        rows=n,
        pulls=pulls,
        gram=gram,
        total=total,
        moment=moment,
        squares=squares,
        largest=largest,
        reward_mean=mean,
        reward_squares=float(((rewards - mean) ** 2).sum()),
        inside=_inside(columns, arms, expected.complements),
        expected=expected,
    )


def _inside(
    columns: FloatArray, arms: IntArray, complements: Sequence[FloatArray]
) -> tuple[bool, ...]:
    """Whether the rows of each arm, and all rows, are in the span that has these complements."""
    found = []
    for arm, outside in enumerate(complements):
        inside = True
        if len(outside):
            own = columns if arm == len(complements) - 1 else columns[:, arms == arm]
            beyond = ((outside @ own) ** 2).sum(axis=0)
            inside = bool((beyond <= TOLERANCE**2 * (own**2).sum(axis=0)).all())
        found.append(inside)
    return tuple(found)


@entry
def _add_up(
    columns: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
    reference: FloatArray,
    pulls: IntArray,
    gram: FloatArray,
    total: FloatArray,
    moment: FloatArray,
    squares: FloatArray,
    largest: FloatArray,
    waiting: FloatArray,
) -> None:
    """All sums; ``waiting`` (n_arms, 4, d) holds rows until there are four of an arm."""
    d, n = columns.shape
    for row in range(n):
        arm = arms[row]
        place = pulls[arm] % 4
        x, most = waiting[arm, place], largest[arm]
        for i in range(d):
            x[i] = columns[i, row]
        for i in range(d):
            most[i] = max(most[i], abs(x[i]))
        excess = rewards[row] - inner(reference, x)
        add_multiple(total[arm], 1.0, x)
        add_multiple(moment[arm], excess, x)
        squares[arm] += excess * excess
        pulls[arm] += 1
        if place == 3:
            add_four(gram[arm], waiting[arm])
    for arm in range(pulls.shape[0]):
        left = pulls[arm] % 4
        if left > 0:
            for place in range(left, 4):
                for i in range(d):
                    waiting[arm, place, i] = 0.0
            add_four(gram[arm], waiting[arm])


@kernel
def add_four(gram: FloatArray, rows: FloatArray) -> None:
    """Add the outer products of four rows."""
    four = (rows[0], rows[1], rows[2], rows[3])
    for i in range(gram.shape[0]):
        add_multiples(gram[i], (four[0][i], four[1][i], four[2][i], four[3][i]), four)
