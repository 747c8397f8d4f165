"""What a model that is some decisions old costs: regret by the size of batches.

    python benchmarks/staleness.py [--instances 40] [--jobs 2] [--rule 1] [--data-dir DIR]
        [--out figures]

Deciders with a copy of the model decide a batch of people without hearing of each other's rewards;
then all rewards are learned and the copies renewed. Batches of 1, 10, 100, 1000 and 10 000
decisions from the first one on; the same after 1000 decisions one by one; and batches of a tenth
of all decisions so far. Problems of Figures 2 and 4, with instances, draws and seeds of
``simulate``: batches of 1 are compared with it. Printed and written (``staleness.csv``): mean
regret at the end, what it is over that of batches of 1 in the same instances, and how much of the
difference falls into decisions at which, in batches of 1, an arm starved or the fallback decided.
``staleness.png`` shows the curves.
"""

from __future__ import annotations

import argparse
import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from greedyfirst import Agent, GreedyFirst, Policy, simulate
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.files.pictures import save_picture
from greedyfirst.models.linear_part import RULE, RULES

BATCHES = (1, 10, 100, 1000, 10_000)
WARM, SHARE = 1000, 10
PROBLEMS = {
    "fig2a": "Figure 2(a): diverse contexts",
    "fig2c": "Figure 2(c): an intercept, arms starve",
    "fig4a": "Figure 4(a): EEG",
    "fig4b": "Figure 4(b): eye movements",
}
#: Whose curves are shown per decision: the share of wrong ones.
PER_DECISION = ("fig4a", "fig4b")
DEFAULT = "GreedyFirst()"
SEED = 10


class Schedule(NamedTuple):
    """When the model is renewed."""

    #: Decisions in a batch, and those before the first batch, one by one.
    batch: int
    warm: int = 0
    #: Whether a batch is a tenth of all decisions so far instead.
    growing: bool = False

    def size(self, decided: int) -> int:
        """Decisions in the next batch."""
        if self.growing:
            return max(1, decided // SHARE)
        return 1 if decided < self.warm else self.batch

    @property
    def name(self) -> str:
        if self.growing:
            return "a tenth"
        return f"{self.batch:,}" + (f" after {self.warm:,}" if self.warm else "")


FRESH = Schedule(1)
SCHEDULES = (
    *(Schedule(batch) for batch in BATCHES),
    *(Schedule(batch, warm=WARM) for batch in BATCHES[1:]),
    Schedule(1, growing=True),
)


class Played(NamedTuple):
    """One policy on one instance, in batches."""

    #: Regret summed up to each plotted step, and in all.
    curve: np.ndarray
    regret: float
    #: Regret of, and number of, the decisions at which batches of 1 explore: an arm starves, or the
    #: fallback decides.
    exploring_regret: float
    exploring_decisions: int


@cache
def prepared(name: str, data: Path | None) -> Experiment:
    """The experiment, with its table if it has one."""
    return EXPERIMENTS[name].prepared(data)


def policies_of(experiment: Experiment, rule: int = RULE) -> dict[str, Policy]:
    """The figure's Greedy and Greedy-First, and the library's default, by this rule."""
    return {
        **{name: experiment.policies[name] for name in ("Greedy", "Greedy-First")},
        DEFAULT: GreedyFirst(rule=rule),
    }


def plotted(horizon: int) -> np.ndarray:
    return np.unique(np.geomspace(1, horizon, 60).astype(int))


def play(
    experiment: Experiment, policy: Policy, instance: int, schedule: Schedule
) -> tuple[np.ndarray, np.ndarray]:
    """Decide and learn in turns, a batch at a time: each decision's regret, and if it explored.

    The draws are those of ``simulate``.
    """
    problem, horizon = experiment.problem, experiment.horizon
    source = np.random.SeedSequence(SEED, spawn_key=(instance,))
    contexts, rewards, regrets = problem.draw(np.random.default_rng(source), horizon)
    seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
    agent = Agent(policy, n_arms=problem.n_arms, n_features=problem.n_features, seed=seed)
    arms, exploring = np.zeros(horizon, int), np.zeros(horizon, bool)
    first = 0
    while first < horizon:
        rows = slice(first, min(first + schedule.size(first), horizon))
        exploring[rows] = is_exploring(agent)
        if rows.stop - rows.start == 1:
            arms[first] = agent.choose(contexts[first])
            agent.update(contexts[first], int(arms[first]), float(rewards[first, arms[first]]))
        else:
            arms[rows] = agent.choose_many(contexts[rows])
            paid = np.take_along_axis(rewards[rows], arms[rows, None], axis=1)[:, 0]
            agent.update_many(contexts[rows], arms[rows], paid)
        first = rows.stop
    return np.take_along_axis(regrets, arms[:, None], axis=1)[:, 0], exploring


def is_exploring(agent: Agent) -> bool:
    """Whether the fallback decides or an arm starves, so that scores are more than estimates."""
    watch = agent.policy.watch(agent.state)
    return watch is not None and bool(watch.explores or np.any(getattr(watch, "starving", False)))


def play_instance(
    name: str, data: Path | None, rule: int, instance: int
) -> dict[tuple[str, Schedule], Played]:
    """Every policy and schedule on one instance."""
    experiment, found = prepared(name, data), {}
    steps = plotted(experiment.horizon) - 1
    for label, policy in policies_of(experiment, rule).items():
        fresh, exploring = play(experiment, policy, instance, FRESH)
        for schedule in SCHEDULES:
            lost = fresh
            if schedule != FRESH:
                lost = play(experiment, policy, instance, schedule)[0]
            found[label, schedule] = Played(
                np.cumsum(lost)[steps],
                float(lost.sum()),
                float(lost[exploring].sum()),
                int(exploring.sum()),
            )
    return found


def check_against_simulation(name: str, data: Path | None, rule: int, runs: list) -> None:
    """Batches of 1 are the ordinary simulation."""
    experiment, checked = prepared(name, data), min(len(runs), 5)
    policies = policies_of(experiment, rule)
    result = simulate(
        experiment.problem, policies, n_instances=checked, horizon=experiment.horizon, seed=SEED
    )
    for place, label in enumerate(result.policies):
        found = [runs[instance][label, FRESH].regret for instance in range(checked)]
        np.testing.assert_allclose(found, result.final[:, place], rtol=1e-9, err_msg=label)


def summary(name: str, runs: list) -> list[dict[str, object]]:
    """A line for each policy and schedule."""
    lines = []
    for label, schedule in runs[0]:
        played = [run[label, schedule] for run in runs]
        regret = np.array([each.regret for each in played])
        base = np.array([run[label, FRESH].regret for run in runs])
        exploring = np.array([each.exploring_regret for each in played])
        exploring_base = np.array([run[label, FRESH].exploring_regret for run in runs])
        extra = regret - base
        share = np.mean([each.exploring_decisions for each in played])
        error = 2.0 * extra.std(ddof=1) / np.sqrt(len(extra)) if len(extra) > 1 else np.nan
        lines.append(
            {
                "problem": name,
                "policy": label,
                "batch": schedule.name,
                "regret": regret.mean(),
                "extra": extra.mean(),
                "extra_half_width": error,
                "ratio": regret.mean() / base.mean(),
                "extra_exploring": (exploring - exploring_base).mean(),
                "exploring_decisions": share,
            }
        )
    return lines


def draw(figure: Figure, curves: dict[str, dict]) -> None:
    """A row of panels a problem, a panel a policy; dashed where 1000 came one by one."""
    labels = [*dict.fromkeys(label for label, _ in next(iter(curves.values())))]
    figure.set_size_inches(4.0 * len(labels), 3.0 * len(curves))
    axes = figure.subplots(len(curves), len(labels), squeeze=False)
    for row, (name, of_problem) in zip(axes, curves.items(), strict=True):
        for axis, label in zip(row, labels, strict=True):
            for schedule in SCHEDULES:
                steps, curve = of_problem[label, schedule]
                place = BATCHES.index(schedule.batch) / (len(BATCHES) - 1)
                colour = (
                    "crimson" if schedule.growing else colormaps["viridis_r"](0.1 + 0.9 * place)
                )
                style = "--" if schedule.warm else "-"
                shown = curve / steps if name in PER_DECISION else curve
                axis.plot(steps, shown, style, color=colour, label=schedule.name, linewidth=1.2)
            axis.set_xscale("log")
            if name not in PER_DECISION:
                axis.set_yscale("log")
            axis.set_title(f"{PROBLEMS[name]}\n{label}", fontsize=9)
        row[0].set_ylabel("share of wrong decisions" if name in PER_DECISION else "regret")
    for axis in axes[-1]:
        axis.set_xlabel("decisions")
    axes[0, 0].legend(title="batches of", fontsize=6, title_fontsize=7, ncols=2)


def main() -> int:
    """Play, check, print and write."""
    parser = argparse.ArgumentParser(description="regret by the age of the model")
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rule", type=int, default=RULE, choices=RULES)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path("figures"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines, curves = [], {}
    for name in options.problems:
        work = partial(play_instance, name, options.data_dir, options.rule)
        with ProcessPoolExecutor(options.jobs) as pool:
            runs = list(pool.map(work, range(options.instances)))
        check_against_simulation(name, options.data_dir, options.rule, runs)
        steps = plotted(prepared(name, options.data_dir).horizon)
        curves[name] = {
            key: (steps, np.mean([run[key].curve for run in runs], axis=0)) for key in runs[0]
        }
        lines += summary(name, runs)
        for line in lines[-len(runs[0]) :]:
            print(
                f"{name} {line['policy']:14} {line['batch']:>18}: regret {line['regret']:8.1f}"
                f", extra {line['extra']:7.1f} ± {line['extra_half_width']:5.1f}, ratio "
                f"{line['ratio']:5.2f}, of the extra while exploring {line['extra_exploring']:7.1f}"
                f", decisions while exploring {line['exploring_decisions']:8.1f}",
                flush=True,
            )
    with open(options.out / "staleness.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    save_picture(partial(draw, curves=curves), options.out / "staleness.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
