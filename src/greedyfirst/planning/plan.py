"""Before a trial starts: how many people, and how many of them on a worse arm?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from greedyfirst.links import Identity
from greedyfirst.planning.effects import Effects
from greedyfirst.planning.measures import Trials
from greedyfirst.planning.population import Population
from greedyfirst.planning.summary import (
    interpolate,
    likely_range,
    mean,
    people_until,
    summarise,
    with_errors,
)
from greedyfirst.policies import GreedyFirst, Policy
from greedyfirst.problems import GaussianNoise, LinearProblem
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.validation import number, whole_number, wrong

if TYPE_CHECKING:
    import pandas

PEOPLE = (100, 200, 500, 1000)
TRIALS = 1000
#: The two designs.
ADAPTIVE, FIXED = "policy", "fixed"


class PeopleNeeded(NamedTuple):
    """A number of people, and the least and the most that Monte Carlo error allows (95 %).

    Infinite: more than the largest size.
    """

    about: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What simulated trials say, for each size and for two designs: the policy, a fixed trial.

    Attributes
    ----------
    frame : DataFrame
        A row per size and design; ``greedyfirst.planning.plan.MEANINGS`` says what the columns
        are. Each number's Monte Carlo standard error is in the column of its name and ``_se``.
    people : tuple of int
        The sizes.
    width : float
        The width of the interval that is wanted.
    difference : float
        The median, over trials, of the true difference between the best two arms on average.
    differing : float
        The share of people whose best arm is another than the best on average.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population, plan_trial, random_effects
    >>> people = normal_population(1)
    >>> effects = random_effects(people, n_arms=2, effect=0.5)
    >>> plan = plan_trial(people, effects, people=[50, 100], trials=20, n_jobs=1)
    >>> plan.people, len(plan.frame)  # a row for each size and design
    ((50, 100), 4)
    """

    population: Population
    effects: Effects
    noise: float
    policy: Policy
    people: tuple[int, ...]
    width: float
    trials: int
    seed: int
    frame: pandas.DataFrame
    difference: float
    differing: float

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.people))
        return f"Plan({self.policy!r}, people {sizes}: {self.trials} trials, seed {self.seed})"

    @property
    def names(self) -> dict[str, str]:
        """The designs, as people read them."""
        return {ADAPTIVE: type(self.policy).__name__, FIXED: "fixed trial"}

    def row(self, people: int, design: str) -> dict[str, float]:
        """The numbers of one size and design."""
        place = 2 * self.people.index(people) + (ADAPTIVE, FIXED).index(design)
        found: dict[str, float] = self.frame.iloc[place].to_dict()
        return found

    def people_needed(self, design: str, *, by: str) -> PeopleNeeded:
        """People until the difference between the best two arms is known as well as is wanted.

        Parameters
        ----------
        design
            ``ADAPTIVE`` or ``FIXED``.
        by
            "width": the median interval has the wanted width. "error": 95 % of the estimates are
            within half of it of the truth. Where intervals hold the truth as often as they say,
            the two agree.
        """
        column, wanted = {"width": ("width", self.width), "error": ("error_95", self.width / 2)}[by]
        rows = [self.row(size, design) for size in self.people]
        values = [row[column] for row in rows]
        ranges = [likely_range(row[column], row[f"{column}_se"]) for row in rows]
        lower, upper = zip(*ranges, strict=True)
        about, least, most = (
            people_until(self.people, curve, wanted) for curve in (values, lower, upper)
        )
        return PeopleNeeded(about, least, most)

    def not_best(self, design: str, size: float) -> float:
        """How many of ``size`` people are on an arm that is not best for them."""
        counts = [n * self.row(n, design)["not_best"] for n in self.people]
        return interpolate(self.people, counts, size)


#: What the columns of a plan's frame and file are.
MEANINGS = {
    "width": "median width of the 95 % interval for the difference between the best two arms",
    "width_80": "the width that 80 % of trials do not exceed",
    "interval": "share of trials in which least squares gives that interval at all",
    "coverage": "share of these intervals that hold the true difference",
    "error_95": "the error |estimate - truth| of that difference which 95 % of trials stay below",
    "not_best": "share of people on an arm that is not best for them",
    "worse_on_average": "share of people on an arm that is not best on average",
    "regret": "outcome lost in all, against everybody's best arm",
    "regret_saved": "regret of the fixed trial less that of the policy, in the same trials",
    "starving": "share of trials that end with an arm that starves",
    "alarm": "share of trials in which the policy has raised an alarm",
    "right_arm": "chance that the arm with the highest estimated mean is best on average",
    "right_person": "chance that a new person is recommended the arm that is best for them",
}


def plan_trial(
    population: Population,
    effects: Effects,
    *,
    noise: float = 1.0,
    policy: Policy | None = None,
    people: Sequence[int] = PEOPLE,
    width: float | None = None,
    trials: int = TRIALS,
    seed: int = 10,
    n_jobs: int = -1,
    progress: bool | None = None,
) -> Plan:
    """Simulate a trial before it starts, at several sizes, beside a fixed randomised one.

    A fixed randomised trial of the same size gives every arm to an equal number of people,
    whatever their features and the outcomes so far.

    Parameters
    ----------
    population
        The people: :func:`normal_population`, :func:`table_population`, :func:`sampled_population`.
    effects
        How arms may differ: :func:`random_effects`, :func:`least_difference`,
        :func:`given_effects`.
    noise
        The standard deviation of an outcome for a given person and arm.
    policy
        How arms are chosen; None is ``GreedyFirst()``.
    people
        The sizes, in rising order.
    width
        The wanted width of the interval for the difference between the best two arms on average;
        None is twice ``effects.scale``: around a difference of that size, such an interval ends at
        0.
    trials
        Simulated trials of each size.
    seed
        The plan is the same for the same seed, whatever ``n_jobs``.
    n_jobs, progress
        As in :func:`greedyfirst.simulate`.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population, plan_trial, random_effects
    >>> people = normal_population(1)
    >>> effects = random_effects(people, n_arms=2, effect=0.5)
    >>> plan = plan_trial(people, effects, people=[50, 100], trials=20, n_jobs=1)
    >>> sorted(set(plan.frame["people"]))
    [50, 100]
    """
    policy = GreedyFirst() if policy is None else policy
    _check_policy(policy)
    sizes = _sizes(people, effects.n_arms)
    noise = number("noise", noise, above=0)
    whole_number("trials", trials, at_least=2)
    whole_number("seed", seed, at_least=0)
    if width is None and effects.scale <= 0:
        raise wrong("width", width, "a width, since the best two arms are equal on average")
    wanted = 2 * effects.scale if width is None else number("width", width, above=0)
    problem = LinearProblem(
        contexts=population.contexts, arms=effects.arms, noise=GaussianNoise(sigma=noise)
    )
    rows: list[dict[str, Any]] = []
    for size in sizes:
        measured = Trials(problem, population, policy, people=size, seed=seed)
        result = simulate(
            problem,
            {ADAPTIVE: policy},
            n_instances=trials,
            horizon=size,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
            collect=measured.add,
        )
        rows += _rows(size, measured, result)
    import pandas  # half a second to import

    return Plan(
        population=population,
        effects=effects,
        noise=noise,
        policy=policy,
        people=sizes,
        width=wanted,
        trials=trials,
        seed=seed,
        frame=pandas.DataFrame(rows),
        difference=float(np.median(measured.differences)),
        differing=float(np.mean(measured.differing)),
    )


def _check_policy(policy: Policy) -> None:
    if not isinstance(policy, Policy):
        raise wrong("policy", policy, "a policy, for example GreedyFirst()")
    if policy.needs_truth():
        raise wrong("policy", policy, "one that need not know the truth")
    if policy.reward_link() is not Identity:
        raise wrong("policy", policy, "one that learns outcomes of any size, not 0 and 1 or counts")


def _sizes(people: Sequence[int], n_arms: int) -> tuple[int, ...]:
    if isinstance(people, str) or not isinstance(people, Sequence) or not people:
        raise wrong("people", people, "numbers of people, in rising order")
    sizes = tuple(whole_number("people", size, at_least=n_arms) for size in people)
    if any(next_one <= size for size, next_one in pairwise(sizes)):
        raise wrong("people", sizes, "numbers of people, in rising order")
    return sizes


def _rows(size: int, measured: Trials, result: SimulationResult) -> list[dict[str, Any]]:
    """What each design gave."""
    pairs = zip(measured.adaptive, measured.randomised, strict=True)
    saved = np.array([fixed.regret - adaptive.regret for adaptive, fixed in pairs])
    alarm = result.culprit[:, 0] >= 0 if result.watched[0] else np.full(len(saved), np.nan)
    nothing = np.full(len(saved), np.nan)
    designs = (
        (ADAPTIVE, measured.adaptive, saved, alarm),
        (FIXED, measured.randomised, nothing, nothing),
    )
    rows = []
    for design, trials, gain, alarms in designs:
        numbers = summarise(trials) | with_errors(
            {"regret_saved": mean(gain), "alarm": mean(alarms)}
        )
        ordered = {name: numbers[name] for key in MEANINGS for name in (key, f"{key}_se")}
        rows.append({"people": size, "design": design, **ordered})
    return rows
