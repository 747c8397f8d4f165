"""A policy in the compiled loop of ``simulate``, on instances that are already drawn."""

from __future__ import annotations

import numpy as np
from greedyfirst.memory import allocate
from greedyfirst.policies.diversity_watch import SWITCHED_AT

from figure2 import clipped_gaussian_problem
from greedyfirst import GreedyFirst, Policy
from greedyfirst.experiments.figure2 import N_ARMS
from greedyfirst.policies.policy import compiled_for, init
from greedyfirst.problems import Draw
from greedyfirst.simulation.episode import play
from greedyfirst.simulation.simulate import plotted_steps
from measure import SkippedError

HORIZON = 10_000
SEED = 10
N_INSTANCES = 40  # of 0.6 MB (d=3) to 1.9 MB (d=20)


class Playing:
    """A policy in the compiled loop of ``simulate``, on instances that are already drawn."""

    def __init__(self, policy: Policy, n_features: int) -> None:
        self.record = policy.record(N_ARMS, n_features)
        self.buffer, self.state = allocate(
            lambda memory: init(self.record, N_ARMS, n_features, memory), HORIZON
        )
        self.fresh = self.buffer.copy()
        self.loop = compiled_for(play, type(policy))
        self.eligible = np.ones(N_ARMS)
        self.grid = plotted_steps(HORIZON).astype(np.int64)
        self.curve, self.pulls = np.zeros(len(self.grid)), np.zeros(N_ARMS)

    def run(self, draws: list[Draw]) -> None:
        """Play every instance from the first decision on."""
        for draw in draws:
            self.buffer[:] = self.fresh
            self.loop(
                self.record,
                self.state,
                SEED,
                *draw,
                self.eligible,
                self.grid,
                self.curve,
                self.pulls,
            )


def draw_instances(n_features: int) -> list[Draw]:
    """Instances of Figure 2(a)'s law on which Greedy-First does not switch."""
    problem, watched = clipped_gaussian_problem(n_features), Playing(GreedyFirst(), n_features)
    rng, kept = np.random.default_rng(SEED), []
    for _ in range(100 * N_INSTANCES):
        draw = problem.draw(rng, HORIZON)
        watched.run([draw])
        if watched.state.watch.numbers[SWITCHED_AT] == 0.0:
            kept.append(draw)
        if len(kept) == N_INSTANCES:
            return kept
    raise SkippedError(f"Greedy-First switches on nearly every instance with d={n_features}")
