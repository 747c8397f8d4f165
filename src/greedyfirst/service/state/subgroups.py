"""Subgroups: decisions, rewards and effects by the levels of a category, and by period.

All is computed from the log, decision by decision, with the features as they are encoded today.
Within a level the category's own columns are constant, so they are left out there.

The intervals of one answer hold together, at all times: half of the error is for the means and half
for the effects, an equal part of it for each level, and of that ½ for all periods taken together
and :math:`1/((j + 1)(j + 2))` for period j. The mean's interval is the one of
:mod:`greedyfirst.agent.intervals` for a constant: it is about the mean of what was to be expected
of the group's decisions, whatever the features do.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from greedyfirst.agent.intervals import Sums, intervals_of
from greedyfirst.agent.noise_sums import ArmNoise, fitted_share, together
from greedyfirst.service.errors import InvalidError
from greedyfirst.service.log.decision_view import decision_views
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state.deployment import Deployment, fitted
from greedyfirst.service.state.effects import (
    LEVEL,
    Basis,
    Ends,
    Interval,
    basis_of,
    meaning_of,
)
from greedyfirst.service.state.noise import Noise, noise_of
from greedyfirst.service.state.periods import Period, Start, periods_of, starts_of
from greedyfirst.service.state.specification import MOST_CELLS, Features
from greedyfirst.tables import Schema
from greedyfirst.tables.features import Categorical
from greedyfirst.validation import FloatArray

#: Groups with fewer decisions are small.
SMALL = 10
#: What estimated noise leaves open.
CAUTION = (
    "A group has an interval once its own rewards show their noise; it does not cover events rarer "
    "than 1 in a third of those rewards."
)


class GroupEffect(Struct, frozen=True, kw_only=True):
    """What a feature adds to an arm's expected reward within a group."""

    feature: str
    meaning: str
    effect: Interval


class GroupArm(Struct, frozen=True, kw_only=True):
    """An arm within a group."""

    arm: str
    decisions: int
    #: Of the group's decisions.
    share: float | None
    #: Decisions whose reward was learned.
    learned: int
    #: Of its Gram matrix within the group, without the category's columns.
    min_eigenvalue: float | None
    effects: tuple[GroupEffect, ...]


class Group(Struct, frozen=True, kw_only=True):
    """The decisions of one level in one period, or in all (period 0)."""

    level: str
    period: int
    decisions: int
    learned: int
    #: Whether there are fewer than ten decisions.
    small: bool
    mean_reward: Interval
    arms: tuple[GroupArm, ...]


class Subgroups(Struct, frozen=True, kw_only=True):
    """A policy by the levels of one of its categories."""

    policy: str
    by: str
    #: Decisions so far, and those among them whose features were erased: they are in no group.
    decisions: int
    erased: int
    #: What the intervals of means and those of effects rest on.
    means: Basis
    effects: Basis
    periods: tuple[Period, ...]
    groups: tuple[Group, ...]


class Question(NamedTuple):
    """What is asked, with all of the deployment's state that it takes."""

    policy: str
    by: Categorical
    encoding: Features
    schema: Schema
    backfill: dict[str, Any]
    arms: tuple[str, ...]
    noise: Noise
    #: Where the noise is estimated: what is expected of each arm's rows (n_arms, d), and by what
    #: the squares of the rest grow, since the estimate fitted some (n_arms,).
    estimate: FloatArray | None
    unfitted: FloatArray
    summed: bool
    #: The last entry of the log that counts.
    last: int


def question(deployment: Deployment, by: str, last: int) -> Question:
    """The question as the deployment stands now; refused if ``by`` is not one of its categories."""
    schema = deployment.schema
    categories = {item.name: item for item in schema.features if isinstance(item, Categorical)}
    if by not in categories:
        named = ", ".join(map(repr, categories)) or "there is none"
        raise InvalidError(f"by must be a category of {deployment.name} ({named}), got {by!r}")
    noise, agent = noise_of(deployment), deployment.agent
    estimate, unfitted = None, np.ones(agent.n_arms)
    if not noise.known and noise.sigma is not None:
        estimate = np.array(agent.state.model.estimate)
        unfitted = 1 / (1 - fitted_share(agent.n_features, agent.pulls))
    return Question(
        deployment.name,
        categories[by],
        deployment.encoding,
        schema,
        dict(deployment.backfill),
        tuple(deployment.agent.arm_names),
        noise,
        estimate,
        unfitted,
        deployment.specification.rewards == "sum",
        last,
    )


class _Cell:
    """The sums of one level in one period."""

    def __init__(self, n_arms: int, n_features: int) -> None:
        self.decisions = np.zeros(n_arms, np.int64)
        self.learned = np.zeros(n_arms, np.int64)
        self.reward = 0.0
        #: Without features if they would take too much memory.
        self.gram = np.zeros((n_arms, n_features, n_features))
        self.moment = np.zeros((n_arms, n_features))
        #: Of what is left of the rewards: Σr², Σr⁴ and Σr²xx'.
        self.squares, self.fourths = np.zeros(n_arms), np.zeros(n_arms)
        self.spread = np.zeros((n_arms, n_features, n_features))
        #: The least and the largest reward.
        self.low, self.high = np.full(n_arms, np.inf), np.full(n_arms, -np.inf)

    def learn(self, arm: int, context: FloatArray, reward: float, square: float) -> None:
        self.learned[arm] += 1
        self.reward += reward
        product = np.outer(context, context)
        self.gram[arm] += product
        self.moment[arm] += reward * context
        self.squares[arm] += square
        self.fourths[arm] += square * square
        self.spread[arm] += square * product
        self.low[arm], self.high[arm] = min(self.low[arm], reward), max(self.high[arm], reward)

    def add(self, other: _Cell) -> None:
        for name in (
            *("decisions", "learned", "reward", "gram", "moment"),
            *("squares", "fourths", "spread"),
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)

    def noise(self) -> tuple[ArmNoise, ...]:
        """What is known of the noise of each arm's rows."""
        arms = zip(self.learned.tolist(), self.squares, self.fourths, self.spread, strict=True)
        alike = (self.low >= self.high).tolist()
        return together(ArmNoise(*arm, alike=same) for arm, same in zip(arms, alike, strict=True))

    def noise_of_mean(self) -> tuple[ArmNoise, ...]:
        """The same for all rows together, and a constant."""
        squares = float(self.squares.sum())
        known = ArmNoise(
            rows=int(self.learned.sum()),
            squares=squares,
            fourths=float(self.fourths.sum()),
            spread=np.full((1, 1), squares),
            alike=bool(self.low.min() >= self.high.max()),
        )
        return (known,)


def subgroups(log: ReadableLog, asked: Question) -> Subgroups:
    """Read the log, and answer; on any thread."""
    starts = starts_of(log, asked.policy, asked.last)
    columns = {level: _columns(asked, level) for level in asked.by.levels}
    width = len(columns[asked.by.levels[0]])
    if len(starts) * len(columns) * len(asked.arms) * width**2 > MOST_CELLS:
        width, columns = 0, {level: [] for level in columns}
    decisions, erased, cells = _read(log, asked, starts, columns)
    for level in asked.by.levels:
        cells[level, 0] = _Cell(len(asked.arms), width)
        for period in range(1, len(starts) + 1):
            if (level, period) in cells:
                cells[level, 0].add(cells[level, period])
    order = {level: place for place, level in enumerate(asked.by.levels)}
    return Subgroups(
        policy=asked.policy,
        by=asked.by.name,
        decisions=decisions,
        erased=erased,
        means=_mean_basis(asked.noise),
        effects=_effect_basis(asked.noise, width),
        periods=periods_of(starts, decisions),
        groups=tuple(
            _group(asked, level, period, cells[level, period], columns[level])
            for level, period in sorted(cells, key=lambda key: (key[1], order[key[0]]))
        ),
    )


def _read(
    log: ReadableLog, asked: Question, starts: list[Start], columns: dict[str, list[int]]
) -> tuple[int, int, dict[tuple[str, int], _Cell]]:
    """How many decisions there are, and how many were erased; the sums by level and period."""
    decisions, erased, entries = 0, 0, [start.seq for start in starts]
    cells: dict[tuple[str, int], _Cell] = {}
    for entry, view in decision_views(log, asked.policy, summed=asked.summed, last=asked.last):
        decisions += 1
        if not view.context:  # it was erased, perhaps a moment ago
            erased += 1
            continue
        context = fitted(asked.schema, asked.backfill, view.context)
        level = asked.by.check_value(asked.by.name, context[asked.by.name])
        key = level, bisect_right(entries, entry.seq)
        if key not in cells:
            cells[key] = _Cell(len(asked.arms), len(columns[level]))
        arm = asked.arms.index(view.answer.arm)
        cells[key].decisions[arm] += 1
        if view.learned is not None:
            row, square = asked.schema.encode_row(context), 0.0
            if asked.estimate is not None:
                left = view.learned - float(row @ asked.estimate[arm])
                square = left * left * float(asked.unfitted[arm])
            cells[key].learn(arm, row[columns[level]], view.learned, square)
    return decisions, erased, cells


def _columns(asked: Question, level: str) -> list[int]:
    """The encoded columns that are not the category's; without an intercept, its level's too."""
    schema, by = asked.schema, asked.by
    own = set(by.encoded_names(schema.intercept))
    if not schema.intercept:
        own.discard(f"{by.name}={level}")
    return [place for place, name in enumerate(schema.feature_names) if name not in own]


def _mean_basis(noise: Noise) -> Basis:
    known = noise.sigma if noise.sigma is not None and math.isfinite(noise.sigma) else None
    return Basis(
        level=LEVEL,
        sigma=known,
        sigma_known=noise.known,
        sentence=_with_caution(noise.sentence, noise),
    )


def _with_caution(sentence: str, noise: Noise) -> str:
    estimated = not noise.known and noise.sigma is not None and math.isfinite(noise.sigma)
    return f"{sentence} {CAUTION}" if estimated else sentence


def _effect_basis(noise: Noise, width: int) -> Basis:
    basis = basis_of(noise)
    if width and noise.why_no_effects is None:
        return replace(basis, sentence=_with_caution(basis.sentence, noise))
    if width:
        return basis
    sentence = "There are too many groups, arms and features to keep the sums of each: no effects."
    return Basis(level=LEVEL, sigma=basis.sigma, sigma_known=False, sentence=sentence)


def _group(asked: Question, level: str, period: int, cell: _Cell, columns: list[int]) -> Group:
    part = 1 / 2 if period == 0 else 1 / ((period + 1) * (period + 2))
    confidence = 1 - (1 - LEVEL) / 2 / len(asked.by.levels) * part
    sums = Sums(cell.gram, cell.moment, int(cell.learned.sum()))
    found = None
    if columns and asked.noise.why_no_effects is None:
        known = cell.noise() if asked.estimate is not None else ()
        found = _intervals(sums, np.eye(len(columns)), asked.noise, confidence, known)
    decisions = int(cell.decisions.sum())
    return Group(
        level=level,
        period=period,
        decisions=decisions,
        learned=sums.rewards,
        small=decisions < SMALL,
        mean_reward=_mean(cell, asked, confidence),
        arms=tuple(
            GroupArm(
                arm=arm,
                decisions=int(cell.decisions[place]),
                share=cell.decisions[place] / decisions if decisions else None,
                learned=int(cell.learned[place]),
                min_eigenvalue=_smallest(cell.gram[place]) if columns else None,
                effects=_effects(asked, level, columns, found, place),
            )
            for place, arm in enumerate(asked.arms)
        ),
    )


def _intervals(
    sums: Sums,
    contexts: FloatArray,
    noise: Noise,
    confidence: float,
    known: tuple[ArmNoise, ...],
) -> Ends:
    sigma = math.inf if noise.sigma is None else noise.sigma
    found = intervals_of(
        sums, contexts, sigma=sigma, sigma_known=noise.known, level=confidence, noise=known
    )
    return Ends(found.estimate, found.low, found.high)


def _mean(cell: _Cell, asked: Question, confidence: float) -> Interval:
    """The mean of what was to be expected of the group's decisions, by a constant's interval."""
    learned = int(cell.learned.sum())
    sums = Sums(np.array([[[float(learned)]]]), np.array([[cell.reward]]), learned)
    known = cell.noise_of_mean() if asked.estimate is not None else ()
    return _intervals(sums, np.ones((1, 1)), asked.noise, confidence, known).at(0, 0)


def _smallest(gram: FloatArray) -> float:
    return max(float(np.linalg.eigvalsh(gram)[0]), 0.0)


def _effects(
    asked: Question, level: str, columns: list[int], found: Ends | None, arm: int
) -> tuple[GroupEffect, ...]:
    if found is None:
        return ()
    names, meanings = asked.schema.feature_names, meaning_of(asked.encoding)
    return tuple(
        GroupEffect(
            feature=names[column],
            meaning=meanings[names[column]],
            effect=found.at(row, arm),
        )
        for row, column in enumerate(columns)
    )
