"""Problems drawn at random, on which no constant of the library was chosen.

Sizes, units and noise are drawn once for a problem, over orders of magnitude; the arms' effects
anew for each instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logit

from problems_of_the_field import Entry, PlayedProblem, clicks, linear

RANDOM = "random"
FEATURES = ("normal", "uniform", "exponential", "yes/no")
EVEN_NOISE = ("normal", "two-point", "t(3)", "exponential", "rare")
UNEVEN_NOISE = ("by arm", "by context")
CLICKS = "clicks"
#: Of noise that is rare: how often it is high.
RARE = 0.02


def random_problems(seed: int, count: int) -> dict[str, Entry]:
    """The first ``count`` problems of a seed; more of them change none of the first."""
    found = {}
    for number in range(1, count + 1):
        words, problem, horizon = random_problem(np.random.default_rng([seed, number]))
        found[f"{number}: {words}"] = Entry(problem, horizon, RANDOM)
    return found


def magnitude(rng: np.random.Generator, low: float, high: float, size: Any = None) -> Any:
    """Log-uniform numbers."""
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def random_problem(rng: np.random.Generator) -> tuple[str, Any, int]:
    """What it is in words, the problem, its horizon."""
    n_arms, d = round(magnitude(rng, 2, 20)), int(rng.integers(1, 16))
    horizon = round(magnitude(rng, 1000, 50_000))
    intercept = bool(rng.random() < 0.75)
    noise = str(rng.choice([*EVEN_NOISE, *UNEVEN_NOISE, CLICKS, CLICKS]))
    contexts = random_features(rng, d, intercept)
    levels, effects, shared = magnitude(rng, 0.03, 3.0, 3)
    chance = magnitude(rng, 0.01, 0.5)
    scale = 1.0 if noise == CLICKS else magnitude(rng, 1e-3, 1e3)
    shift = rng.normal(scale=magnitude(rng, 0.1, 100.0)) if rng.random() < 0.5 else 0.0
    arms = RandomEffects(
        contexts=contexts,
        n_arms=n_arms,
        levels=levels,
        effects=effects,
        shared=shared,
        shift=float(logit(chance)) if noise == CLICKS else shift,
        scale=scale,
    )
    problem: Any
    if noise == CLICKS:
        problem = clicks(contexts, arms)
    elif noise in EVEN_NOISE:
        problem = linear(contexts, arms, EvenNoise(noise, scale))
    else:
        sds = scale * magnitude(rng, 0.03, 3.0, n_arms)
        problem = PlayedProblem(contexts, n_arms, partial(uneven, arms, noise, sds))
    kind = contexts.law if contexts.means else "no"
    constant = ", intercept" if intercept else ""
    words = f"K={n_arms}, d={d}{constant}, {kind} features, {noise} noise, T={horizon}"
    return words.replace("clicks noise", "clicks"), problem, horizon


@dataclass(frozen=True)
class RandomFeatures:
    """Independent features of one law, in units of their own, behind an intercept or not."""

    law: str
    means: tuple[float, ...]
    sds: tuple[float, ...]
    intercept: bool

    @property
    def n_features(self) -> int:
        return len(self.means) + self.intercept

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        shape = (size, len(self.means))
        if self.law == "normal":
            standard = rng.standard_normal(shape)
        elif self.law == "uniform":
            standard = rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
        elif self.law == "exponential":
            standard = rng.standard_exponential(shape) - 1.0
        else:
            standard = rng.choice([-1.0, 1.0], shape)
        features = np.asarray(self.means) + np.asarray(self.sds) * standard
        return np.column_stack([np.ones(size), features]) if self.intercept else features


def random_features(rng: np.random.Generator, d: int, intercept: bool) -> RandomFeatures:
    """Standard deviations of 0.001 to 1000; means of zero, or of 0.1 to 300 of these."""
    n = d - intercept
    sds = magnitude(rng, 1e-3, 1e3, n)
    means = rng.choice([-1.0, 1.0], n) * magnitude(rng, 0.1, 300.0, n) * sds
    if rng.random() < 0.5:
        means *= 0.0
    return RandomFeatures(str(rng.choice(FEATURES)), tuple(means), tuple(sds), intercept)


@dataclass(frozen=True)
class RandomEffects:
    """Normal effects of the standardised features, in the units of contexts and rewards.

    In units of the noise: ``shift`` is every arm's level; ``levels``, ``effects`` and ``shared``
    are standard deviations of the arms' own levels, of their own effects and of effects that all
    share. Without an intercept features are divided by their root mean square and not centred.
    """

    contexts: RandomFeatures
    n_arms: int
    levels: float
    effects: float
    shared: float
    shift: float
    scale: float

    @property
    def n_features(self) -> int:
        return self.contexts.n_features

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        means, sds = np.asarray(self.contexts.means), np.asarray(self.contexts.sds)
        n = len(means)
        own = self.effects * rng.standard_normal((self.n_arms, n))
        slopes = (own + self.shared * rng.standard_normal(n)) / np.sqrt(max(n, 1))
        if not self.contexts.intercept:
            return self.scale * slopes / np.hypot(means, sds)
        slopes /= sds
        levels = self.shift + self.levels * rng.standard_normal(self.n_arms)
        return self.scale * np.column_stack([levels - slopes @ means, slopes])


@dataclass(frozen=True)
class EvenNoise:
    """Noise of mean 0 and standard deviation ``sigma``, the same for all arms and contexts."""

    kind: str
    sigma: float

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        if self.kind == "normal":
            standard = rng.standard_normal(size)
        elif self.kind == "two-point":
            standard = rng.choice([-1.0, 1.0], size)
        elif self.kind == "t(3)":
            standard = rng.standard_t(3, size) / np.sqrt(3)
        elif self.kind == "exponential":
            standard = rng.standard_exponential(size) - 1.0
        else:
            standard = ((rng.random(size) < RARE) - RARE) / np.sqrt(RARE * (1 - RARE))
        return self.sigma * standard


def uneven(
    arms: RandomEffects,
    kind: str,
    sds: np.ndarray,
    rng: np.random.Generator,
    contexts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Linear rewards with normal noise of standard deviations that differ."""
    expected = contexts @ arms.sample(rng).T
    noise = rng.standard_normal(len(contexts))[:, np.newaxis] * sds
    if kind == "by context" and arms.contexts.means:
        first = contexts[:, int(arms.contexts.intercept)]
        standard = (first - arms.contexts.means[0]) / arms.contexts.sds[0]
        noise = noise[:, :1] * np.exp(np.clip(standard, -3.0, 3.0))[:, np.newaxis]
    return expected, expected + noise
