"""What was learned, and how surely: effects and expected rewards with intervals.

The intervals are those of :mod:`greedyfirst.agent.intervals`: on data that chose itself they hold
for all arms, contexts and times together. They are made when somebody asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from greedyfirst.agent import Agent
from greedyfirst.agent.intervals import Intervals
from greedyfirst.service.errors import InvalidError
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.noise import Noise, noise_of
from greedyfirst.service.state.specification import Features, NumericFeature
from greedyfirst.validation import FloatArray

LEVEL = 0.95


class Interval(Struct, frozen=True, kw_only=True):
    """An estimate and the ends of its interval; None for what is not known, and for no end."""

    estimate: float | None
    low: float | None
    high: float | None

    @property
    def sign(self) -> int:
        """1 if all of it is above zero, -1 if below, else 0."""
        if self.low is not None and self.low > 0:
            return 1
        return -1 if self.high is not None and self.high < 0 else 0


class Ends(NamedTuple):
    """Many intervals as arrays (n, n_arms), each made once."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    #: What the intervals leave open, for people.
    caution: str = ""

    @classmethod
    def of(cls, found: Intervals, arms: Sequence[str] = ()) -> Self:
        """The ends of all of them, for arms of these names."""
        return cls(found.estimate, found.low, found.high, found.caution(arms))

    def at(self, row: int, arm: int) -> Interval:
        """One of them."""
        return Interval(
            estimate=_finite(self.estimate[row, arm]),
            low=_finite(self.low[row, arm]),
            high=_finite(self.high[row, arm]),
        )

    def difference(self, row: int, arm: int, other: int) -> Interval:
        """One arm less another; it holds whenever both intervals do."""
        return Interval(
            estimate=_finite(self.estimate[row, arm] - self.estimate[row, other]),
            low=_finite(self.low[row, arm] - self.high[row, other]),
            high=_finite(self.high[row, arm] - self.low[row, other]),
        )


class Basis(Struct, frozen=True, kw_only=True):
    """What intervals rest on."""

    #: With which probability all of them hold together, at all times.
    level: float
    #: The scale of the rewards' noise; None if it is not known.
    sigma: float | None
    #: Whether it follows from the range of rewards; if it was estimated, the level is approximate.
    sigma_known: bool
    #: The same for people, or why there are no intervals.
    sentence: str


class ArmToday(Struct, frozen=True, kw_only=True):
    """An arm's expected reward in a context, with all that was learned until now."""

    arm: str
    #: By the model that decides; the interval is around the least-squares estimate.
    expected: float
    interval: Interval


class DecisionIntervals(Struct, frozen=True, kw_only=True):
    """What is expected of each arm today in a decision's context, and how surely."""

    decision_id: str
    model_version: int
    basis: Basis
    #: Empty where the features were erased.
    arms: tuple[ArmToday, ...]
    chosen: str
    #: Of the other arms that might have been taken, the one of which most is expected today.
    next_best: str | None = None
    #: The chosen arm's expected reward less the next best one's.
    difference: Interval | None = None


class Effect(Struct, frozen=True, kw_only=True):
    """What a feature adds to an arm's expected reward."""

    arm: str
    #: The encoded feature, and what a unit of it means.
    feature: str
    meaning: str
    effect: Interval
    #: The same less that of the arm that all are compared with; None for that arm itself.
    difference: Interval | None


class Effects(Struct, frozen=True, kw_only=True):
    """All effects of a policy, and what separates its arms from one of them.

    Estimates are least squares; where there are no intervals they are the model's own, which with a
    link add up to what the link takes.
    """

    policy: str
    model_version: int
    #: Rewards learned, imported ones included.
    rewards: int
    basis: Basis
    #: The arm that the others are compared with.
    against: str
    effects: tuple[Effect, ...]


def decision_intervals(
    deployment: Deployment, view: DecisionView
) -> Callable[[Agent], DecisionIntervals]:
    """What makes a decision's intervals of the agent, or of a copy on any thread."""
    noise = noise_of(deployment)
    found = DecisionIntervals(
        decision_id=view.answer.decision_id,
        model_version=deployment.model_version,
        basis=basis_of(noise),
        arms=(),
        chosen=view.answer.arm,
    )
    refusal = "The person’s features were erased: there is nothing to expect."
    if view.erased is None:
        refusal = "The context does not fit the features that the policy has today."
        with suppress(ValueError):
            context = deployment.encode_past(view.context)
            return lambda agent: _today(agent, context, noise, view.eligible_arms, found)
    nothing = Basis(level=LEVEL, sigma=None, sigma_known=False, sentence=refusal)
    return lambda _: replace(found, basis=nothing)


def _today(
    agent: Agent,
    context: FloatArray,
    noise: Noise,
    eligible: tuple[str, ...] | None,
    found: DecisionIntervals,
) -> DecisionIntervals:
    """All arms in the decision's context, and the chosen one against the next best."""
    names, ends = agent.arm_names, _intervals(agent, context[None], noise)
    expected = agent.expected_rewards(context).tolist()
    chosen, dropped = names.index(found.chosen), agent.dropped
    others = [
        place
        for place, name in enumerate(names)
        if place != chosen and not dropped[place] and (eligible is None or name in eligible)
    ]
    best = max(others, key=expected.__getitem__) if others else None
    return replace(
        found,
        basis=_cautious(found.basis, ends),
        arms=tuple(
            ArmToday(arm=name, expected=expected[place], interval=ends.at(0, place))
            for place, name in enumerate(names)
        ),
        next_best=None if best is None else names[best],
        difference=None if best is None else ends.difference(0, chosen, best),
    )


def effects(deployment: Deployment, against: str | None) -> Callable[[Agent], Effects]:
    """What makes a policy's effects of the agent, or of a copy on any thread."""
    agent, noise, meanings = deployment.agent, noise_of(deployment), meaning_of(deployment.encoding)
    names = agent.arm_names
    other = names[0] if against is None else against
    if other not in names:
        raise InvalidError(f"against must be an arm of {deployment.name}, got {other!r}")
    found = Effects(
        policy=deployment.name,
        model_version=deployment.model_version,
        rewards=agent.rewards,
        basis=basis_of(noise),
        against=other,
        effects=(),
    )
    return lambda agent: _effects(agent, noise, meanings, found)


def _effects(agent: Agent, noise: Noise, meanings: dict[str, str], found: Effects) -> Effects:
    """Those of all arms, each less that of the arm that they are compared with."""
    ends, other = (
        _intervals(agent, np.eye(agent.n_features), noise),
        agent.arm_names.index(found.against),
    )
    if noise.why_no_effects is not None:
        model: Any = agent.state.model
        ends = ends._replace(estimate=np.array(model.estimate).T)
    shown = tuple(
        Effect(
            arm=name,
            feature=feature,
            meaning=meanings[feature],
            effect=ends.at(row, arm),
            difference=None if arm == other else ends.difference(row, arm, other),
        )
        for arm, name in enumerate(agent.arm_names)
        for row, feature in enumerate(agent.feature_names)
    )
    return replace(found, basis=_cautious(found.basis, ends), effects=shown)


def _cautious(basis: Basis, ends: Ends) -> Basis:
    """With what the intervals leave open."""
    return replace(basis, sentence=f"{basis.sentence} {ends.caution}") if ends.caution else basis


def basis_of(noise: Noise) -> Basis:
    """What intervals of effects rest on."""
    known = noise.sigma if noise.sigma is not None and math.isfinite(noise.sigma) else None
    return Basis(
        level=LEVEL,
        sigma=known,
        sigma_known=noise.known,
        sentence=noise.why_no_effects or noise.sentence,
    )


def meaning_of(encoding: Features) -> dict[str, str]:
    """What a unit of each encoded feature is, in words."""
    schema = encoding.schema()
    meanings = {"intercept": "base level"}
    for item, feature in zip(encoding.features, schema.features, strict=True):
        for encoded in feature.encoded_names(schema.intercept):
            if isinstance(item, NumericFeature):
                meanings[encoded] = f"{item.name}, {item.scale:g} more"
            else:
                base = item.reference or item.levels[0]
                than = f" instead of {base}" if schema.intercept else ""
                meanings[encoded] = f"{item.name}: {encoded.removeprefix(item.name + '=')}{than}"
    return {name: meanings[name] for name in schema.feature_names}


def _finite(value: Any) -> float | None:
    """A number that JSON has."""
    return float(value) if math.isfinite(value) else None


def _intervals(agent: Agent, contexts: FloatArray, noise: Noise) -> Ends:
    """The intervals; all unknown where there are none."""
    if noise.why_no_effects is None and noise.sigma is not None:
        sigma = noise.sigma if noise.known else None
        return Ends.of(agent.intervals(contexts, sigma=sigma, level=LEVEL), agent.arm_names)
    shape = (len(contexts), agent.n_arms)
    return Ends(np.full(shape, np.nan), np.full(shape, -np.inf), np.full(shape, np.inf))
