"""Greedy-First and its decision-maker: the report, and what each answer to an alarm changes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.agent.diversity_report import ArmDiversity, DiversityReport
from greedyfirst.agent.online import learn_many
from greedyfirst.agent.reshaping import copy_arms
from greedyfirst.memory import allocate
from greedyfirst.models import summary
from greedyfirst.models.generalized_linear import GeneralizedLinear
from greedyfirst.models.least_squares import COUNT
from greedyfirst.policies import GreedyFirst, initial_pulls
from greedyfirst.policies import diversity_watch as watching
from greedyfirst.policies.policy import SUMMARY, compiled_for, init

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
    agent.state.outlook[:] = 0.0


def leave_out(agent: Agent, arm: int, *, dropped: bool) -> None:
    """Test this arm no more, and choose it no more if it is dropped."""
    watch = agent.state.watch
    watch.arms[arm, watching.UNWATCHED] = 1.0
    if dropped:
        watch.arms[arm, watching.DROPPED] = 1.0
    watch.numbers[watching.ALARMS] += 1.0


def _clock(agent: Agent) -> float:
    watch = agent.state.watch.numbers
    earliest = agent.record.t0 - 1
    return max(float(watch[watching.CLOCK]), float(earliest))


def explore(agent: Agent) -> None:
    """Start the fallback now; with ``carry_over`` it learns the greedy phase's samples first."""
    watch = agent.state.watch.numbers
    watch[watching.MODE] = watching.EXPLORES
    watch[watching.SWITCHED_AT] = watch[watching.CLOCK]
    watch[watching.ALARMS] += 1.0
    watch[watching.OFFSET] = agent.decisions
    if not agent.policy.carry_over:  # type: ignore[attr-defined]
        return
    source, target = agent.state.greedy.model, agent.state.fallback.model
    if isinstance(source, GeneralizedLinear) and isinstance(target, GeneralizedLinear):
        copy_arms(source, target)
        return
    samples = getattr(source, "linear", source)
    rows, arms, rewards = summary.summary_rows(samples)
    target.numbers[:, COUNT] += summary.rows_not_handed_over(samples, arms)
    compiled_for(learn_many, type(agent.policy.fallback))(  # type: ignore[attr-defined]
        agent.record.fallback,
        agent.state.fallback,
        np.full(len(rows), SUMMARY),
        rows,
        arms,
        rewards,
    )


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
    if state.explores and hasattr(state.fallback, "initial"):
        own_step = agent.decisions - int(watch.numbers[watching.OFFSET])
        own = agent.record.fallback.initial_pulls
        initial_pulls.admit(state.fallback.initial, arm, own_step, pulls, own)
    elif hasattr(state.fallback, "initial"):
        state.fallback.initial[:, initial_pulls.FOUNDERS] = agent.n_arms
    watch.arms[arm, watching.SINCE] = watch.numbers[watching.CLOCK]
    watch.numbers[watching.NEXT_TEST] = min(
        watch.numbers[watching.NEXT_TEST], watch.numbers[watching.CLOCK] + agent.record.test_after
    )


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
    threshold, tripped, watched = None, None, False
    if watch is not None:
        age = float(watch.numbers[watching.CLOCK] - watch.arms[arm, watching.SINCE])
        if watch.numbers[watching.LAMBDA0] > 0.0:
            threshold = float(watch.numbers[watching.LAMBDA0]) * age / 4.0
        tripped = int(watch.arms[arm, watching.TRIPPED]) or None
        watched = not watch.arms[arm, watching.UNWATCHED]
    rounding = len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    smallest = float(values[0]) if values[0] > rounding and math.isfinite(values[0]) else 0.0
    return ArmDiversity(
        name=agent.arm_names[arm],
        pulls=pulls,
        min_eigenvalue=smallest,
        threshold=threshold,
        samples_needed=_samples_needed(agent, smallest, threshold, weakest @ usual @ weakest),
        weakest_direction={agent.feature_names[i]: float(weakest[i]) for i in order},
        tripped_at=tripped,
        dropped=bool(agent.dropped[arm]),
        watched=watched,
    )


def _samples_needed(
    agent: Agent, smallest: float, threshold: float | None, gain: float
) -> int | None:
    """Pulls at usual contexts after which λ_min would be at the line, if each adds ``gain``.

    Each also moves the line λ₀t/4 by one round; where that is more than it adds, none would do.
    """
    if threshold is None or not agent.rewards:
        return None
    if smallest >= threshold:
        return 0
    slope = threshold / agent.rewards
    return math.ceil((threshold - smallest) / (gain - slope)) if gain > slope else None
