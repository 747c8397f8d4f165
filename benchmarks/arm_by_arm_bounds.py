"""The arm-by-arm rule's bounds beside what `GreedyFirst()` does, on three problems.

    python benchmarks/arm_by_arm_bounds.py [--runs 200] [--jobs 2]

Prints the tables of docs/theory-arm-by-arm.md: regret, and how often anybody is raised again.
"""

import argparse
from dataclasses import replace

import numpy as np

from greedyfirst import Agent, GreedyFirst, simulate
from greedyfirst.experiments import figure2
from greedyfirst.problems import FromArray, GaussianNoise, LinearProblem
from greedyfirst.theory import (
    ArmByArmInputs,
    ArmByArmRule,
    ProblemConstants,
    arm_by_arm_mean_regret,
    arm_by_arm_regret,
    raise_probability,
    share_slack,
)

RULE = ArmByArmRule(n_arms=2)
MORE_DOUBT = 10.0
GAP, HORIZONS = 0.2, (5000, 50_000)
# Two arms of Figure 2, drawn once and rounded.
ARMS = np.array([[0.8, -0.6, 0.3], [-0.4, 0.5, 0.9]])
BEHIND_INTERCEPT = np.hstack([[[0.1], [-0.1]], ARMS])
LOOKS, ROUNDS = (30, 60, 125, 250, 500), 3000


def lost(problem: LinearProblem, horizon: int, runs: int, jobs: int) -> str:
    policies = {"Greedy-First": GreedyFirst()}
    options = {"n_instances": runs, "horizon": horizon, "n_jobs": jobs, "progress": False}
    final = simulate(problem, policies, seed=7, **options).final[:, 0]
    return f"{final.mean():.1f} ± {final.std(ddof=1) / np.sqrt(runs):.1f}"


def without_contexts(runs: int, jobs: int) -> None:
    problem = LinearProblem(
        contexts=FromArray(rows=np.ones((2, 1))),
        arms=[[GAP], [0.0]],
        noise=GaussianNoise(sigma=1.0),
    )
    for horizon in HORIZONS:
        bound = arm_by_arm_mean_regret([GAP], sigma=1.0, horizon=horizon)
        row(f"no contexts, gap {GAP} sd", horizon, lost(problem, horizon, runs, jobs), bound)


def with_contexts(name: str, arms: np.ndarray, runs: int, jobs: int) -> str:
    contexts = figure2.contexts(3, intercept=len(arms[0]) == 4)
    noise = GaussianNoise(sigma=figure2.SIGMA)
    problem = LinearProblem(contexts=contexts, arms=arms, noise=noise)
    constants = ProblemConstants(contexts=contexts, arms=arms, seed=1)
    lead = constants.lead(constants.largest_lead() / 3)
    inputs = ArmByArmInputs(
        n_features=len(arms[0]),
        horizon=HORIZONS[0],
        x_max=constants.x_max,
        b_max=constants.b_max,
        sigma=figure2.SIGMA,
        margin_constant=constants.margin().upper,
        lambda1=lead.lower,
        h=lead.h,
        rule=RULE,
    )
    for horizon in HORIZONS:
        bound = arm_by_arm_regret(replace(inputs, horizon=horizon))
        row(name, horizon, lost(problem, horizon, runs, jobs), bound)
    more = replace(inputs, rule=replace(RULE, doubt=MORE_DOUBT))
    for power in range(4, 40):
        found = arm_by_arm_regret(replace(more, horizon=10**power))
        if found.bound < found.trivial_bound / 2:
            return f"{name}: with c = {MORE_DOUBT:g} below half of it from T = 1e{power} on"
    return f"{name}: with c = {MORE_DOUBT:g} never below half of it"


def row(name: str, horizon: int, measured: str, bound) -> None:
    print(f"| {name} | {horizon} | {measured} | {bound.bound:.0f} | {bound.trivial_bound:.0f} |")


def follow(seed: int, moment: np.ndarray) -> tuple[dict[int, tuple[int, float]], np.ndarray]:
    """The first look from each of LOOKS on and its slack, and whether each round had a raise."""
    rng = np.random.default_rng(seed)
    agent = Agent(GreedyFirst(), n_arms=2, n_features=3, seed=seed)
    slacks: dict[int, tuple[int, float]] = {}
    raised = np.zeros(ROUNDS + 1, dtype=bool)
    for step, x in enumerate(figure2.contexts(3, intercept=False).sample(rng, ROUNDS), 1):
        arm = agent.choose(x)
        raised[step] = agent.state.watch.raised.any()
        agent.update(x, arm, ARMS[arm] @ x + figure2.SIGMA * rng.normal())
        if agent.state.watch.shares.looked_at == step:
            for look in LOOKS:
                if look <= step and look not in slacks:
                    grams = agent.state.model.gram
                    slack = share_slack(grams, moment=moment, theta=RULE.theta)
                    slacks[look] = (step, slack)
    return slacks, raised


def raises(runs: int) -> None:
    contexts = figure2.contexts(3, intercept=False)
    constants = ProblemConstants(contexts=contexts, arms=ARMS, seed=1)
    # E[xx'] is a multiple of I, the same for every coordinate.
    variance = float(np.trace(constants.moment)) / 3
    leverage = constants.x_max**2 / variance
    followed = [follow(seed, variance * np.eye(3)) for seed in range(runs)]
    options = {"diversity": 0.5, "leverage": leverage, "n_features": 3}
    for look in LOOKS:
        bounds, later, share = [], [], []
        for slacks, raised in followed:
            step, slack = slacks[look]
            bounds.append(raise_probability(RULE, slack=slack, **options))
            later.append(raised[step + 1 :].any())
            share.append(raised[step + 1 :].mean())
        print(f"| {look} | {np.mean(bounds):.2g} | {np.mean(later):.3f} | {np.mean(share):.2g} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| problem | T | regret of `GreedyFirst()` | bound | no policy loses more than |")
    print("|---|---|---|---|---|")
    without_contexts(arguments.runs, arguments.jobs)
    pairs = {
        "Figure 2(a), one pair of arms": ARMS,
        "the same behind an intercept": BEHIND_INTERCEPT,
    }
    said = [with_contexts(*pair, arguments.runs, arguments.jobs) for pair in pairs.items()]
    print("", *said, sep="\n")
    print("\n| look from round | bound of the chance | runs with a raise later | share of rounds |")
    print("|---|---|---|---|")
    raises(arguments.runs)


if __name__ == "__main__":
    main()
