r"""What one simulated trial tells: intervals, people on worse arms, what is recommended at the end.

The interval is that of plain least squares, arm by arm, for the difference of mean outcomes
between the arm that is truly best on average and the second:

.. math:: \bar x^\top(\hat\beta_a - \hat\beta_b) \pm t_{0.975,\nu}\,\hat\sigma
          \sqrt{\bar x^\top(G_a^{-1} + G_b^{-1})\bar x} ,

with x̄ the mean context, σ̂² the residual variance of all arms together and ν its degrees of freedom.
It takes the arms' samples as if they had been chosen beforehand. In a fixed trial they were; a
policy's data chose itself, so that the interval may be wrong more often than it says, and
the error itself is measured beside it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from greedyfirst.agent import Agent
from greedyfirst.planning.population import Population
from greedyfirst.policies import GreedyFirst, Policy
from greedyfirst.problems import LinearProblem
from greedyfirst.simulation.episode import SmallIntArray
from greedyfirst.validation import BoolArray, FloatArray, IntArray, wrong

LEVEL = 0.95
#: New people for whom a trial's recommendation is tried.
NEW_PEOPLE = 200
# Smallest eigenvalue, per sample, of a Gram matrix of uncorrelated coordinates that is no rounding.
SINGULAR = 1e-9
# Mean outcomes that differ by less, relative to their size, are equal but for rounding.
EQUAL = 1e-12


class Measures(NamedTuple):
    """One trial with one design."""

    #: Of the interval; infinite where least squares has no estimate of the difference.
    width: float
    #: |estimate - truth| of the difference; infinite where there is no estimate.
    error: float
    #: Whether the interval holds the truth; NaN where there is none.
    covered: float
    #: The share of people on an arm that is not best for them, or not best on average.
    not_best: float
    worse_on_average: float
    #: Expected outcome lost in all, against everybody's best arm.
    regret: float
    #: Whether some arm starves at the end, by Greedy-First's own rule.
    starving: float
    #: The chance that the arm with the highest estimated mean is best on average, and that a new
    #: person is recommended the arm that is best for them.
    right_arm: float
    right_person: float


class Truth(NamedTuple):
    """What a trial does not know."""

    parameters: FloatArray  # (n_arms, n_features)
    best: BoolArray  # (n_arms,) best on average; several if they are equal
    pair: tuple[int, int]  # the best on average, and the second
    difference: float  # of their mean outcomes


class Trials:
    """Measures simulated trials of one size; draws are those that :func:`simulate` has played."""

    def __init__(
        self,
        problem: LinearProblem,
        population: Population,
        policy: Policy,
        *,
        people: int,
        seed: int,
    ) -> None:
        self.problem, self.population, self.policy = problem, population, policy
        self.people, self.seed = people, seed
        self.fixed = np.arange(people) % problem.n_arms
        self.adaptive: list[Measures] = []
        self.randomised: list[Measures] = []
        #: Per trial: the true difference of the two best arms on average, and the share of people
        #: whose best arm is another than the best on average.
        self.differences: list[float] = []
        self.differing: list[float] = []
        self._new_agent()

    def _new_agent(self) -> None:
        n_arms, n_features = self.problem.n_arms, self.problem.n_features
        self._agent = Agent(self.policy, n_arms=n_arms, n_features=n_features, seed=0)
        self._fresh = self._agent.buffer.copy()
        if getattr(self._agent.state, "model", None) is None:
            raise wrong("policy", self.policy, "one that keeps a model, for the recommendation")
        judges = isinstance(self.policy, GreedyFirst) and self.policy.arm_by_arm()
        self._judge = (
            self._agent if judges else Agent(GreedyFirst(), n_arms=n_arms, n_features=n_features)
        )
        self._unjudged = self._judge.buffer.copy()

    def add(self, instance: int, arms: SmallIntArray) -> None:
        """The decisions (1, people) of one trial."""
        source = np.random.SeedSequence(self.seed, spawn_key=(instance,))
        contexts, rewards, regrets = self.problem.draw(np.random.default_rng(source), self.people)
        parameters = self.problem.draw_parameters(np.random.default_rng(source))
        truth = find_truth(parameters, self.population.mean)
        self.differences.append(truth.difference)
        self.differing.append(float((regrets[:, truth.best].min(axis=1) > 0).mean()))
        later = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(instance, 1)))
        new = self.population.contexts.sample(later, NEW_PEOPLE)
        coordinates = self.population.coordinates(contexts)
        for measured, taken in ((self.adaptive, arms[0]), (self.randomised, self.fixed)):
            chosen = taken.astype(np.int64)
            steps = np.arange(len(chosen))
            seen, lost = rewards[steps, chosen], regrets[steps, chosen]
            estimates = self._estimates(contexts, chosen, seen)
            starving = self._starving(contexts, chosen, seen)
            measured.append(
                Measures(
                    *interval(coordinates, chosen, seen, truth),
                    not_best=float((lost > 0).mean()),
                    worse_on_average=float((~truth.best[chosen]).mean()),
                    regret=float(lost.sum()),
                    starving=float(starving),
                    right_arm=_chance(estimates @ self.population.mean, truth.best),
                    right_person=_right_share(new, estimates, truth.parameters),
                )
            )

    def _estimates(self, contexts: FloatArray, arms: IntArray, rewards: FloatArray) -> FloatArray:
        """What the policy learns from these rows (n_arms, n_features), whoever chose the arms."""
        if len(self._agent.buffer) != len(self._fresh):  # it has made room for more rows
            self._new_agent()
        self._agent.buffer[:] = self._fresh
        self._agent.foreign = 0
        self._agent.update_many(contexts, arms, rewards)
        estimates: FloatArray = self._agent.state.model.estimate
        return estimates

    def _starving(self, contexts: FloatArray, arms: IntArray, rewards: FloatArray) -> bool:
        """Whether Greedy-First would say of these rows, which the policy's agent has, so.

        That is the policy itself if it explores arm by arm, else ``GreedyFirst()``.
        """
        judge = self._judge
        if judge is not self._agent:
            judge.buffer[:] = self._unjudged
            judge.foreign = 0
            judge.update_many(contexts, arms, rewards)
        return has_starving_arm(judge)


def find_truth(parameters: FloatArray, mean: FloatArray) -> Truth:
    """Which arm is best on average, and by how much."""
    outcomes = parameters @ mean
    first, second = np.argsort(-outcomes, kind="stable")[:2]
    rounding = EQUAL * max(float(np.abs(outcomes).max()), 1.0)
    return Truth(
        parameters=parameters,
        best=outcomes >= outcomes[first] - rounding,
        pair=(int(first), int(second)),
        difference=float(outcomes[first] - outcomes[second]),
    )


def interval(
    coordinates: FloatArray, arms: IntArray, rewards: FloatArray, truth: Truth
) -> tuple[float, float, float]:
    """Width, absolute error and whether the truth is inside, in coordinates of the population."""
    rank = coordinates.shape[1]
    estimate, factor = {}, {}
    squares, freedom = 0.0, 0
    for arm in range(len(truth.best)):
        rows, seen = coordinates[arms == arm], rewards[arms == arm]
        if len(rows) < rank:
            continue
        gram = rows.T @ rows
        values, vectors = np.linalg.eigh(gram)
        if values[0] < SINGULAR * len(rows):
            continue
        beta = vectors @ ((vectors.T @ (rows.T @ seen)) / values)
        residuals = seen - rows @ beta
        squares += float(residuals @ residuals)
        freedom += len(rows) - rank
        estimate[arm], factor[arm] = beta[0], float((vectors[0] ** 2 / values).sum())
    a, b = truth.pair
    if a not in estimate or b not in estimate:
        return math.inf, math.inf, math.nan
    error = abs(float(estimate[a] - estimate[b]) - truth.difference)
    if freedom == 0:
        return math.inf, error, math.nan
    deviation = math.sqrt(squares / freedom * (factor[a] + factor[b]))
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * deviation
    return 2 * half, error, float(error <= half)


def has_starving_arm(agent: Agent) -> bool:
    """Whether some arm lacks the share that it needs, of a policy that explores arm by arm."""
    measured = agent.state.watch.measured(agent.state.greedy.model, agent.dropped)
    return bool((measured.shares < measured.needed).any())


def _chance(values: FloatArray, right: BoolArray) -> float:
    """The chance that the highest value is a right one, ties broken at random."""
    highest = values == values.max()
    return float(right[highest].mean())


def _right_share(contexts: FloatArray, estimates: FloatArray, parameters: FloatArray) -> float:
    """The share of contexts whose best arm has the highest estimate, ties broken at random."""
    guessed, true = contexts @ estimates.T, contexts @ parameters.T
    highest = guessed == guessed.max(axis=1, keepdims=True)
    rounding = EQUAL * np.maximum(np.abs(true).max(axis=1, keepdims=True), 1.0)
    best = true >= true.max(axis=1, keepdims=True) - rounding
    return float(((highest & best).sum(axis=1) / highest.sum(axis=1)).mean())
