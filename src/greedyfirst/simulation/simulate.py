"""Instances × policies, in threads, with common random numbers."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from greedyfirst.compiling.calls import argument, compiled
from greedyfirst.links.link import check_rewards
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import Policy
from greedyfirst.problems.problem import Problem
from greedyfirst.simulation.episode import SmallIntArray, play
from greedyfirst.simulation.result import SimulationResult
from greedyfirst.simulation.streaming import StreamingMoments
from greedyfirst.validation import FloatArray, array, whole_number, wrong

FIRST_POINT = 20
POINTS = 50
CHUNKS_PER_THREAD = 8
LARGEST_CHUNK = 25


def plotted_steps(horizon: int) -> NDArray[np.int64]:
    """The paper's grid: t = 20, then every ⌊T/50⌋ rounds up to T; all rounds when T < 100."""
    if horizon < 2 * POINTS:
        return np.arange(1, horizon + 1)
    return np.arange(FIRST_POINT, horizon + 1, horizon // POINTS)


def _checked_steps(steps: ArrayLike | None, horizon: int) -> NDArray[np.int64]:
    """The rounds at which curves are kept; None: the paper's grid, and the horizon at its end."""
    if steps is None:
        return np.union1d(plotted_steps(horizon), horizon)
    given = np.asarray(steps)
    if given.dtype.kind not in "iu" or given.ndim != 1 or not given.size:
        raise wrong("steps", steps, "whole numbers, at least one")
    if (np.diff(given) <= 0).any() or given[0] < 1 or given[-1] > horizon:
        raise wrong("steps", steps, f"ascending, from 1 to the horizon {horizon}")
    return given.astype(np.int64)


class Outcome(NamedTuple):
    """What one instance gave."""

    curves: FloatArray  # (n_policies, n_points)
    final: FloatArray  # (n_policies,)
    switched_at: NDArray[np.int64]  # (n_policies,) 0 for never
    eigenvalues: NDArray[np.int64]  # (n_policies,)
    pulls: FloatArray  # (n_policies, n_arms)
    culprit: NDArray[np.int64]  # (n_policies,) the arm that tripped the test, -1 for none
    weakest: FloatArray  # (n_policies, n_features) its weakest direction, 0 for none
    alarmed_at: NDArray[np.int64]  # (n_policies,) the round at which it did, 0 for none
    seconds: FloatArray  # (n_policies,)
    arms: SmallIntArray  # (n_policies, horizon) the arm of each round, or (n_policies, 0)


class Place(NamedTuple):
    """A policy ready to play."""

    loop: Any
    options: Any
    state: Any
    buffer: np.ndarray
    fresh: np.ndarray  # the buffer before the first decision
    in_python: bool

    def arguments(self, options: Any) -> tuple[Any, Any]:
        """Options and state as the loop takes them."""
        if self.in_python:
            return options, self.state
        return argument(options), argument(self.state)


class Bench:
    """One thread's states: a policy is set back to its first decision by copying its buffer."""

    def __init__(
        self,
        problem: Problem,
        policies: list[Policy],
        seed: int,
        grid: NDArray[np.int64],
        horizon: int,
        collected: int = 0,
    ) -> None:
        self.problem, self.policies = problem, policies
        self.seed, self.grid, self.horizon = seed, grid, horizon
        self.collected = collected
        n_arms, n_features = problem.n_arms, problem.n_features
        self.eligible = np.ones(n_arms)
        told = self._informed(0)
        self.places: list[Place] = []
        for policy in told:
            options = policy.options(n_arms, n_features)
            buffer, state = new_state(options, n_arms, n_features, horizon)
            tables = np.zeros((0, n_arms))
            loop = compiled(
                loop_for(play, policy, options, state),
                options,
                state,
                0,
                np.zeros((0, n_features)),
                tables,
                tables,
                self.eligible,
                np.zeros(0, np.int64),
                np.zeros(0),
                np.zeros(n_arms),
                np.zeros(0, np.int16),
            )
            in_python = not policy.is_compiled()
            self.places.append(Place(loop, options, state, buffer, buffer.copy(), in_python))

    def _source(self, instance: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(instance,))

    def _informed(self, instance: int) -> list[Policy]:
        """The policies, with what they ask to know of this instance."""
        if not any(policy.needs_truth() for policy in self.policies):
            return self.policies
        tell = getattr(self.problem, "draw_parameters", None)
        if not callable(tell):
            expected = "one with draw_parameters(rng), for policies that must know the truth"
            raise wrong("problem", self.problem, expected)
        shape = (self.problem.n_arms, self.problem.n_features)
        truth = tell(np.random.default_rng(self._source(instance)))
        known = array("parameters of problem.draw_parameters()", truth, shape)
        return [
            policy.informed(known) if policy.needs_truth() else policy for policy in self.policies
        ]

    def run(self, instance: int) -> Outcome:
        """Play one instance with every policy."""
        source, grid = self._source(instance), self.grid
        draw = self._checked(self.problem.draw(np.random.default_rng(source), self.horizon))
        decision_seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
        n = len(self.places)
        curves, final, seconds = np.zeros((n, len(grid))), np.zeros(n), np.zeros(n)
        switched_at, eigenvalues = np.zeros(n, np.int64), np.zeros(n, np.int64)
        culprit, weakest = np.full(n, -1), np.zeros((n, self.problem.n_features))
        pulls, alarmed_at = np.zeros((n, self.problem.n_arms)), np.zeros(n, np.int64)
        arms = np.zeros((n, self.collected), np.int16)
        told = self._informed(instance)
        for number, (policy, place) in enumerate(zip(told, self.places, strict=True)):
            options = place.options
            if policy is not self.policies[number]:
                options = policy.options(self.problem.n_arms, self.problem.n_features)
            place.buffer[:] = place.fresh
            start = time.perf_counter()
            final[number] = place.loop(
                *place.arguments(options),
                decision_seed,
                *draw,
                self.eligible,
                grid,
                curves[number],
                pulls[number],
                arms[number],
            )
            seconds[number] = time.perf_counter() - start
            watch = policy.watch(place.state)
            if watch is not None:
                switched_at[number] = watch.switched_at
                eigenvalues[number] = watch.eigenvalue_computations
                culprit[number] = watch.culprit
                if watch.culprit >= 0:
                    weakest[number] = watch.weakest[watch.culprit]
                    alarmed_at[number] = watch.tripped_at[watch.culprit]
        return Outcome(
            curves,
            final,
            switched_at,
            eigenvalues,
            pulls,
            culprit,
            weakest,
            alarmed_at,
            seconds,
            arms,
        )

    def _checked(self, draw: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The tables of a draw, as the kernels need them: they read without looking."""
        try:
            contexts, rewards, regrets = draw
        except (TypeError, ValueError):
            raise wrong("problem.draw()", draw, "contexts, rewards and regrets") from None
        long, wide = (self.horizon, self.problem.n_features), (self.horizon, self.problem.n_arms)
        rewards = array("rewards of problem.draw()", rewards, wide)
        for link in {policy.reward_link() for policy in self.policies}:
            check_rewards("rewards of problem.draw()", link, rewards)
        return (
            array("contexts of problem.draw()", contexts, long),
            rewards,
            array("regrets of problem.draw()", regrets, wide),
        )


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy],
    *,
    n_instances: int,
    horizon: int,
    seed: int,
    n_jobs: int = 1,
    chunk_size: int | None = None,
    progress: bool | None = None,
    steps: ArrayLike | None = None,
    collect: Callable[[int, SmallIntArray], None] | None = None,
    collect_curves: Callable[[int, FloatArray], None] | None = None,
) -> SimulationResult:
    """Run every policy on the same instances of a problem.

    Parameters
    ----------
    problem
        Where contexts and rewards come from: :mod:`greedyfirst.problems`.
    policies
        By the name under which they are shown.
    n_instances, horizon
        How many instances, and rounds in each.
    seed
        Instance i's contexts, rewards and ties depend on (seed, i) only: the result is the same,
        bit for bit, for any ``n_jobs`` and ``chunk_size``.
    n_jobs
        Threads; -1 is one per processor.
    chunk_size
        Instances handed to a thread at a time.
    progress
        Whether to show a progress bar; ``None`` shows it on a terminal.
    steps
        The rounds at which curves are kept, ascending. ``None`` takes about fifty, the horizon the
        last of them; those of the paper's figures are ``plotted_steps(horizon)``.
    collect
        Called for each instance, in their order, with its number and the arm that each policy took
        in each round (n_policies, horizon).
    collect_curves
        Called likewise with the regret of each policy summed up to each plotted step
        (n_policies, n_points).

    Returns
    -------
    SimulationResult
        Mean cumulative regret with half-widths at ``steps``, switches, times.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst import Greedy, Oracle, simulate
    >>> from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBox
    >>> problem = LinearProblem(
    ...     contexts=UniformBox(n_features=2),
    ...     arms=np.array([[1.0, 0.0], [0.0, 1.0]]),
    ...     noise=GaussianNoise(sigma=0.1),
    ... )
    >>> policies = {"Greedy": Greedy(), "Oracle": Oracle()}
    >>> result = simulate(problem, policies, n_instances=5, horizon=200, seed=1)
    >>> result.policies, result.n_instances
    (('Greedy', 'Oracle'), 5)
    >>> float(result.mean[1, -1])  # who knows the parameters has no regret
    0.0
    """
    labels = _checked_policies(policies)
    if isinstance(problem, type) or not callable(getattr(problem, "draw", None)):
        raise wrong("problem", problem, "a problem: n_arms, n_features and draw(rng, horizon)")
    for size in ("n_arms", "n_features"):
        whole_number(f"problem.{size}", getattr(problem, size, None), at_least=1)
    n_instances = whole_number("n_instances", n_instances, at_least=1)
    horizon = whole_number("horizon", horizon, at_least=1)
    seed = whole_number("seed", seed, at_least=0)
    n_jobs = whole_number("n_jobs", n_jobs, at_least=-1)
    if n_jobs == 0:
        raise wrong("n_jobs", n_jobs, "at least 1, or -1 for one per processor")
    n_jobs = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    if chunk_size is None:
        share = n_instances // (n_jobs * CHUNKS_PER_THREAD)
        chunk_size = max(1, min(LARGEST_CHUNK, share))
    chunk_size = whole_number("chunk_size", chunk_size, at_least=1)
    grid = _checked_steps(steps, horizon)
    moments = StreamingMoments((len(labels), len(grid)))
    final = np.zeros((n_instances, len(labels)))
    switched_at = np.zeros((n_instances, len(labels)), np.int64)
    eigenvalues = np.zeros((n_instances, len(labels)), np.int64)
    culprit = np.full((n_instances, len(labels)), -1)
    pulls = np.zeros((n_instances, len(labels), problem.n_arms))
    weakest = np.zeros((n_instances, len(labels), problem.n_features))
    alarmed_at = np.zeros((n_instances, len(labels)), np.int64)
    seconds = np.zeros(len(labels))
    collected = 0 if collect is None else horizon
    players = list(policies.values())
    outcomes = _outcomes(
        lambda: Bench(problem, players, seed, grid, horizon, collected),
        n_instances,
        n_jobs,
        chunk_size,
    )
    with _progress(progress) as bar:
        task = None if bar is None else bar.add_task("compiling", total=n_instances)
        for instance, outcome in enumerate(outcomes):
            if bar is not None and instance == 0:
                bar.update(task, description="instances")
            moments.add(outcome.curves)
            final[instance], switched_at[instance] = outcome.final, outcome.switched_at
            eigenvalues[instance] = outcome.eigenvalues
            pulls[instance], culprit[instance] = outcome.pulls, outcome.culprit
            weakest[instance], alarmed_at[instance] = outcome.weakest, outcome.alarmed_at
            if collect is not None:
                collect(instance, outcome.arms)
            if collect_curves is not None:
                collect_curves(instance, outcome.curves)
            seconds += outcome.seconds
            if bar is not None:
                bar.advance(task)
    watched = [policy.watches for policy in policies.values()]
    return SimulationResult(
        policies=tuple(labels),
        steps=grid,
        mean=moments.mean,
        half_width=moments.half_width,
        final=final,
        switched_at=switched_at,
        eigenvalue_computations=eigenvalues,
        pulls=pulls,
        culprit=culprit,
        weakest=weakest,
        alarmed_at=alarmed_at,
        watched=tuple(watched),
        seconds=seconds,
        horizon=horizon,
        seed=seed,
    )


def _checked_policies(policies: Mapping[str, Policy]) -> list[str]:
    if not isinstance(policies, Mapping) or not policies:
        raise wrong("policies", policies, "a mapping from at least one name to a policy")
    for name, policy in policies.items():
        if not isinstance(name, str) or not name:
            raise wrong("policies", name, "a mapping whose keys are non-empty names")
        if not isinstance(policy, Policy):
            raise wrong(f"policies[{name!r}]", policy, "a policy, for example Greedy()")
    return list(policies)


def _progress(wanted: bool | None) -> Any:
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return nullcontext()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def _outcomes(
    make_bench: Callable[[], Bench], n_instances: int, n_jobs: int, chunk_size: int
) -> Iterator[Outcome]:
    """Outcomes in the order of the instances; few are held at a time.

    The first bench is made here, so that kernels are compiled once, before threads start.
    """
    local = threading.local()
    stopping = threading.Event()
    local.bench = make_bench()

    def work(first: int) -> list[Outcome]:
        if not hasattr(local, "bench"):
            local.bench = make_bench()
        done: list[Outcome] = []
        for instance in range(first, min(first + chunk_size, n_instances)):
            if stopping.is_set():
                break
            done.append(local.bench.run(instance))
        return done

    starts = iter(range(0, n_instances, chunk_size))
    if n_jobs == 1:
        for first in starts:
            yield from work(first)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        waiting: list[Future[list[Outcome]]] = [
            pool.submit(work, first) for first in islice(starts, 2 * n_jobs)
        ]
        try:
            while waiting:
                done = waiting.pop(0).result()
                waiting.extend(pool.submit(work, first) for first in islice(starts, 1))
                yield from done
        finally:
            stopping.set()
            for future in waiting:
                future.cancel()
