"""Greedy-First's two phases: the switch to the fallback, the way back, and arms that join later."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import allocate, copy_record
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.policies import initial_pulls
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.greedy_first import warm_start
from greedyfirst.policies.greedy_first.arm_by_arm import ArmWatch, look_soon, may_raise
from greedyfirst.policies.greedy_first.watch import Watch, leave_out, test_soon


class Deciding(Protocol):
    """What an answer needs of the agent that it is given to."""

    options: Any
    state: Any
    decisions: int
    room: int

    @property
    def n_arms(self) -> int:
        """How many arms there are."""

    @property
    def n_features(self) -> int:
        """How long a context is."""


@kernel
def switch(policy: Any, state: Any, step: int) -> None:
    """Start the fallback after decision ``step``, with what it is handed."""
    watch = state.watch
    watch.explores = True
    decided = max(step, watch.decided)
    watch.offset = max(decided - warm_start.initial_steps(policy, state), 0)
    watch.switched_at = watch.clock
    warm_start.hand_over(policy, state)


def _switch(policy: Any, state: Any, step: int) -> None:
    switch(policy, state, step)


def explore(agent: Deciding) -> None:
    """Explore all arms from now on: start the fallback, with what the policy hands over."""
    watch = agent.state.watch
    if watch.explores:
        return
    watch.alarms += 1
    watch.decided = agent.decisions
    if isinstance(watch, ArmWatch):
        watch.explores = True
        watch.switched_at = watch.clock
        look_soon(watch)
        return
    entry = entry_for(_switch, agent.options, agent.state)
    run(entry, agent.options, agent.state, agent.decisions)


def explore_arm(agent: Deciding, arm: int) -> None:
    """Explore this arm from now on while it starves; the others go on as they are."""
    watch: ArmWatch = agent.state.watch
    watch.alarms += 1
    watch.explored[arm] = True
    watch.exempt[arm] = False
    look_soon(watch)


def return_to_greedy(agent: Deciding, arm: int, *, dropped: bool) -> None:
    """Test this arm no more and go back to greedy, with a fallback that starts afresh."""
    state, options = agent.state, agent.options
    watch = state.watch
    leave_out(watch, arm, dropped=dropped)
    if isinstance(watch, ArmWatch):
        watch.explored[arm] = False
        if watch.explores:  # that was the answer to the other arms' alarms: they are raised again
            watch.tripped_at[~(watch.exempt | watch.explored)] = 0
    watch.explores = False
    watch.switched_at = 0
    if isinstance(watch, ArmWatch):
        look_soon(watch)
        return
    # The other arms are tested, and λ₀ is estimated if it has not been, after the next reward.
    test_soon(watch)
    build = partial(kernels.init, options.fallback, agent.n_arms, agent.n_features)
    _, fresh = allocate(build, agent.room)
    copy_record(fresh, state.fallback)
    plan_fallback(agent)
    if isinstance(state.greedy.model, LeastSquares):
        least_squares.resume(state.greedy.model, options.greedy.warmup)
    state.scores.value[:] = 0.0
    state.scores.spread[:] = 0.0
    state.scores.random_share = 0.0
    state.scores.stated = False


def watch_again(watch: Watch, arm: int, *, anew: bool) -> None:
    """Test this arm again, as soon as may be.

    An arm that starves raises an alarm again with ``anew``, else only after it has been fed.
    """
    watch.exempt[arm] = False
    if isinstance(watch, ArmWatch) and anew:
        watch.tripped_at[arm] = 0
    test_soon(watch)


def explore_starving(watch: Watch, explores_arms: bool) -> None:
    """Explore arms while they starve from now on, those that are left out of the test aside."""
    if isinstance(watch, ArmWatch) and explores_arms:
        watch.explored[~watch.exempt] = True
        may_raise(watch)


def admit(agent: Deciding, pulls: int) -> None:
    """Plan the first pulls of the newest arm, and its test."""
    state, options, arm = agent.state, agent.options, agent.n_arms - 1
    watch = state.watch
    initial_pulls.admit(
        state.greedy.initial, arm, agent.decisions, pulls, options.greedy.initial_pulls
    )
    if isinstance(watch, ArmWatch):
        watch.starving[arm] = True
        watch.explored[arm] = options.explores_arms
        look_soon(watch)
    elif not watch.explores:
        plan_fallback(agent)
    elif hasattr(state.fallback, "initial"):
        own_step = agent.decisions - watch.offset
        own = options.fallback.initial_pulls
        initial_pulls.admit(state.fallback.initial, arm, own_step, pulls, own)
    watch.since[arm] = watch.clock
    watch.next_test = min(watch.next_test, watch.clock + watch.options.test_after)


def plan_fallback(agent: Deciding) -> None:
    """Plan the first pulls of a fallback that has not started.

    Added arms are in its turns from the start, or behind the initial samples that it is handed.
    """
    state, options = agent.state, agent.options
    if not hasattr(state.fallback, "initial"):
        return
    plan, greedy_plan = state.fallback.initial, state.greedy.initial
    if options.carry_over != warm_start.INITIAL:
        plan.founders = agent.n_arms
        return
    initial_pulls.clear(plan, greedy_plan.founders)
    for arm in range(greedy_plan.founders, agent.n_arms):
        pulls = int(greedy_plan.pulls[arm])
        initial_pulls.admit(plan, arm, 0, pulls, options.fallback.initial_pulls)
