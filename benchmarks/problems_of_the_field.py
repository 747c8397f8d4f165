"""The problems on which the policies are compared: each is here once, in one choice of units.

Rewards × 1000, features × 100 and rewards + 100 make no new problem: what learns units decides
alike in all of them, and ``tests/policies/test_arm_by_arm.py`` asks for that as an equality. *Hard*
problems are those in which something that Figure 2 takes for granted is missing: contexts, features
around zero, rewards that are not rare, noise that is alike for all, the same arms from the first
step to the last (``changing_arms.py``). The others are *ordinary*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from greedyfirst.experiments import figure2
from greedyfirst.problems import (
    ContextDistribution,
    Draw,
    FromArray,
    FromFunction,
    GaussianNoise,
    GaussianParameters,
    GeneralizedLinearProblem,
    LinearProblem,
    ParametersFromFunction,
    TableProblem,
    WithIntercept,
    measure_regrets,
)
from tables_of_the_field import tables

HARD, ORDINARY = "hard", "ordinary"
HORIZON, LONG = 10_000, 20_000
#: No features: a constant alone.
CONSTANT = FromArray(rows=[[1.0]])
UNIT_NOISE, FIGURE_2_NOISE = GaussianNoise(sigma=1.0), GaussianNoise(sigma=figure2.SIGMA)
Rows = np.ndarray
Play = Callable[[np.random.Generator, Rows], tuple[Rows, Rows]]


class Entry(NamedTuple):
    """A problem of the field."""

    problem: Any
    horizon: int
    kind: str


def problems(data_dir: Path | None = None) -> dict[str, Entry]:
    """Every problem of the field by its name; the paper's tables where ``data_dir`` has them."""
    found = {name: Entry(problem, horizon, HARD) for name, problem, horizon in hard()}
    for name, problem, horizon in ordinary():
        found[name] = Entry(problem, horizon, ORDINARY)
    for name, table in tables(data_dir):
        found[name] = Entry(table, table.n_rows, ORDINARY)
    return found


def is_binary(problem: Any) -> bool:
    """Whether all rewards are 0 or 1."""
    return isinstance(problem, (TableProblem, GeneralizedLinearProblem))


def hard() -> Iterator[tuple[str, Any, int]]:
    """Without contexts, in raw units, with rare rewards or uneven noise: name, problem, horizon."""
    yes_no = FromArray(rows=[[1.0, 0.0], [1.0, 1.0]])
    yield "two arms, gap 0.2 sd", linear(CONSTANT, [[1.0], [1.2]], UNIT_NOISE), LONG
    yield "coins, 0.50 and 0.55", clicks(CONSTANT, logit([[0.50], [0.55]])), LONG
    yield "10 arms, noise 3", linear(CONSTANT, 10, GaussianNoise(sigma=3.0)), HORIZON
    yield "50 arms, no contexts", linear(CONSTANT, 50, UNIT_NOISE), HORIZON
    yield "A/B test, yes/no feature", linear(yes_no, [[1.0, 0.5], [1.2, 0.5]], UNIT_NOISE), LONG
    yield "A/B test, groups differ", linear(yes_no, [[1.0, 0.5], [1.2, 0.1]], UNIT_NOISE), LONG
    for mean in (5.0, 17.0, 75.0, 335.0):
        yield f"feature of mean {mean:g} sd", raw_units(2, (mean,), (1.0,)), HORIZON
    patients = raw_units(3, (60.0, 170.0, 75.0, 310.0), (15.0, 10.0, 15.0, 1.0))
    yield "patients, raw units", patients, 3000
    yield "30 in 1 % of cases, or 0", PlayedProblem(CONSTANT, 2, rare), HORIZON
    better = ParametersFromFunction(n_arms=2, n_features=4, draw=one_better_in_each_group)
    yield "clicks of 1 and 3 %, 4 groups", clicks(FromArray(rows=np.eye(4)), better), LONG
    near = GaussianParameters(n_arms=3, mean=[logit(0.01), 0, 0, 0], covariance=0.25)
    yield "clicks of 1 %, features", clicks(figure2.contexts(3, intercept=True), near), LONG
    yield "safe arm, noisy better arm", PlayedProblem(CONSTANT, 2, safe_or_noisy), HORIZON
    yield "noise of t(2)", linear(figure2.contexts(3, intercept=True), 2, StudentNoise()), HORIZON
    normal = WithIntercept(contexts=FromFunction(n_features=1, draw=normal_rows))
    yield "noise of sd exp(x)", PlayedProblem(normal, 2, noise_grows), HORIZON


def ordinary() -> Iterator[tuple[str, Any, int]]:
    """Figure 2, its likes with more arms and features, and awkward features."""
    yield "Figure 2(a)", like_figure2(2, 3), HORIZON
    yield "Figure 2(b)", like_figure2(2, 3, mixture=True), HORIZON
    yield "Figure 2(c)", like_figure2(2, 3, intercept=True), HORIZON
    yield "Figure 2(d)", like_figure2(2, 3, intercept=True, mixture=True), HORIZON
    for n_arms, d in ((5, 3), (5, 7), (5, 15), (10, 5), (50, 5)):
        yield f"K={n_arms}, d={d}", like_figure2(n_arms, d), HORIZON
    sparse = ParametersFromFunction(n_arms=2, n_features=50, draw=three_of_fifty)
    yield "d=50, three matter", linear(figure2.contexts(50, intercept=False), sparse), 5000
    collinear = FromFunction(n_features=6, draw=duplicate_and_sum)
    yield "duplicate, collinear columns", linear(collinear, 2), HORIZON
    for groups in (8, 30):
        yield f"{groups} groups, dummies", linear(FromArray(rows=np.eye(groups)), 3), HORIZON
    yield "groups by Zipf's law", linear(FromFunction(n_features=20, draw=zipf), 3), HORIZON
    heavy = WithIntercept(contexts=FromFunction(n_features=2, draw=cauchy))
    yield "Cauchy features", linear(heavy, 2), HORIZON


def linear(contexts: ContextDistribution, arms: Any, noise: Any = FIGURE_2_NOISE) -> LinearProblem:
    """Linear rewards; arms that are only a number have β ~ N(0, I)."""
    if isinstance(arms, int):
        arms = GaussianParameters(n_arms=arms, mean=np.zeros(contexts.n_features))
    return LinearProblem(contexts=contexts, arms=arms, noise=noise)


def clicks(contexts: ContextDistribution, arms: Any) -> GeneralizedLinearProblem:
    return GeneralizedLinearProblem(contexts=contexts, arms=arms, link="logistic")


def like_figure2(
    n_arms: int, d: int, *, intercept: bool = False, mixture: bool = False
) -> LinearProblem:
    arms = figure2.arm_parameters(n_arms, d, intercept=intercept, mixture=mixture)
    return linear(figure2.contexts(d, intercept=intercept), arms)


def raw_units(
    n_arms: int, means: tuple[float, ...], sds: tuple[float, ...], noise: Any = UNIT_NOISE
) -> LinearProblem:
    """An intercept and normal features as measured; effects N(0, I) of the standardised ones."""
    d = len(means)
    contexts = FromFunction(n_features=d, draw=partial(normal_rows, means=means, sds=sds))
    arms = ParametersFromFunction(
        n_arms=n_arms, n_features=d + 1, draw=partial(raw_effects, n_arms, means, sds)
    )
    return linear(WithIntercept(contexts=contexts), arms, noise)


def raw_effects(
    n_arms: int, means: tuple[float, ...], sds: tuple[float, ...], rng: np.random.Generator
) -> Rows:
    """β of (1, x) that gives a + b'(x - means)/sds, with a and b from N(0, I)."""
    effects = rng.standard_normal((n_arms, len(means) + 1))
    effects[:, 1:] /= sds
    effects[:, 0] -= effects[:, 1:] @ np.asarray(means)
    return effects


@dataclass(frozen=True)
class PlayedProblem:
    """Contexts by a law; ``play(rng, contexts)`` gives expected rewards and rewards."""

    contexts: ContextDistribution
    n_arms: int
    play: Play

    @property
    def n_features(self) -> int:
        return self.contexts.n_features

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        contexts = self.contexts.sample(rng, horizon)
        expected, rewards = self.play(rng, contexts)
        return Draw(contexts=contexts, rewards=rewards, regrets=measure_regrets(expected))


def rare(rng: np.random.Generator, contexts: Rows) -> tuple[Rows, Rows]:
    """Arm 0 pays nothing, arm 1 pays 30 in 1 % of the cases."""
    expected = np.tile([0.0, 0.3], (len(contexts), 1))
    paid = 30.0 * (rng.random(len(contexts)) < 0.01)
    return expected, np.column_stack([np.zeros(len(contexts)), paid])


def safe_or_noisy(rng: np.random.Generator, contexts: Rows) -> tuple[Rows, Rows]:
    """Arm 0 pays 1 ± 0.05, arm 1 pays 1.5 ± 3."""
    expected = np.tile([1.0, 1.5], (len(contexts), 1))
    return expected, expected + rng.standard_normal(expected.shape) * [0.05, 3.0]


def noise_grows(rng: np.random.Generator, contexts: Rows) -> tuple[Rows, Rows]:
    """Linear rewards, β ~ N(0, I), with noise of standard deviation exp(x)."""
    expected = contexts @ rng.standard_normal((contexts.shape[1], 2))
    noise = np.exp(contexts[:, 1]) * rng.standard_normal(len(contexts))
    return expected, expected + noise[:, np.newaxis]


@dataclass(frozen=True)
class StudentNoise:
    """Half of Student's t with two degrees of freedom, which has no variance."""

    sigma: float = math.inf

    def sample(self, rng: np.random.Generator, size: int) -> Rows:
        return 0.5 * rng.standard_t(2.0, size)


def one_better_in_each_group(rng: np.random.Generator) -> Rows:
    """In each of four groups one of two arms, by a fair coin, has 3 %, the other 1 %."""
    first = rng.random(4) < 0.5
    return np.asarray(logit(np.where([first, ~first], 0.03, 0.01)))


def three_of_fifty(rng: np.random.Generator) -> Rows:
    """The same three features matter for both arms."""
    effects = np.zeros((2, 50))
    effects[:, rng.choice(50, 3, replace=False)] = rng.standard_normal((2, 3))
    return effects


def normal_rows(
    rng: np.random.Generator,
    size: int,
    means: tuple[float, ...] = (0.0,),
    sds: tuple[float, ...] = (1.0,),
) -> Rows:
    return np.asarray(means) + np.asarray(sds) * rng.standard_normal((size, len(means)))


def duplicate_and_sum(rng: np.random.Generator, size: int) -> Rows:
    """An intercept, three features, the third again, and the sum of the first two."""
    x = figure2.contexts(3, intercept=True).sample(rng, size)
    return np.column_stack([x, x[:, 3], x[:, 1] + x[:, 2]])


def zipf(rng: np.random.Generator, size: int) -> Rows:
    """Dummies of 20 groups; the share of the n-th is in proportion to 1/n."""
    shares = 1.0 / np.arange(1, 21)
    return np.eye(20)[rng.choice(20, size, p=shares / shares.sum())]


def cauchy(rng: np.random.Generator, size: int) -> Rows:
    """Two features, clipped at ±100: without a bound the mean regret would not exist."""
    return np.clip(rng.standard_cauchy((size, 2)), -100.0, 100.0)
