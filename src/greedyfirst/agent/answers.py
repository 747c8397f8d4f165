"""Greedy-First and its decision-maker: the report, and what each answer to an alarm changes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.agent.diversity_report import ArmDiversity, DiversityReport
from greedyfirst.agent.online import start_fallback
from greedyfirst.agent.reshaping import copy_arms
from greedyfirst.memory import allocate
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.policies import GreedyFirst, hand_over, initial_pulls
from greedyfirst.policies import diversity_watch as watching
from greedyfirst.policies.policy import compiled_for, init

if TYPE_CHECKING:
    from greedyfirst.agent.agent import Agent


def stop_watching(agent: Agent, arm: int, *, dropped: bool) -> None:
    """Test this arm no more and go back to greedy, with a fallback that starts afresh."""
    leave_out(agent, arm, dropped=dropped)
    watch = agent.state.watch
    watch.numbers[watching.MODE] = watching.GREEDY
    watch.numbers[watching.SWITCHED_AT] = 0.0
    # The other arms are tested, and λ₀ is estimated if it has not been, after the next reward.
    watch.numbers[watching.NEXT_TEST] = min(watch.numbers[watching.NEXT_TEST], _clock(agent))
    _, fresh = allocate(
        partial(init, agent.record.fallback, agent.n_arms, agent.n_features), agent.room
    )
    copy_arms(fresh, agent.state.fallback)
    _plan_fallback(agent)
    if isinstance(agent.state.greedy.model, LeastSquares):
        least_squares.ask_again(agent.state.greedy.model, agent.record.greedy.warmup)
    agent.state.outlook[:] = 0.0


def leave_out(agent: Agent, arm: int, *, dropped: bool) -> None:
    """Test this arm no more, and choose it no more if it is dropped."""
    watch = agent.state.watch
    watch.arms[arm, watching.UNWATCHED] = 1.0
    if dropped:
        watch.arms[arm, watching.DROPPED] = 1.0
    watch.numbers[watching.ALARMS] += 1.0


def watch_again(agent: Agent, arm: int) -> None:
    """Test this arm after the next reward."""
    watch = agent.state.watch
    watch.arms[arm, watching.UNWATCHED] = 0.0
    watch.numbers[watching.NEXT_TEST] = min(watch.numbers[watching.NEXT_TEST], _clock(agent))


def _clock(agent: Agent) -> float:
    watch = agent.state.watch.numbers
    earliest = agent.record.t0 - 1
    return max(float(watch[watching.CLOCK]), float(earliest))


def explore(agent: Agent) -> None:
    """Start the fallback now, with what the policy hands over."""
    numbers = agent.state.watch.numbers
    numbers[watching.ALARMS] += 1.0
    numbers[watching.DECIDED] = agent.decisions
    compiled_for(start_fallback, GreedyFirst)(agent.record, agent.state, agent.decisions)


def admit(agent: Agent, pulls: int) -> None:
    """Plan the first pulls of the newest arm, and its test."""
    arm = agent.n_arms - 1
    state = agent.state
    if not isinstance(agent.policy, GreedyFirst):
        if hasattr(state, "initial"):
            own = agent.record.initial_pulls
            initial_pulls.admit(state.initial, arm, agent.decisions, pulls, own)
        return
    watch = state.watch
    own = agent.record.greedy.initial_pulls
    initial_pulls.admit(state.greedy.initial, arm, agent.decisions, pulls, own)
    if not state.explores:
        _plan_fallback(agent)
    elif hasattr(state.fallback, "initial"):
        own_step = agent.decisions - int(watch.numbers[watching.OFFSET])
        own = agent.record.fallback.initial_pulls
        initial_pulls.admit(state.fallback.initial, arm, own_step, pulls, own)
    watch.arms[arm, watching.SINCE] = watch.numbers[watching.CLOCK]
    watch.numbers[watching.NEXT_TEST] = min(
        watch.numbers[watching.NEXT_TEST], watch.numbers[watching.CLOCK] + agent.record.test_after
    )


def _plan_fallback(agent: Agent) -> None:
    """Plan the first pulls of a fallback that has not started.

    Added arms are in its turns from the start, or behind the initial samples that it is handed.
    """
    state, record = agent.state, agent.record
    if not hasattr(state.fallback, "initial"):
        return
    plan, greedy_plan = state.fallback.initial, state.greedy.initial
    if record.carry_over != hand_over.INITIAL:
        plan[:, initial_pulls.FOUNDERS] = agent.n_arms
        return
    founders = int(greedy_plan[0, initial_pulls.FOUNDERS])
    plan[:] = 0.0
    plan[:, initial_pulls.FOUNDERS] = founders
    for arm in range(founders, agent.n_arms):
        pulls = int(greedy_plan[arm, initial_pulls.PULLS])
        initial_pulls.admit(plan, arm, 0, pulls, record.fallback.initial_pulls)


def report(agent: Agent) -> DiversityReport:
    """How diverse each arm's samples are."""
    state = agent.state
    watch = state.watch if isinstance(agent.policy, GreedyFirst) else None
    model = state.model if watch is None else state.greedy.model
    grams = model.gram
    free = _outside_span(agent, watch)
    usual = grams.sum(axis=0) / max(agent.rewards, 1)
    arms = tuple(
        _arm_report(agent, watch, arm, grams[arm], int(model.pulls[arm]), free, usual)
        for arm in range(agent.n_arms)
    )
    if watch is None:
        return DiversityReport(
            arms=arms,
            rewards=agent.rewards,
            mode="not tested",
            lambda0=None,
            switched_at=None,
            culprit=None,
            eigenvalue_computations=0,
        )
    numbers = watch.numbers
    culprit = int(numbers[watching.CULPRIT])
    return DiversityReport(
        arms=arms,
        rewards=agent.rewards,
        mode="fallback" if state.explores else "greedy",
        lambda0=float(numbers[watching.LAMBDA0]) or None,
        switched_at=int(numbers[watching.SWITCHED_AT]) or None,
        culprit=None if culprit < 0 else agent.arm_names[culprit],
        eigenvalue_computations=int(numbers[watching.EIGENVALUES]),
    )


def _outside_span(agent: Agent, watch: Any) -> np.ndarray:
    """Rows that span what no context has had, where the policy tests inside the span; else none."""
    if watch is None or agent.policy.span != "pooled":  # type: ignore[attr-defined]
        return np.zeros((0, agent.n_features))
    rank = int(watch.numbers[watching.RANK])
    rows: np.ndarray = watch.matrices[watching.BASIS, : agent.n_features - rank]
    return rows


def _arm_report(
    agent: Agent,
    watch: Any,
    arm: int,
    gram: np.ndarray,
    pulls: int,
    outside: np.ndarray,
    usual: np.ndarray,
) -> ArmDiversity:
    tested = gram + (np.trace(gram) + 1.0) * outside.T @ outside
    values, directions = np.linalg.eigh(tested)
    weakest = directions[:, 0]
    order = np.argsort(-np.abs(weakest), kind="stable")
    slope, threshold, tripped, watched = 0.0, None, None, False
    if watch is not None:
        age = float(watch.numbers[watching.CLOCK] - watch.arms[arm, watching.SINCE])
        slope = float(watch.numbers[watching.LAMBDA0]) / 4.0
        if slope > 0.0:
            threshold = slope * age
        tripped = int(watch.arms[arm, watching.TRIPPED]) or None
        watched = not watch.arms[arm, watching.UNWATCHED]
    rounding = len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    smallest = float(values[0]) if values[0] > rounding and math.isfinite(values[0]) else 0.0
    return ArmDiversity(
        name=agent.arm_names[arm],
        pulls=pulls,
        min_eigenvalue=smallest,
        threshold=threshold,
        samples_needed=_samples_needed(
            agent, smallest, threshold, slope, weakest @ usual @ weakest
        ),
        weakest_direction={agent.feature_names[i]: float(weakest[i]) for i in order},
        tripped_at=tripped,
        dropped=bool(agent.dropped[arm]),
        watched=watched,
    )


def _samples_needed(
    agent: Agent, smallest: float, threshold: float | None, slope: float, gain: float
) -> int | None:
    """Pulls at usual contexts after which λ_min would be at the line, if each adds ``gain``.

    Each also moves the line by one round, ``slope`` λ₀/4; where that is more than it adds, none
    would do.
    """
    if threshold is None or not agent.rewards:
        return None
    if smallest >= threshold:
        return 0
    return math.ceil((threshold - smallest) / (gain - slope)) if gain > slope else None
