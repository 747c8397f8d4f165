"""Problems whose arms change during the run: one is added, or the best one is retired.

``simulate`` has the same arms from the first step to the last, so that agents play these, one
decision at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from greedyfirst import Agent, Policy
from greedyfirst.engines.engine import Arrays, Spread, Work, blocks_of, engine_for, run_in_order
from problems_of_the_field import HARD, Entry

#: Levels of three arms in standard deviations of the noise; the third is better by half of one.
LEVELS = (0.0, 0.2, 0.7)
CHANGES_AT, HORIZON = 2000, 6000
BLOCK = 5


@dataclass(frozen=True)
class ChangingArms:
    """An intercept and two normal features, with the same effects N(0, I) for all arms.

    The third arm is ``added`` after 2000 decisions, or there from the start and retired then.
    """

    added: bool
    n_arms: ClassVar[int] = len(LEVELS)
    n_features: ClassVar[int] = 3

    def available(self, step: int) -> slice:
        """The arms that can be taken at a step, which counts from 0."""
        return slice(3) if self.added == (step >= CHANGES_AT) else slice(2)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Contexts (HORIZON, 3) and rewards (HORIZON, 3)."""
        effects = rng.standard_normal(2)
        features = rng.standard_normal((HORIZON, 2))
        noise = rng.standard_normal(HORIZON)
        rewards = np.asarray(LEVELS) + (features @ effects + noise)[:, np.newaxis]
        return np.column_stack([np.ones(HORIZON), features]), rewards

    def regret(self, policy: Policy, contexts: np.ndarray, rewards: np.ndarray, seed: int) -> float:
        """What an agent loses in the run against the best arm that there is at each step."""
        agent = Agent(policy, n_arms=2 if self.added else 3, n_features=3, seed=seed)
        lost = 0.0
        for step, (context, paid) in enumerate(zip(contexts, rewards.tolist(), strict=True)):
            if step == CHANGES_AT:
                if self.added:
                    agent.add_arm()
                else:
                    agent.retire_arm(2)
            arm = agent.choose(context)
            agent.update(context, arm, paid[arm])
            lost += max(LEVELS[self.available(step)]) - LEVELS[arm]
        return lost


CHANGING = {
    "better arm added at t = 2000": Entry(ChangingArms(added=True), HORIZON, HARD),
    "best arm retired at t = 2000": Entry(ChangingArms(added=False), HORIZON, HARD),
}


@dataclass(frozen=True)
class AgentRuns:
    """A task of an engine: the regret of each policy in an instance."""

    problem: ChangingArms
    policies: tuple[Policy, ...]
    seed: int

    def prepare(self) -> Work:
        return self.play

    def play(self, instance: int) -> Arrays:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(instance,))
        contexts, rewards = self.problem.draw(np.random.default_rng(sequence))
        agents_seed = int(sequence.generate_state(1)[0])
        lost = [self.problem.regret(p, contexts, rewards, agents_seed) for p in self.policies]
        return {"final": np.array(lost)}


def play_agents(
    problem: ChangingArms,
    policies: Mapping[str, Policy],
    *,
    n_instances: int,
    seed: int,
    spread: Spread,
) -> np.ndarray:
    """Regrets (n_instances, n_policies), the same for any engine."""
    task = AgentRuns(problem, tuple(policies.values()), seed)
    results = run_in_order(engine_for(**spread), task, blocks_of(n_instances, BLOCK))
    return np.concatenate([found["final"] for found in results])
