"""Logged decisions: contexts, the arms that were taken, their rewards, and how likely each was."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.tables import infer_schema
from greedyfirst.tables.column_notes import note_code
from greedyfirst.tables.columns import check_known, first_row
from greedyfirst.tables.findings import Faults
from greedyfirst.tables.labels import check_not_measured
from greedyfirst.validation import FloatArray, IntArray, amounts, array, names, wrong

if TYPE_CHECKING:
    import pandas


#: Probabilities that differ by less are the same.
SAME = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggedData:
    """Decisions that were made and rewarded, in their order.

    Parameters
    ----------
    contexts : (n, d)
        What was known when each decision was made.
    arms : (n,)
        The arm that was taken, as a number from 0.
    rewards : (n,)
        What it paid.
    propensities : (n,) or None
        The probability with which the arm was taken then, above 0; None where it is not known.
    arm_names
        Of all arms, those that were never taken included.
    all_propensities : (n, n_arms) or None
        The probability with which each arm might have been taken; None where that is not known.
        Its rows may add up to less than 1: there may be other arms.

    Examples
    --------
    >>> from greedyfirst.evaluation import LoggedData
    >>> log = LoggedData(contexts=[[1.0], [1.0]], arms=[0, 1], rewards=[0.0, 1.0],
    ...                  propensities=[0.5, 0.5], arm_names=["old", "new"])
    >>> len(log), log.n_arms
    (2, 2)
    """

    contexts: FloatArray
    arms: IntArray
    rewards: FloatArray
    arm_names: Sequence[str]
    propensities: FloatArray | None = None
    all_propensities: FloatArray | None = None

    def __post_init__(self) -> None:
        contexts = array("contexts", self.contexts, (None, None))
        if not contexts.size:
            raise wrong("contexts", contexts.shape, "at least one row and one column")
        n = len(contexts)
        arms = np.asarray(self.arms)
        if arms.dtype.kind not in "iu" or arms.shape != (n,):
            raise wrong("arms", self.arms, f"{n} whole numbers")
        arm_names = names("arm_names", self.arm_names, len(self.arm_names))
        outside = (arms < 0) | (arms >= len(arm_names))
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise wrong(
                f"arms[{row}]", int(arms[row]), f"one of the arms 0 to {len(arm_names) - 1}"
            )
        propensities = self.propensities
        if propensities is not None:
            propensities = array("propensities", propensities, (n,))
            outside = (propensities <= 0) | (propensities > 1)
            if outside.any():
                row = int(np.flatnonzero(outside)[0])
                expected = "above 0 and at most 1: the probability of the arm that was taken"
                raise wrong(f"propensities[{row}]", float(propensities[row]), expected)
        if self.all_propensities is not None:
            every = array("all_propensities", self.all_propensities, (n, len(arm_names)))
            _check_every(every, arms, propensities)
            object.__setattr__(self, "all_propensities", every)
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "arms", arms.astype(np.int64))
        object.__setattr__(self, "rewards", amounts("rewards", self.rewards, (n,)))
        object.__setattr__(self, "arm_names", arm_names)
        object.__setattr__(self, "propensities", propensities)

    def __repr__(self) -> str:
        size = f"{len(self)} rows, {self.contexts.shape[1]} features, {self.n_arms} arms"
        return f"LoggedData({size}{'' if self.propensities is None else ', with propensities'})"

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arm_names)

    def chances(self) -> FloatArray | None:
        """The probability of every arm in each decision (n, n_arms); None where it is not known.

        Of two arms the one that was not taken had all the rest.
        """
        if self.all_propensities is not None or self.propensities is None or self.n_arms != 2:
            return self.all_propensities
        own = np.eye(2)[self.arms]
        return own * self.propensities[:, None] + (1 - own) * (1 - self.propensities[:, None])

    def part(self, rows: IntArray) -> LoggedData:
        """Some of the rows."""
        return LoggedData(
            contexts=self.contexts[rows],
            arms=self.arms[rows],
            rewards=self.rewards[rows],
            arm_names=self.arm_names,
            propensities=None if self.propensities is None else self.propensities[rows],
            all_propensities=None if self.all_propensities is None else self.all_propensities[rows],
        )

    @classmethod
    def from_table(
        cls,
        frame: pandas.DataFrame,
        *,
        arm: str,
        reward: str,
        propensity: str | None = None,
        drop: Sequence[str] = (),
        categorical: Sequence[str] = (),
        intercept: bool = True,
        standardise: bool = True,
        impute: str | None = None,
    ) -> LoggedData:
        """The decisions of a table; its other columns are the context.

        Parameters
        ----------
        frame
            One row per decision, in their order.
        arm, reward, propensity
            Columns of the arm that was taken, of its reward, and of its probability. Where there
            are columns "p.low", "p.high" beside a ``propensity`` "p", they are the probabilities of
            every arm.
        drop, categorical, intercept, standardise, impute
            How the other columns become numbers: as in :func:`greedyfirst.tables.infer_schema`.
            Where there is none, the context is the intercept.
        """
        columns = [str(name) for name in frame.columns]
        used = {"arm": arm, "reward": reward}
        if propensity is not None:
            used["propensity"] = propensity
        for argument, name in used.items():
            check_known(argument, name, columns)
        every = [] if propensity is None else [c for c in columns if c.startswith(propensity + ".")]
        faults = Faults()
        arm_names: tuple[str, ...] = ()
        propensities = chances = None
        with faults:
            contexts = _contexts(
                frame,
                drop={*drop, *every, *used.values()},
                categorical=categorical,
                intercept=intercept,
                standardise=standardise,
                impute=impute,
            )
        with faults:
            numbers, arm_names = _arms(frame, arm)
        with faults:
            rewards = _numbers(frame, reward)
            note_code(reward, rewards)
        with faults:
            if propensity is not None:
                propensities = _propensities(frame, propensity)
                chances = _chances(frame, propensity, arm_names) if every and arm_names else None
        faults.raise_all()
        return cls(
            contexts=contexts,
            arms=numbers,
            rewards=rewards,
            arm_names=arm_names,
            propensities=propensities,
            all_propensities=chances,
        )


def _contexts(
    frame: pandas.DataFrame, *, drop: set[str], intercept: bool, **options: Any
) -> FloatArray:
    """The columns but those of ``drop`` as contexts (n, d)."""
    if (
        intercept and {str(name) for name in frame.columns} <= drop
    ):  # an experiment without contexts
        return np.ones((len(frame), 1))
    schema = infer_schema(frame, drop=sorted(drop), intercept=intercept, **options)
    return schema.encode(frame)


def _arms(frame: pandas.DataFrame, name: str) -> tuple[IntArray, tuple[str, ...]]:
    """The arm that was taken in each row (n,), and the arms' names."""
    taken = frame[name]
    check_not_measured("arm", name, taken)
    if taken.isna().any():
        row = first_row(taken.isna().to_numpy())
        raise ValueError(f"column {name!r} has no arm in data row {row}; leave such rows out")
    labels, numbers = np.unique(taken.astype(str).to_numpy(), return_inverse=True)
    return numbers.astype(np.int64), tuple(map(str, labels))


def _chances(frame: pandas.DataFrame, propensity: str, arm_names: Sequence[str]) -> FloatArray:
    """The probability of every arm in each row (n, K), from columns such as propensity.arm."""
    names = [f"{propensity}.{arm}" for arm in arm_names]
    for name in names:
        check_known("propensity", name, [str(column) for column in frame.columns])
    return np.column_stack([_numbers(frame, name) for name in names])


def _check_every(every: FloatArray, arms: IntArray, propensities: FloatArray | None) -> None:
    """Refuse what are not the probabilities of all arms of decisions that took ``arms``."""
    own = every[np.arange(len(every)), arms]
    wrong_rows = (every < 0).any(axis=1) | (every.sum(axis=1) > 1 + SAME) | (own <= 0)
    expected = "probabilities that add up to 1 at most, above 0 for the arm that was taken"
    if propensities is not None:
        wrong_rows |= abs(own - propensities) > SAME
        expected += ", where it is its propensity"
    if wrong_rows.any():
        row = int(np.flatnonzero(wrong_rows)[0])
        raise wrong(f"all_propensities[{row}]", every[row].tolist(), expected)


def _propensities(frame: pandas.DataFrame, name: str) -> FloatArray:
    """A column of probabilities, none of them 0."""
    values = _numbers(frame, name)
    outside = (values <= 0) | (values > 1)
    if outside.any():
        row = first_row(outside)
        where = f"column {name!r}, data row {row}"
        expected = "above 0 and at most 1: the probability of the arm that was taken"
        raise wrong(where, float(values[row - 1]), expected)
    return values


def _numbers(frame: pandas.DataFrame, name: str) -> FloatArray:
    """A column of numbers, without missing ones."""
    try:
        values: FloatArray = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} must hold numbers, got {frame[name].iloc[0]!r}; amounts and "
            f"percentages are read with --numeric {shlex.quote(name)}"
        ) from None
    missing = ~np.isfinite(values)
    if missing.any():
        row = first_row(missing)
        raise ValueError(f"column {name!r} has no number in data row {row}; leave such rows out")
    return values
