"""Instances × policies, on threads or a cluster, with common random numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from greedyfirst.engines.engine import blocks_of, engine_for, run_in_order
from greedyfirst.policies.policy import Policy
from greedyfirst.problems.problem import Problem
from greedyfirst.simulation.bench import Instances
from greedyfirst.simulation.episode import SmallIntArray
from greedyfirst.simulation.result import SimulationResult
from greedyfirst.simulation.streaming import StreamingMoments
from greedyfirst.validation import FloatArray, whole_number, wrong

if TYPE_CHECKING:
    from distributed import Client

FIRST_POINT = 20
POINTS = 50
#: The least number of blocks of a simulation that has as many instances; and the most rounds of a
#: block. To hand out a block takes Dask some 5 ms of processors: blocks of Figure 2 take 150 ms.
BLOCKS, ROUNDS_PER_BLOCK = 40, 250_000


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


def block_size(n_instances: int, horizon: int) -> int:
    """How many instances a block has: the same for all engines, threads and workers."""
    return max(1, min(n_instances // BLOCKS, ROUNDS_PER_BLOCK // horizon))


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy],
    *,
    n_instances: int,
    horizon: int,
    seed: int,
    n_jobs: int = 1,
    engine: Client | None = None,
    resume: str | Path | None = None,
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
        bit for bit, for any ``n_jobs``, ``engine`` and ``chunk_size``.
    n_jobs
        Threads; -1 is one per processor.
    engine
        A ``dask.distributed.Client``, whose workers then play the instances; ``None`` for threads.
    resume
        A directory in which finished blocks are kept; those that it has of the same simulation, by
        the same version of the code, are not played again.
    chunk_size
        Instances of a block: what a thread or worker is given at a time. ``None`` chooses by the
        numbers of instances and rounds.
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
    chosen = engine_for(n_jobs, engine, resume)
    if chunk_size is None:
        chunk_size = block_size(n_instances, horizon)
    blocks = blocks_of(n_instances, whole_number("chunk_size", chunk_size, at_least=1))
    grid = _checked_steps(steps, horizon)
    task = Instances(
        problem=problem,
        policies=tuple(policies.values()),
        seed=seed,
        horizon=horizon,
        grid=grid,
        keeps_arms=collect is not None,
    )
    moments = StreamingMoments((len(labels), len(grid)))
    seconds = np.zeros(len(labels))
    kept = _empty(n_instances, len(labels), problem)
    with (
        _advancing(progress, n_instances) as advance,
        closing(run_in_order(chosen, task, blocks)) as results,
    ):
        for block, found in zip(blocks, results, strict=True):
            for name, values in kept.items():
                values[block.start : block.stop] = found[name]
            for place, instance in enumerate(block):
                moments.add(found["curves"][place])
                seconds += found["seconds"][place]
                if collect is not None:
                    collect(instance, found["arms"][place])
                if collect_curves is not None:
                    collect_curves(instance, found["curves"][place])
            advance(len(block))
    return SimulationResult(
        policies=tuple(labels),
        steps=grid,
        mean=moments.mean,
        half_width=moments.half_width,
        final=kept["final"],
        switched_at=kept["switched_at"],
        eigenvalue_computations=kept["eigenvalues"],
        pulls=kept["pulls"],
        culprit=kept["culprit"],
        weakest=kept["weakest"],
        alarmed_at=kept["alarmed_at"],
        watched=tuple(policy.watches for policy in policies.values()),
        seconds=seconds,
        horizon=horizon,
        seed=seed,
    )


def _empty(n_instances: int, n_policies: int, problem: Problem) -> dict[str, NDArray[Any]]:
    """Room for what is kept of each instance."""
    each = (n_instances, n_policies)
    return {
        "final": np.zeros(each),
        "switched_at": np.zeros(each, np.int64),
        "eigenvalues": np.zeros(each, np.int64),
        "pulls": np.zeros((*each, problem.n_arms)),
        "culprit": np.full(each, -1),
        "weakest": np.zeros((*each, problem.n_features)),
        "alarmed_at": np.zeros(each, np.int64),
    }


def _checked_policies(policies: Mapping[str, Policy]) -> list[str]:
    if not isinstance(policies, Mapping) or not policies:
        raise wrong("policies", policies, "a mapping from at least one name to a policy")
    for name, policy in policies.items():
        if not isinstance(name, str) or not name:
            raise wrong("policies", name, "a mapping whose keys are non-empty names")
        if not isinstance(policy, Policy):
            raise wrong(f"policies[{name!r}]", policy, "a policy, for example Greedy()")
    return list(policies)


@contextmanager
def _advancing(wanted: bool | None, n_instances: int) -> Iterator[Callable[[int], None]]:
    """A progress bar, and what moves it on by some instances."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield lambda count: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("compiling", total=n_instances)
        yield lambda count: bar.update(task, advance=count, description="instances")
