"""What the text says of warfarin beyond Figure 4(d), and no figure of the paper shows.

- Greedy "would perform poorly" if mistakes on patients who need a high dose cost more:
  ``warfarin-cost-2``, ``-5`` and ``-10`` count such a mistake as that many others. Whoever errs
  sees the loss: the reward is 1 - cost instead of 0. In ``warfarin-premium-5`` the regrets are
  those of a cost of 5, but a mistake pays 0 as any other, and the right dose 5: what is lost is not
  seen.
- "If the horizon were to be extended", the others "would eventually overtake" Greedy:
  ``warfarin-resampled`` draws patients with replacement, 18 times as many as there are.

Policies and their options are those of Figure 4(d); the last has Greedy-First as the library has it
too, which explores arm by arm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from greedyfirst.experiments import figure4
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.policies import GreedyFirst
from greedyfirst.problems import TableProblem
from greedyfirst.validation import FloatArray

PUBLISHED = next(panel for panel in figure4.EXPERIMENTS if panel.data_set == "warfarin")
HIGH_DOSE = 2
COSTS = (2.0, 5.0, 10.0)
PREMIUM = 5.0
HORIZON, N_RESAMPLED = 100_000, 40
ARM_BY_ARM = "Greedy-First (arm by arm)"


def with_cost(rewards: FloatArray, cost: float, *, seen: bool = True) -> FloatArray:
    """Rewards (n, 3) of which a mistake on a high-dose patient costs ``cost``, not 1.

    ``seen``: the mistake pays 1 - cost. Else the right dose pays ``cost``.
    """
    changed = rewards.copy()
    high = rewards[:, HIGH_DOSE] == 1.0
    right, wrong = (1.0, 1.0 - cost) if seen else (cost, 0.0)
    changed[high] = np.where(rewards[high] == 1.0, right, wrong)
    return changed


@dataclass(frozen=True, kw_only=True)
class Changed:
    """Figure 4(d) with something changed, once its table is there."""

    name: str
    title: str
    change: Callable[[Experiment, TableProblem], Experiment]

    def prepared(self, data_directory: Path | None) -> Experiment:
        """The experiment with its table, from ``data_directory`` or where tables are looked for."""
        published = PUBLISHED.prepared(data_directory)
        assert isinstance(published.problem, TableProblem)
        changed = self.change(published, published.problem)
        return replace(changed, name=self.name, title=self.title)


def costly(name: str, title: str, cost: float, words: str, *, seen: bool) -> Changed:
    """Figure 4(d) with another cost of mistakes on high-dose patients."""

    def change(published: Experiment, problem: TableProblem) -> Experiment:
        rewards = with_cost(np.asarray(problem.rewards), cost, seen=seen)
        return replace(
            published,
            problem=TableProblem(contexts=problem.contexts, rewards=rewards, shuffle=True),
            settings={**published.settings, "rewards": words},
            per_decision="cost per decision",
        )

    return Changed(name=name, title=title, change=change)


def with_penalty(cost: float) -> Changed:
    """A mistake on a high-dose patient is paid for."""
    return costly(
        f"warfarin-cost-{cost:g}",
        f"Warfarin, mistakes on high-dose patients cost {cost:g}",
        cost,
        f"1 for the right class, 0 otherwise; {1 - cost:g} for a mistake on a high-dose patient",
        seen=True,
    )


def with_premium(cost: float) -> Changed:
    """The right dose of a high-dose patient pays more."""
    return costly(
        f"warfarin-premium-{cost:g}",
        f"Warfarin, a right high dose pays {cost:g}",
        cost,
        f"1 for the right class, {cost:g} if that is the high dose, 0 otherwise",
        seen=False,
    )


def resampled() -> Changed:
    """Figure 4(d) for a long time."""

    def change(published: Experiment, problem: TableProblem) -> Experiment:
        rows = TableProblem(contexts=problem.contexts, rewards=problem.rewards, resample=True)
        contexts = "rows divided by their length, drawn with replacement"
        return replace(
            published,
            problem=rows,
            policies={**published.policies, ARM_BY_ARM: GreedyFirst()},
            horizon=HORIZON,
            n_instances=N_RESAMPLED,
            settings={**published.settings, "contexts": contexts},
        )

    title = f"Warfarin, {HORIZON} patients drawn with replacement"
    return Changed(name="warfarin-resampled", title=title, change=change)


EXPERIMENTS = (*(with_penalty(cost) for cost in COSTS), with_premium(PREMIUM), resampled())
