r"""Plausible effects: laws of the arms' coefficients, stated in units of the outcome.

With x̄ and s the features' means and standard deviations, an arm's outcome for context x is

.. math:: x^\top\beta_k = m_k + \sum_j u_{kj}\,\frac{x_j - \bar x_j}{s_j} ,

so that m_k is the arm's mean outcome over people, and u_kj what one standard deviation of feature j
adds to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.planning.population import Population
from greedyfirst.problems import ArmParameters, FixedParameters, ParametersFromFunction
from greedyfirst.validation import FloatArray, array, number, whole_number, wrong


@dataclass(frozen=True, kw_only=True, eq=False)
class Effects:
    """A law of the arms' coefficients, drawn anew for each simulated trial.

    Attributes
    ----------
    arms : arm parameters
        The law.
    scale : float
        The size of a difference between arms that is worth finding, in units of the outcome.
    description : str
        In words, for the list of assumptions.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population, random_effects
    >>> effects = random_effects(normal_population(3), n_arms=2, effect=0.5)
    >>> effects.n_arms, effects.scale
    (2, 0.5)
    """

    arms: ArmParameters
    scale: float
    description: str

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        return self.arms.n_arms


def random_effects(
    population: Population, *, n_arms: int, effect: float, interaction: float | None = None
) -> Effects:
    r"""Arms that differ at random: m_k ~ N(0, effect²), u_kj ~ N(0, interaction²/d).

    Parameters
    ----------
    population
        The people; d is the number of their features that vary.
    n_arms
        The number of arms K.
    effect
        The standard deviation of the arms' mean outcomes. Half of all pairs of arms then differ by
        less than 0.95 · effect on average.
    interaction
        The standard deviation, over people, of what the features add to an arm's outcome; None is
        ``effect``. 0: every person has the same best arm.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population, random_effects
    >>> random_effects(normal_population(2), n_arms=3, effect=0.5).n_arms
    3
    """
    effect = number("effect", effect, above=0)
    interaction = _interaction(interaction, effect)

    def draw_means(rng: np.random.Generator) -> FloatArray:
        return effect * rng.standard_normal(n_arms)

    return Effects(
        arms=_law(population, n_arms, draw_means, interaction),
        scale=effect,
        description=f"The arms' mean outcomes are drawn from a normal law of standard deviation "
        f"{effect:g}, anew in each simulated trial. {_described(interaction)}",
    )


def least_difference(
    population: Population, *, n_arms: int, difference: float, interaction: float | None = None
) -> Effects:
    """One arm is better than all others by ``difference`` on average; the others are equal.

    Of all arms whose best is ahead by at least this difference, these make it hardest to find: the
    least favourable configuration. Which arm it is, is drawn for each trial.

    Parameters
    ----------
    population, n_arms, interaction
        As in :func:`random_effects`; an ``interaction`` of None is ``difference``.
    difference
        The smallest difference of mean outcomes that matters.

    Examples
    --------
    >>> from greedyfirst.planning import least_difference, normal_population
    >>> least_difference(normal_population(2), n_arms=3, difference=0.4).scale
    0.4
    """
    difference = number("difference", difference, above=0)
    interaction = _interaction(interaction, difference)

    def draw_means(rng: np.random.Generator) -> FloatArray:
        means = np.zeros(n_arms)
        means[rng.integers(n_arms)] = difference
        return means

    return Effects(
        arms=_law(population, n_arms, draw_means, interaction),
        scale=difference,
        description=f"One arm is better than each other by {difference:g} on average, the others "
        f"are equal; which one it is, is drawn anew in each trial. {_described(interaction)}",
    )


def given_effects(population: Population, coefficients: ArrayLike) -> Effects:
    """The same coefficients (n_arms, n_features) in every trial, the intercept's first.

    Examples
    --------
    >>> from greedyfirst.planning import given_effects, normal_population
    >>> given_effects(normal_population(1), [[0.0, 1.0], [0.5, 0.0]]).n_arms
    2
    """
    d = population.n_features
    beta = array("coefficients", coefficients, (None, d))
    if len(beta) < 2:
        raise wrong("coefficients", beta.shape, "a row for each of 2 or more arms")
    second, best = np.sort(beta @ population.mean)[-2:]
    return Effects(
        arms=FixedParameters(parameters=beta),
        scale=float(best - second),
        description=f"The coefficients of the {len(beta)} arms are given, and the same in each "
        f"trial; on average the best arm is ahead of the second by {best - second:.3g}.",
    )


def _law(
    population: Population,
    n_arms: int,
    draw_means: Callable[[np.random.Generator], FloatArray],
    interaction: float,
) -> ArmParameters:
    whole_number("n_arms", n_arms, at_least=2)
    varying = population.deviation > 0
    deviation = interaction / math.sqrt(max(int(varying.sum()), 1))
    per_unit = np.zeros(population.n_features)
    per_unit[varying] = deviation / population.deviation[varying]

    def draw(rng: np.random.Generator) -> FloatArray:
        means = draw_means(rng)
        beta = per_unit * rng.standard_normal((n_arms, len(per_unit)))
        beta[:, 0] = means - beta @ population.mean
        return beta

    return ParametersFromFunction(n_arms=n_arms, n_features=len(per_unit), draw=draw)


def _interaction(interaction: float | None, otherwise: float) -> float:
    return otherwise if interaction is None else number("interaction", interaction, at_least=0)


def _described(interaction: float) -> str:
    if interaction == 0:
        return "The features change nothing: every person has the same best arm."
    return (
        "Features act on each arm's outcome in their own way: over people, what they add has a "
        f"standard deviation of {interaction:g}, spread evenly over the features and normal."
    )
