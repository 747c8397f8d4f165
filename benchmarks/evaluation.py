"""What logs prove, where the truth is known: a shop's two policies, and simulated logs.

    python benchmarks/evaluation.py [--runs 2000] [--only shop|estimators|learned|arms]

"shop": the value of the shop's Thompson sampling policy by its random log, and by its own
(`../shared/data/logged`). "estimators": coverage of the 95 % intervals of `evaluate`, on logs of
1000 decisions. "learned": bias and coverage of `evaluate` for the same arm for everyone, on logs of
policies that learn; the reward model is right there. "arms": coverage of "each arm for everyone"
on such logs, beside the plain mean of the same scores, which is not normal, and the mean reward of
the decisions that took the arm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from greedyfirst import Agent, EpsilonGreedy, Greedy, ThompsonSampling
from greedyfirst.evaluation import (
    ESTIMATORS,
    Estimate,
    LoggedData,
    always,
    arm_values,
    evaluate,
    in_control,
    shares_of,
)
from greedyfirst.evaluation.adaptive_weights import arm_scores, arm_weights
from greedyfirst.tables import read_table
from greedyfirst.validation import FloatArray

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logged"
DECISIONS, SHARE = 1000, 0.1
NAMES = ("a", "b", "c")
#: Per arm: level and slope. Of the second setting all are alike, so that a policy leaves good arms.
SETTINGS = {
    "arms differ": np.array([[0.0, 0.5], [0.3, 0.0], [0.2, -0.5]]),
    "arms are alike": np.zeros((3, 2)),
}
POLICIES = {
    "Thompson sampling": ThompsonSampling(prior_covariance="auto"),
    "epsilon-greedy, 10 %": EpsilonGreedy(epsilon=0.1),
    "Greedy, 10 % to arm a": Greedy(),
}


def shop(runs: int) -> None:
    """The shop's Thompson policy from the random log, against its own log."""
    print("| campaign |", " | ".join(ESTIMATORS), "| its own log |")
    print("|" + "---|" * 6)
    for campaign in ("men", "women"):
        tables = [read_table(LOGS / f"{campaign}-{policy}.csv") for policy in ("random", "bts")]
        columns = {"arm": "item", "reward": "click", "propensity": "propensity"}
        log, own = (
            LoggedData.from_table(
                table, **columns, categorical=["position"], drop=["timestamp"], standardise=False
            )
            for table in tables
        )
        target = shares_of(*tables, log, arm="item", by=["position"])
        found = evaluate(log, target).estimates
        cells = [f"{_percent(each)} %" for each in found.values()]
        value = own.rewards.mean()
        print(f"| {campaign} | {' | '.join(cells)} | {100 * value:.2f} % |", flush=True)


def _percent(made: Estimate) -> str:
    return f"{100 * made.value:.2f} ({100 * made.low:.2f} to {100 * made.high:.2f})"


def estimators(runs: int) -> None:
    """Coverage of the four estimators' intervals, for a target near the best policy."""
    effects, habits = (0.5 * np.random.default_rng(seed).normal(size=(3, 4)) for seed in (1, 2))

    def logging(rows: FloatArray) -> FloatArray:
        scores = np.exp(rows @ habits.T)
        return 0.1 / 3 + 0.9 * scores / scores.sum(axis=1, keepdims=True)

    def target(rows: FloatArray) -> FloatArray:
        return 0.05 / 3 + 0.95 * np.eye(3)[(rows @ effects.T).argmax(axis=1)]

    def contexts(seed: int, n: int) -> FloatArray:
        return np.c_[np.ones(n), np.random.default_rng(seed).normal(size=(n, 3))]

    many = contexts(10**6, 2_000_000)
    truth = (target(many) * (many @ effects.T)).sum(axis=1).mean()
    covered = dict.fromkeys(ESTIMATORS, 0)
    for seed in range(runs):
        rng, rows = np.random.default_rng([seed, 1]), contexts(seed, DECISIONS)
        log = _log(rng, rows, logging(rows), effects)
        for name, made in evaluate(log, target).estimates.items():
            covered[name] += made.low <= truth <= made.high
    print("| estimator | covered |\n|---|---|")
    for name, count in covered.items():
        print(f"| {name} | {100 * count / runs:.1f} % |", flush=True)


def _log(
    rng: np.random.Generator, rows: FloatArray, chances: FloatArray, effects: FloatArray
) -> LoggedData:
    arms = (chances.cumsum(axis=1) > rng.random((len(rows), 1))).argmax(axis=1)
    return LoggedData(
        contexts=rows,
        arms=arms,
        rewards=(rows * effects[arms]).sum(axis=1) + rng.normal(size=len(rows)),
        propensities=chances[np.arange(len(rows)), arms],
        arm_names=NAMES,
    )


def played(name: str, effects: FloatArray, seed: int) -> LoggedData:
    """The log of a policy that learns."""
    rng, control = np.random.default_rng(seed), name.startswith("Greedy")
    agent = Agent(POLICIES[name], n_arms=3, n_features=2, seed=seed)
    rows = np.c_[np.ones(DECISIONS), rng.normal(size=DECISIONS)]
    noise = rng.normal(size=DECISIONS)
    arms, chances = np.zeros(DECISIONS, np.int64), np.zeros((DECISIONS, 3))
    for i, row in enumerate(rows):
        arms[i], chances[i] = agent.choose(row), agent.propensities
        if control:
            chances[i] = (1 - SHARE) * chances[i] + SHARE * np.eye(3)[0]
            if in_control(seed, i + 1, SHARE):
                arms[i] = 0
        reward = effects[arms[i]] @ row + noise[i]
        agent.update(row, int(arms[i]), float(reward))
    rewards = (rows * effects[arms]).sum(axis=1) + noise
    return LoggedData(
        contexts=rows,
        arms=arms,
        rewards=rewards,
        propensities=chances[np.arange(DECISIONS), arms],
        arm_names=NAMES,
        all_propensities=chances,
    )


def learned(runs: int) -> None:
    """Each arm for everyone on logs of policies that learn, where the reward model is right."""
    print("| setting | policy | arm | estimator | given | bias | ± (95 %) | covered |")
    print("|" + "---|" * 8)
    for setting, effects in SETTINGS.items():
        for name in POLICIES:
            found: dict[tuple[str, str], list[Estimate]] = {
                (arm, estimator): [] for arm in NAMES for estimator in ESTIMATORS
            }
            for seed in range(runs):
                log = played(name, effects, seed)
                for arm in NAMES:
                    for estimator, made in evaluate(log, always(log, arm)).estimates.items():
                        found[arm, estimator].append(made)
            for (arm, estimator), all_made in found.items():
                truth = effects[NAMES.index(arm), 0]
                print(f"| {setting} | {name} | {arm} | {estimator} |", end="")
                print(f" {_against(truth, all_made, runs)} |", flush=True)


def _against(truth: float, made: list[Estimate], runs: int) -> str:
    """How often an estimate was given, its bias, and how often its interval held the truth."""
    if len(made) < 2:
        return f"{len(made) / runs:.0%} | | | "
    errors = np.array([each.value for each in made]) - truth
    half_width = 1.96 * errors.std(ddof=1) / len(made) ** 0.5
    covered = np.mean([each.low <= truth <= each.high for each in made])
    bias = f"{errors.mean():+.3f} | {half_width:.3f}"
    return f"{len(made) / runs:.0%} | {bias} | {100 * covered:.1f} %"


def arms(runs: int) -> None:
    """Coverage of "each arm for everyone" on logs of policies that learn."""
    print(
        "| setting | policy | adaptive weights | plain mean of scores | mean of those who got it |",
        end="",
    )
    print(" refused | half-width |\n|" + "---|" * 7)
    for setting, effects in SETTINGS.items():
        for name in POLICIES:
            covered: list[list[bool]] = [[], [], []]
            widths: list[float] = []
            for seed in range(runs):
                log = played(name, effects, seed)
                scores = arm_scores(log, log.all_propensities)
                used = arm_weights(log.all_propensities) > 0
                for arm, made in enumerate(arm_values(log).values()):
                    if made.estimate is not None:
                        plain = Estimate.of(scores[used[:, arm], arm], 0.95)
                        own = Estimate.of(log.rewards[log.arms == arm], 0.95)
                        for each, shown in zip(covered, (made.estimate, plain, own), strict=True):
                            each.append(shown.low <= effects[arm, 0] <= shown.high)
                        widths.append(made.estimate.high - made.estimate.value)
            refused = 1 - len(widths) / (3 * runs)
            cells = " | ".join(f"{100 * np.mean(each):.1f} %" for each in covered)
            print(f"| {setting} | {name} | {cells} |", end="")
            print(f" {100 * refused:.0f} % | {np.median(widths):.3f} |", flush=True)


PARTS: dict[str, Callable[[int], None]] = {
    "shop": shop,
    "estimators": estimators,
    "learned": learned,
    "arms": arms,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    for name, part in PARTS.items():
        if asked.only in (None, name):
            part(asked.runs)
            print()


if __name__ == "__main__":
    main()
