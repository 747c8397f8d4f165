"""Speed and memory against their targets, one line each: see README.md.

python benchmarks/speed.py [--quick] [--only NAME] [--strict]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from figure2 import clipped_gaussian_problem, simulate_figure2
from greedyfirst import Agent, Greedy, GreedyFirst, simulate
from greedyfirst.experiments.figure2 import N_ARMS
from greedyfirst.problems import Draw
from measure import Reading, SkippedError, seconds, time_ratio
from playing import HORIZON, N_INSTANCES, SEED, Playing, draw_instances
from yardsticks import c_greedy, hash_in_threads, numpy_draw, numpy_greedy, python_loop


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    target: str  # as printed
    met: Callable[[float], bool] | None  # None: the number is for information
    measure: Callable[[bool], Reading]  # takes whether to be quick


def repetitions(quick: bool) -> int:
    """How often two things are measured in turns."""
    return 5 if quick else 15


# -------------------------------------------------------------------------------- simulation


def greedy_over_c(quick: bool, *, n_features: int) -> Reading:
    """Greedy in the compiled loop over the same algorithm in C."""
    draws = draw_instances(n_features)
    ours, yardstick = Playing(Greedy(), n_features), c_greedy(draws)
    return time_ratio(lambda: ours.run(draws), yardstick, repetitions=repetitions(quick))


def simulate_over_c(quick: bool, *, n_features: int) -> Reading:
    """A whole ``simulate`` over drawing the same arrays with NumPy and playing them in C."""
    problem = clipped_gaussian_problem(n_features)

    def numpy_instance(instance: int) -> Draw:
        source = np.random.SeedSequence(SEED, spawn_key=(instance,))
        return numpy_draw(source, HORIZON, n_features)

    def yardstick() -> None:
        for instance in range(N_INSTANCES):
            c_greedy([numpy_instance(instance)])()

    def ours() -> None:
        settings = {"n_instances": N_INSTANCES, "horizon": HORIZON, "seed": SEED}
        simulate(problem, {"Greedy": Greedy()}, **settings, n_jobs=1, progress=False)

    own = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(0,)))
    for mine, theirs in zip(problem.draw(own, HORIZON), numpy_instance(0), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    return time_ratio(ours, yardstick, repetitions=repetitions(quick))


def greedy_first_over_greedy(quick: bool, *, n_features: int) -> Reading:
    """Greedy-First over Greedy, where it does not switch."""
    draws = draw_instances(n_features)
    watched, greedy = Playing(GreedyFirst(), n_features), Playing(Greedy(), n_features)
    return time_ratio(
        lambda: watched.run(draws), lambda: greedy.run(draws), repetitions=repetitions(quick)
    )


def two_threads(quick: bool) -> Reading:
    """How many times faster two threads simulate Figure 2(a); beside it, how much they hash."""
    if (os.cpu_count() or 1) < 2:
        raise SkippedError("one processor")
    run = partial(simulate_figure2, "a", n_instances=64, horizon=HORIZON)
    times = repetitions(quick)
    reading = time_ratio(lambda: run(n_jobs=1), lambda: run(n_jobs=2), repetitions=times)
    ceiling = time_ratio(lambda: hash_in_threads(1), lambda: hash_in_threads(2), repetitions=times)
    return Reading(value=reading.value, text=f"{reading.text}; SHA-256 {ceiling.value:.2f}")


# ------------------------------------------------------------------------ one decision at a time


def agent_over_numpy(
    quick: bool, *, policy: type[Greedy | GreedyFirst], n_features: int
) -> Reading:
    """``Agent.choose`` and ``update`` over a greedy loop in NumPy, both past the singular phase."""
    pulls = 2 * n_features
    before, timed = N_ARMS * pulls, 3000
    draw = clipped_gaussian_problem(n_features).draw(np.random.default_rng(SEED), before + timed)
    contexts, rewards = list(draw.contexts), draw.rewards.tolist()
    agent: Any = Agent(policy(initial_pulls=pulls), n_arms=N_ARMS, n_features=n_features, seed=SEED)

    def decide(rounds: slice) -> None:
        for context, reward in zip(contexts[rounds], rewards[rounds], strict=True):
            arm = agent.choose(context)
            agent.update(context, arm, reward[arm])

    decide(slice(before))
    saved = agent.buffer.copy()
    estimates, inverses = agent.state.model.estimate.copy(), np.linalg.inv(agent.state.model.gram)

    def ours() -> None:
        agent.buffer[:] = saved
        agent.decisions = agent.joined = before
        decide(slice(before, None))

    def yardstick() -> None:
        numpy_greedy(contexts[before:], rewards[before:], estimates.copy(), inverses.copy())

    reading = time_ratio(ours, yardstick, repetitions=repetitions(quick))
    if policy is GreedyFirst and agent.explores:
        raise SkippedError("Greedy-First has switched")
    return reading


# -------------------------------------------------------------------------- processes of their own


def figure2_process(panel: str, *sizes: int, cache_directory: str | None = None) -> str:
    """Run ``figure2.py`` in a process of its own; what it prints."""
    command = [sys.executable, str(Path(__file__).with_name("figure2.py")), panel]
    environment = dict(os.environ)
    if cache_directory is not None:
        environment["NUMBA_CACHE_DIR"] = cache_directory
    done = subprocess.run(
        [*command, *map(str, sizes)],
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return done.stdout


@cache
def process_seconds(quick: bool) -> tuple[float, float, float]:
    """Seconds of the six policies' first process, of a later one, and of the loop in Python."""
    cold, warm, loop = [], [], []
    for _ in range(1 if quick else 2):
        with tempfile.TemporaryDirectory() as directory:
            start = partial(figure2_process, "c", 1, 100, 1, cache_directory=directory)
            loop.append(seconds(python_loop))
            cold.append(seconds(start))
            for _ in range(5):
                loop.append(seconds(python_loop))
                warm.append(seconds(start))
    return min(cold), min(warm), min(loop)


def start_reading(quick: bool, *, which: int) -> Reading:
    """Cold (0) or warm (1) start, in seconds and in loops."""
    times = process_seconds(quick)
    value, loop = times[which], times[2]
    return Reading(value=value, text=f"{value:.2f} s = {value / loop:.1f} Python loops")


def figure2_memory(quick: bool) -> Reading:
    """The peak of Figure 2(c)'s process, in GB."""
    peak = int(figure2_process("c", 100 if quick else 1000, HORIZON, 2)) / 1e9
    return Reading(value=peak, text=f"{peak:.2f} GB")


# ------------------------------------------------------------------------------------- the table


def at_most(bound: float) -> tuple[str, Callable[[float], bool]]:
    """A target: its print, and whether a number meets it."""
    return f"<= {bound:g}", lambda value: value <= bound


LINES = [
    *(
        line
        for d in (3, 20)
        for line in (
            Line(
                f"simulating Greedy over C, d={d}",
                *at_most(2),
                partial(greedy_over_c, n_features=d),
            ),
            Line(
                f"whole simulate over NumPy + C, d={d}",
                "",
                None,
                partial(simulate_over_c, n_features=d),
            ),
        )
    ),
    *(
        Line(
            f"GreedyFirst over Greedy, d={d}",
            *at_most(1.2),
            partial(greedy_first_over_greedy, n_features=d),
        )
        for d in (3, 20)
    ),
    *(
        Line(
            f"Agent({policy.__name__}) over NumPy, d={d}",
            *at_most(bound),
            partial(agent_over_numpy, policy=policy, n_features=d),
        )
        for d, bound in ((3, 0.5), (93, 1.0))
        for policy in (Greedy, GreedyFirst)
    ),
    Line("two threads over one, Figure 2(a)", ">= 1.6", lambda value: value >= 1.6, two_threads),
    Line(
        "cold compile of Figure 2",
        "<= 40 s",
        lambda value: value <= 20,
        partial(start_reading, which=0),
    ),
    Line(
        "warm start of Figure 2", "< 2 s", lambda value: value < 2, partial(start_reading, which=1)
    ),
    Line("peak memory of Figure 2", "< 1 GB", lambda value: value < 1, figure2_memory),
]


def print_line(line: Line, quick: bool) -> bool:
    """Measure and print one line; False if its target is missed."""
    try:
        reading = line.measure(quick)
    except SkippedError as reason:
        print(f"{line.what:38} {line.target:8} skipped: {reason}", flush=True)
        return True
    met = line.met is None or line.met(reading.value)
    verdict = "info" if line.met is None else "ok" if met else "MISSED"
    print(f"{line.what:38} {line.target:8} {reading.text:44} {verdict}", flush=True)
    return met


def main() -> int:
    """Print the table; 1 if a target is missed under ``--strict``."""
    parser = argparse.ArgumentParser(description="speed and memory against their targets")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", default="", metavar="NAME", help="lines whose name contains NAME")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a target is missed")
    options = parser.parse_args()
    chosen = [line for line in LINES if options.only.lower() in line.what.lower()]
    if not chosen:
        parser.error(f"--only {options.only!r}: expected part of one of the lines' names")
    print(f"{'what':38} {'target':8} {'measured':44}")
    met = [print_line(line, options.quick) for line in chosen]
    return 1 if options.strict and not all(met) else 0


if __name__ == "__main__":
    sys.exit(main())
