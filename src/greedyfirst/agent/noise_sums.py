r"""What each arm's rewards tell of their noise, kept beside the policy's state.

Of each arm's rows, with :math:`r = y - x^\top\hat\beta` what is left of a reward,

.. math:: n, \quad \sum r^2, \quad \sum r^4, \quad V = \sum r^2xx^\top .

V makes intervals right where the noise differs with the context (the middle of the sandwich
:math:`G^+VG^+`: White 1980). :math:`(\sum r^2)^2/\sum r^4` is how many tosses of a coin would tell
as much of the noise: few while few rows have most of the squares.

Rows wait in a window until it is full, so that what is left of them is taken by an estimate which
knows at least as many rows; a row then costs a copy, and its share of O(d²). n/(n - d) makes up for
what the estimate fitted of the noise. Decisions do not depend on any of it, and simulations do not
keep it.

Rows of which there are sums only (a file of before, a log learned by its sums) are *missed*: their
Gram matrix and moments are kept, so that intervals can be made of all other rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from greedyfirst.compiling.calls import argument, compiled
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import Record, allocate, flag, floats, integers
from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.models.linear_part import linear_part
from greedyfirst.numerics.vectors import add_multiples, inner
from greedyfirst.validation import FloatArray, IntArray

#: Rows of an arm that wait, and how many of them are added up together.
WINDOW, BLOCK = 64, 16
#: Tosses of a coin that noise must have told as much as: so many, and so many for each e-fold of
#: the rows. Noise of infinite variance keeps a few rows at most at all times; its chance to pass
#: falls with the threshold, which therefore grows with the looks there have been.
LEAST, PER_LOGARITHM = 20.0, 5.0
#: Rare large rewards that another arm has had, an arm may have too: until it would have had so many
#: of them, by a share that may come of four.
EXPECTED = 10.0
# The estimate takes no more than this share of the noise away.
MOST_FITTED = 0.75


def needed(rows: float) -> float:
    """How many tosses of a coin the noise of so many rows must have told as much as.

    Examples
    --------
    >>> from greedyfirst.agent.noise_sums import needed
    >>> needed(30), round(needed(300), 1)
    (20.0, 28.5)
    """
    return max(LEAST, PER_LOGARITHM * math.log(rows)) if rows > 0 else LEAST


class NoiseSums(Record):
    """The sums of all arms."""

    #: Whether they are kept: the policy's model estimates the noise.
    kept: bool = flag()
    #: Rows that wait, their rewards, and how many there are.
    rows: FloatArray = floats("n_arms", WINDOW, "d")
    rewards: FloatArray = floats("n_arms", WINDOW)
    waiting: IntArray = integers("n_arms")
    #: Of those that do not: n, Σr², Σr⁴ and V.
    counted: IntArray = integers("n_arms")
    squares: FloatArray = floats("n_arms")
    fourths: FloatArray = floats("n_arms")
    spread: FloatArray = floats("n_arms", "d", "d")
    #: Rows that are missed, their G and Σxy.
    missed: IntArray = integers("n_arms")
    missed_gram: FloatArray = floats("n_arms", "d", "d")
    missed_moment: FloatArray = floats("n_arms", "d")


class ArmNoise(NamedTuple):
    """What is known of the noise of one arm's rows, or of a group's."""

    rows: int
    squares: float
    fourths: float
    spread: FloatArray  # (d, d)
    #: Rows that are in no sum.
    missed: int = 0
    #: Whether all rewards were alike, or fitted without rest.
    alike: bool = False
    #: The rows of each arm for one toss of a coin, where they are most.
    rarest: float = 0.0

    @property
    def informative(self) -> float:
        """How many tosses of a coin would tell as much of the noise."""
        return 0.0 if self.alike or not self.fourths > 0 else self.squares**2 / self.fourths

    @property
    def is_known(self) -> bool:
        """Whether that is enough for intervals."""
        enough = self.informative >= needed(self.rows)
        return enough and self.rows >= EXPECTED * self.rarest

    @property
    def why_not(self) -> str:
        """Why it is not, for people."""
        if self.rows == 0:
            return "it has no rewards to estimate noise from"
        if self.alike:
            return (
                f"its {self.rows:,} rewards show no noise: they are all alike, or hardly more than "
                "the features"
            )
        if self.informative >= needed(self.rows):
            return (
                "other arms have had rare large rewards, and it would have had fewer than "
                f"{EXPECTED:.0f} such among its {self.rows:,}"
            )
        return (
            f"its {self.rows:,} rewards tell as much of their noise as {self.informative:.0f} "
            f"tosses of a coin, of the {needed(self.rows):.0f} that it takes"
        )


def together(noise: Iterable[ArmNoise]) -> tuple[ArmNoise, ...]:
    """The noise of arms that have it alike until they show that they have not."""
    arms = tuple(noise)
    rarest = max((arm.rows / arm.informative for arm in arms if arm.informative > 0), default=0.0)
    return tuple(arm._replace(rarest=rarest) for arm in arms)


def new_noise(state: Any, n_arms: int, d: int) -> tuple[np.ndarray, NoiseSums]:
    """The buffer and sums of a policy with this state."""
    if not isinstance(linear_model_of(state), (LearnedRidge, FirstRidge)):
        return no_noise()
    buffer, noise = allocate(lambda memory: NoiseSums(memory, n_arms=n_arms, d=d))
    noise.kept = True
    return buffer, noise


def no_noise() -> tuple[np.ndarray, NoiseSums]:
    """The buffer and sums of who keeps none."""
    return allocate(lambda memory: NoiseSums(memory, n_arms=1, d=1))


def fitted_share(d: int, rows: Any) -> Any:
    """The share of the noise that an estimate of d coefficients takes away from so many rows."""
    return np.minimum(d / np.maximum(rows, 1), MOST_FITTED)


def linear_model_of(state: Any) -> LeastSquares | LearnedRidge | FirstRidge | None:
    """The model with the sums of all rows; None where the policy keeps none."""
    model: Any = getattr(getattr(state, "greedy", state), "model", None)
    if isinstance(model, (LearnedRidge, FirstRidge)):
        return model
    linear = linear_part(model)
    return linear if isinstance(linear, LeastSquares) and not hasattr(model, "link") else None


def moments_of(model: Any) -> FloatArray:
    """Σxy of each arm (n_arms, d)."""
    if hasattr(model, "reference"):
        moments: FloatArray = model.context_moment + model.gram @ model.reference
        return moments
    return np.asarray(model.moment)


def folding(noise: NoiseSums, state: Any) -> Callable[[int], None]:
    """What takes an arm's waiting rows into its sums, if its window is full."""
    estimate = linear_model_of(state).estimate  # type: ignore[union-attr]
    fold, given = compiled(_fold, noise, estimate, 0), argument(noise)
    return lambda arm: fold(given, estimate, arm)


@entry
def _fold(noise: NoiseSums, estimate: FloatArray, arm: int) -> None:
    rows, rewards, spread = noise.rows[arm], noise.rewards[arm], noise.spread[arm]
    if noise.waiting[arm] < WINDOW:
        return
    noise.waiting[arm] = 0
    noise.counted[arm] += WINDOW
    fitted = min(estimate.shape[1] / noise.counted[arm], MOST_FITTED)
    for k in range(WINDOW):
        left = rewards[k] - inner(estimate[arm], rows[k])
        rewards[k] = left * left / (1.0 - fitted)
        noise.squares[arm] += rewards[k]
        noise.fourths[arm] += rewards[k] * rewards[k]
    # Four rows at once cost little more than one, and a block of them stays in the nearest cache.
    for block in range(0, WINDOW, BLOCK):
        for i in range(spread.shape[0]):
            for k in range(block, block + BLOCK, 4):
                four = (rows[k], rows[k + 1], rows[k + 2], rows[k + 3])
                weights = (
                    rewards[k] * four[0][i],
                    rewards[k + 1] * four[1][i],
                    rewards[k + 2] * four[2][i],
                    rewards[k + 3] * four[3][i],
                )
                add_multiples(spread[i, : i + 1], weights, four)


def sums_of(model: Any) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rows, G and Σxy of each arm now."""
    return model.pulls.copy(), model.gram, moments_of(model)


def miss(
    noise: NoiseSums, model: Any, before: tuple[IntArray, FloatArray, FloatArray] | None = None
) -> None:
    """Note what the model has learned since ``before`` as missed; all that it has, without."""
    pulls, gram, moments = sums_of(model)
    if before is not None:
        pulls, gram, moments = pulls - before[0], gram - before[1], moments - before[2]
    noise.missed += pulls
    noise.missed_gram += gram
    noise.missed_moment += moments


def noise_of_arm(noise: NoiseSums, arm: int, fit: FloatArray, alike: bool) -> ArmNoise:
    """What is known of an arm's noise, the waiting rows' by the fit (d,) to all counted ones."""
    n, d = int(noise.waiting[arm]), len(fit)
    rows, rewards = noise.rows[arm, :n], noise.rewards[arm, :n]
    counted = int(noise.counted[arm]) + n
    fitted = float(fitted_share(d, counted))
    lower = np.tril(noise.spread[arm])
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not known
        squares = (rewards - rows @ fit) ** 2 / (1.0 - fitted)
        total, fourths = squares.sum(), (squares**2).sum()
        spread = lower + np.tril(lower, -1).T + (rows.T * squares) @ rows
    return ArmNoise(
        rows=counted,
        squares=float(noise.squares[arm] + total),
        fourths=float(noise.fourths[arm] + fourths),
        spread=spread,
        missed=int(noise.missed[arm]),
        alike=alike,
    )
