"""Policies that learn a block of rows by its sums, as if they had come one by one.

The rows are foreign: other policies decided them. Greedy-First's tests come out as with every row
by itself: λ_min never falls and λ₀t/4 only rises, so that λ_min at the start of a block, if it is
not below the threshold at its end, settles every test in between.

A policy that is not in the table of :func:`ways_of`, one of your own for example, learns row by
row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for, member_of
from greedyfirst.compiling.records import Options
from greedyfirst.models import adding_sums
from greedyfirst.models.least_squares import PINV, LeastSquares
from greedyfirst.models.row_sums import Expected, RowSums
from greedyfirst.policies.explore_then_exploit import ExploreThenExploit
from greedyfirst.policies.greedy import Greedy
from greedyfirst.policies.greedy_first import statistic
from greedyfirst.policies.greedy_first.arm_by_arm import ArmByArm
from greedyfirst.policies.greedy_first.first_rule import ArmByFirstRule
from greedyfirst.policies.greedy_first.policy import GreedyFirst
from greedyfirst.policies.greedy_first.watch import POOLED, Watch
from greedyfirst.policies.lin_ucb import LinUCB
from greedyfirst.policies.ols_bandit import OLSBandit
from greedyfirst.policies.uniform import Uniform
from greedyfirst.validation import FloatArray


class Way(NamedTuple):
    """How a kind of policy learns by sums: whether it can in a block, and doing it."""

    can_add: Callable[[Options, Any, RowSums, int], bool]
    add: Callable[[Options, Any, RowSums], None]


def can_add(options: Options, state: Any, sums: RowSums) -> bool:
    """Whether the state can take in these rows by their sums."""
    return _way(options).can_add(options, state, sums, phase_of(state))


def add(options: Options, state: Any, sums: RowSums) -> None:
    """Take in rows by their sums; ask :func:`can_add` first."""
    _way(options).add(options, state, sums)


def adds_up(options: Options) -> bool:
    """Whether a policy with these options learns by sums at all, at least while it is greedy."""
    greedy = getattr(options, "greedy", None)
    return _way(options) is not ROW_BY_ROW and (greedy is None or adds_up(greedy))


def phase_of(state: Any) -> int:
    """Which models are learning: those of the fallback too after a switch."""
    watch = getattr(state, "watch", None)
    return 0 if watch is None else int(watch.explores)


def expected(state: Any) -> Expected:
    """What the state knows of rows to come."""
    greedy = getattr(state, "greedy", state)
    exploring = phase_of(state) and hasattr(state, "fallback")
    model = getattr(state.fallback if exploring else greedy, "model", None)
    spanned = model if isinstance(model, LeastSquares) else greedy.model
    complements = adding_sums.complements(spanned)
    watch = getattr(state, "watch", None)
    if watch is not None:
        complements[-1] = _unseen(watch).copy()
    ridge = next((each for each in (model, greedy.model) if hasattr(each, "reference")), None)
    d = spanned.estimate.shape[1]
    reference = np.zeros(d) if ridge is None else ridge.reference.copy()
    return Expected(reference=reference, complements=complements, phase=phase_of(state))


# ---------------------------------------------------------------------------- policies of one model


def _model_can_add(options: Options, state: Any, sums: RowSums, phase: int) -> bool:
    return adding_sums.can_add(state.model, sums, phase)


def _add_to_model(options: Options, state: Any, sums: RowSums) -> None:
    adding_sums.add(state.model, sums, getattr(options, "warmup", PINV))


def _add_to_ols_bandit(options: Options, state: Any, sums: RowSums) -> None:
    """No foreign row is a forced sample."""
    adding_sums.add(state.model, sums, options.warmup)
    adding_sums.add_rewards(state.spread, sums)


# ------------------------------------------------------------------------------------- Greedy-First


def _arms_can_add(options: Options, state: Any, sums: RowSums, phase: int) -> bool:
    """Arm by arm: no look at the arms, and no new direction, within these rows."""
    watch = state.watch
    known = not len(_unseen(watch)) or sums.is_inside(-1, phase)
    quiet = known and watch.clock + sums.rows < watch.next_look
    return quiet and _way(options.greedy).can_add(options.greedy, state.greedy, sums, phase)


def _add_to_arms(options: Options, state: Any, sums: RowSums) -> None:
    add(options.greedy, state.greedy, sums)
    _pass(state.watch, sums)


def _phases_can_add(options: Options, state: Any, sums: RowSums, phase: int) -> bool:
    """The paper's algorithm: no alarm, and no new direction, within these rows."""
    watch = state.watch
    if len(_unseen(watch)) and not sums.is_inside(-1, phase):
        return False
    if not _way(options.greedy).can_add(options.greedy, state.greedy, sums, phase):
        return False
    if watch.explores:
        return _way(options.fallback).can_add(options.fallback, state.fallback, sums, phase)
    return _no_alarm_until(watch, watch.clock + sums.rows)


def _add_to_phases(options: Options, state: Any, sums: RowSums) -> None:
    add(options.greedy, state.greedy, sums)
    if state.watch.explores:
        add(options.fallback, state.fallback, sums)
    _pass(state.watch, sums)


def _pass(watch: Watch, sums: RowSums) -> None:
    """The rounds of these rows are over."""
    watch.clock += sums.rows
    if len(_unseen(watch)):
        watch.units[:] = np.maximum(watch.units, sums.largest.max(axis=0))


def _unseen(watch: Watch) -> FloatArray:
    """Directions that no context has had (·, d), where the test is run inside the others."""
    inside = watch.options.span == POOLED and watch.follows_span
    return watch.basis[: len(watch.basis) - watch.rank if inside else 0]


def _no_alarm_until(watch: Watch, clock: int) -> bool:
    """Whether no arm can fall below its threshold up to this round."""
    if clock <= watch.next_test:
        return True
    if watch.lambda0 == 0.0:
        return False
    options, ages = watch.options, clock - watch.since
    tested = ~watch.exempt & (ages > options.test_after)
    lines = [
        statistic.threshold(options.statistic, watch.lambda0, float(age)) for age in ages.tolist()
    ]
    below = tested & (watch.floor < np.array(lines))
    if not below.any():
        return True
    directions = watch.weakest.copy()
    run(entry_for(_find_floors, watch), watch, below)
    watch.weakest[:] = directions  # those of the tests themselves
    return not (tested & (watch.floor < np.array(lines))).any()


def _find_floors(watch: Watch, wanted: Any) -> None:
    """Compute the values of these arms: lower bounds from now on."""
    for arm in range(wanted.shape[0]):
        if wanted[arm]:
            watch.floor[arm] = statistic.value(watch.options.statistic, watch, arm)


# ------------------------------------------------------------------------------------------ a table

ROW_BY_ROW = Way(lambda *_: False, _add_to_model)
#: By the kernel that learns a row: what inherits it learns by the same sums.
WAYS: dict[Any, Way] = {
    Greedy.update: Way(_model_can_add, _add_to_model),
    ExploreThenExploit.update: Way(_model_can_add, _add_to_model),
    Uniform.update: Way(_model_can_add, _add_to_model),
    LinUCB.update: Way(_model_can_add, _add_to_model),
    OLSBandit.update: Way(_model_can_add, _add_to_ols_bandit),
    ArmByArm.update: Way(_arms_can_add, _add_to_arms),
    ArmByFirstRule.update: Way(_arms_can_add, _add_to_arms),
    GreedyFirst.update: Way(_phases_can_add, _add_to_phases),
}


def _way(options: Options) -> Way:
    return WAYS.get(member_of(options).update, ROW_BY_ROW)
