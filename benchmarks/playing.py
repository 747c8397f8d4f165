"""A policy in the compiled loop of ``simulate``, on instances that are already drawn."""

from __future__ import annotations

import numpy as np

from figure2 import clipped_gaussian_problem
from greedyfirst import GreedyFirst, Policy
from greedyfirst.compiling.calls import argument, compiled
from greedyfirst.experiments.figure2 import N_ARMS
from greedyfirst.policies.loops import loop_for, new_state
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
        options = policy.options(N_ARMS, n_features)
        self.buffer, self.state = new_state(options, N_ARMS, n_features, HORIZON)
        self.fresh = self.buffer.copy()
        self.grid = plotted_steps(HORIZON).astype(np.int64)
        self.records = options, self.state  # kept alive: the loop gets their addresses
        table, row = np.zeros((0, N_ARMS)), np.zeros(N_ARMS)
        self.curve = np.zeros(len(self.grid))
        self.notes = np.ones(N_ARMS), self.grid, self.curve, row, np.zeros(0, np.int16)
        tables = np.zeros((0, n_features)), table, table
        loop = loop_for(play, policy, *self.records)
        self.loop = compiled(loop, *self.records, SEED, *tables, *self.notes)

    def run(self, draws: list[Draw]) -> None:
        """Play every instance from the first decision on."""
        records = [argument(record) for record in self.records]
        for draw in draws:
            self.buffer[:] = self.fresh
            self.loop(*records, SEED, *draw, *self.notes)


def draw_instances(n_features: int) -> list[Draw]:
    """Instances of Figure 2(a)'s law on which Greedy-First does not switch."""
    problem, watched = clipped_gaussian_problem(n_features), Playing(GreedyFirst(), n_features)
    rng, kept = np.random.default_rng(SEED), []
    for _ in range(100 * N_INSTANCES):
        draw = problem.draw(rng, HORIZON)
        watched.run([draw])
        if watched.state.watch.switched_at == 0:
            kept.append(draw)
        if len(kept) == N_INSTANCES:
            return kept
    raise SkippedError(f"Greedy-First switches on nearly every instance with d={n_features}")
